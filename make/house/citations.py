"""Every rule of spec/ is cited by a test, as [COH-1], coh_1_... or Coh1... .

A rule of spec/cluster may have two words: [AM-NAME-1], am_name_1_... or AmName1... .
"""

import re

RULE = re.compile(r"\[([A-Z]+(?:-[A-Z]+)?)-([0-9]+)\]")


def check(paths):
    """Yields (path, line number, text) of each rule that no test cites."""
    rules = {}
    cited = []
    for path in paths:
        if path.parts[0] == "spec" and path.suffix in {".md", ".x"}:
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                for rule in RULE.findall(line):
                    rules.setdefault(rule, (path, number))
        elif path.parts[:2] == ("spec", "vectors") or (
                "test" in str(path) and path.suffix in {".cc", ".rs"}):
            cited.append(path.read_text(encoding="utf-8"))
    text = "\n".join(cited)
    for (letters, digits), (path, number) in sorted(rules.items()):
        words = letters.split("-")
        names = (rf"\[{letters}-{digits}\]|\b{'_'.join(words).lower()}_{digits}_|"
                 rf"{''.join(word.capitalize() for word in words)}{digits}[A-Z]")
        if not re.search(names, text):
            yield path, number, f"no test cites the rule [{letters}-{digits}]"
