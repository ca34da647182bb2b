"""The places of a C++ source where a change should be seen by a test: operators, conditions, truth
values, returned values, calls.

The source is read as tokens only, so some changes do not compile. They do not count. The reading
relies on clang-format, which puts blanks on both sides of binary operators alone.
"""

import dataclasses
import random
import re

TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|'
    r"^[ \t]*\#(?:\\\n|[^\n])*|"
    r"[A-Za-z_]\w*|\d[\w.']*|<=>|->\*?|<<=|>>=|\+\+|--|&&|\|\||[-+*/%&|^=!<>]=|<<|>>|::|[^\s\w]",
    re.S | re.M)
SWAPPED = {
    "==": "!=", "!=": "==", "<=": "<", ">=": ">", "<": "<=", ">": ">=", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&",
    "+=": "-=", "-=": "+=", "|=": "&=", "&=": "|=",
}
TRUTHS = {"true": "false", "false": "true"}
COMPUTES = set(SWAPPED) | {"!"}
# Their arguments are not part of the program, or are constants.
NOT_CODE = {"assert", "static_assert", "IW_ASSERT"}
TRIVIAL_RETURNS = {"{}", "nullptr", "false", "true", "0", "std::nullopt"}
KEYWORDS = {"return", "if", "while", "for", "switch", "case", "else", "do", "throw", "delete",
            "new", "using", "namespace", "template", "class", "struct", "enum", "public", "private",
            "operator", "co_return", "goto", "sizeof"}


@dataclasses.dataclass(frozen=True)
class Token:
    text: str
    begin: int
    end: int


@dataclasses.dataclass(frozen=True)
class Change:
    """Replaces the source from `begin` to `end`."""
    begin: int
    end: int
    new: str
    line: int
    text: str

    def apply(self, source):
        return source[:self.begin] + self.new + source[self.end:]


def tokens_of(source):
    """The tokens that are code."""
    found = (Token(m.group(), m.start(), m.end()) for m in TOKEN.finditer(source))
    left_out = ("//", "/*", "#")
    tokens = [token for token in found if not token.text.lstrip().startswith(left_out)]
    return list(without_assertions(tokens))


def without_assertions(tokens):
    depth = 0
    inside = False
    for i, token in enumerate(tokens):
        if not inside and token.text in NOT_CODE:
            inside, depth = True, 0
        if inside:
            depth += (token.text == "(") - (token.text == ")")
            if token.text == ")" and depth == 0:
                inside = False
            continue
        yield token


def changes_of(source):
    tokens = tokens_of(source)
    changes = []

    def add(begin, end, new, what):
        line = source.count("\n", 0, begin) + 1
        changes.append(Change(begin, end, new, line, what))

    for i, token in enumerate(tokens):
        if not joins_text(tokens, i):
            swap(source, token, add)
        negation(source, tokens, i, add)
        if token.text == "if":
            condition(source, tokens, i, add)
        elif token.text == "return":
            returned(source, tokens, i, add)
        elif i == 0 or tokens[i - 1].text in (";", "{", "}", ":"):
            call(source, tokens, i, add)
    return changes


def sample(changes, every, start):
    """Each so many of the changes from one on, mixed: those that were tried when a run is stopped
    are a sample of all."""
    chosen = changes[start::every]
    random.Random(0).shuffle(chosen)
    return chosen


def joins_text(tokens, i):
    """A + that joins texts: with - it does not compile."""
    around = tokens[max(i - 1, 0):i + 2]
    return tokens[i].text == "+" and any(token.text[0] == '"' for token in around)


def swap(source, token, add):
    around = source[token.begin - 1:token.begin], source[token.end:token.end + 1]
    is_binary = all(blank.isspace() for blank in around)
    new = SWAPPED.get(token.text) if is_binary else TRUTHS.get(token.text)
    if new:
        add(token.begin, token.end, new, f"{token.text} became {new}")


def negation(source, tokens, i, add):
    token = tokens[i]
    is_prefix = not source[token.end:token.end + 1].isspace()
    if token.text == "!" and is_prefix and tokens[i - 1].text != "operator":
        add(token.begin, token.end, "", "! is gone")


def closing(tokens, i):
    """The place of the bracket that closes the one at `i`."""
    depth = 0
    for at in range(i, len(tokens)):
        depth += (tokens[at].text in "([{") - (tokens[at].text in ")]}")
        if depth == 0:
            return at
    return None


def condition(source, tokens, i, add):
    """A condition without an operator; the others are changed at their operators."""
    if i + 1 >= len(tokens) or tokens[i + 1].text != "(":
        return
    end = closing(tokens, i + 1)
    inside = tokens[i + 2:end]
    if any(token.text in COMPUTES | {"=", ";"} for token in inside):
        return
    begin, end = tokens[i + 1].end, tokens[end].begin
    add(begin, end, f"!({source[begin:end]})", "the condition is negated")


def returned(source, tokens, i, add):
    end = next((at for at in range(i, len(tokens)) if tokens[at].text == ";"), None)
    if end is None or end == i + 1:
        return
    begin, end = tokens[i + 1].begin, tokens[end].begin
    value = source[begin:end]
    if value not in TRIVIAL_RETURNS and not value.startswith("["):
        add(begin, end, "{}", f"returns {{}} instead of {' '.join(value.split())}")


def call(source, tokens, i, add):
    """A statement that is a call and nothing else."""
    at = i
    while at + 1 < len(tokens) and re.match(r"[A-Za-z_]", tokens[at].text):
        if tokens[at].text in KEYWORDS:
            return
        if tokens[at + 1].text not in (".", "->", "::"):
            break
        at += 2
    if at + 1 >= len(tokens) or tokens[at + 1].text != "(":
        return
    if not re.match(r"[A-Za-z_]", tokens[at].text):
        return
    end = closing(tokens, at + 1)
    if end is None or end + 1 >= len(tokens) or tokens[end + 1].text != ";":
        return
    begin, end = tokens[i].begin, tokens[end].end
    what = " ".join(source[begin:end].split())
    add(begin, end, "", f"{what} is gone")
