"""Every rule of spec/ is cited by a test, as [COH-1], coh_1_... or Coh1... . No two rules have the
same number.

A rule of spec/cluster may have two words: [AM-NAME-1], am_name_1_... or AmName1... .
"""

import re

RULE = re.compile(r"\[([A-Z]+(?:-[A-Z]+)?)-([0-9]+)\]")
STATED = re.compile(r"- " + RULE.pattern + r" ")
SNAKE = re.compile(r"\b([a-z]+(?:_[a-z]+)?)_([0-9]+)_")
CAMEL = re.compile(r"([A-Za-z]+)([0-9]+)(?=[A-Z])")


def check(paths):
    """Yields (path, line number, text) of each rule that no test cites, and of each number that two
    rules have."""
    rules = {}
    cited = []
    yield from check_numbers(paths)
    for path in paths:
        if path.parts[0] == "spec" and path.suffix in {".md", ".x"}:
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                for rule in RULE.findall(line):
                    rules.setdefault(rule, (path, number))
        elif path.parts[:2] == ("spec", "vectors") or (
                "test" in str(path) and path.suffix in {".cc", ".rs"}):
            cited.append(path.read_text(encoding="utf-8"))
    tests = Citations("\n".join(cited))
    for (letters, digits), (path, number) in sorted(rules.items()):
        if not tests.name(letters, digits):
            yield path, number, f"no test cites the rule [{letters}-{digits}]"


def check_numbers(paths):
    """Two branches may have taken the same number for a new rule."""
    stated = {}
    for path in paths:
        if path.parts[0] not in {"spec", "docs"} or path.suffix != ".md":
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = STATED.match(line)
            if not found:
                continue
            first = stated.setdefault(found.groups(), (path, number))
            if first != (path, number):
                rule = "-".join(found.groups())
                yield path, number, f"the rule [{rule}] stands at {first[0]}:{first[1]}, too"


class Citations:
    """The rules that a text names, found in one pass for each way of naming."""

    def __init__(self, text):
        self.brackets = set(RULE.findall(text))
        self.snakes = set(SNAKE.findall(text))
        self.camels = set(CAMEL.findall(text))

    def name(self, letters, digits):
        words = letters.split("-")
        camel = "".join(word.capitalize() for word in words)
        return ((letters, digits) in self.brackets
                or ("_".join(words).lower(), digits) in self.snakes
                or any(name.endswith(camel) and number == digits for name, number in self.camels))
