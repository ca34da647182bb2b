"""Turns of phrase that a reader has to read twice (CONTRIBUTING.md, "Words that are read once")."""

import re

READ = {".md", ".cc", ".h", ".hpp", ".c", ".rs", ".py", ".ts", ".f90", ".x", ".sh", ".cmake"}
PHRASES = [
    (re.compile(r"(?:^|[.:;] |// |//! |/// |# )Who (?!may )[a-z]+s?\b"),
     "name the person or thing that acts, not 'who'"),
    # "There is no connection" is plain English, unlike the same words without "there".
    (re.compile(r"\bis none\b|(?<![Tt]here )\bis no\b(?! longer| more| less)"),
     "write 'is not a', not 'is no'"),
    (re.compile(r"\b(?:goes|go|went|going) on\b"), "write 'continues', not 'goes on'"),
    (re.compile(r"\bbeside (?:the|its|their) (?:paper|rival|others)"),
     "write 'compared with', not 'beside'"),
    (re.compile(r"(?:^|\. |// |//! |/// |# )What [a-z]+ (?:[a-z]+ ){0,4}"
                r"(?:is|are|was|were|has|have)\b(?!.*\?)"),
     "begin with the thing, not with 'what'"),
]
COMMENT = re.compile(r"^\s*(?://|#|!|\*|/\*)|//|\"\"\"")


def read_by_people(path, lines):
    """(number, line) of prose: all of a page, the comments and texts of a source."""
    in_code = False
    for number, line in enumerate(lines, 1):
        if path.suffix == ".md":
            in_code ^= line.startswith("```")
            if not in_code:
                yield number, line
        elif COMMENT.search(line) or '"' in line:
            yield number, line


def check(path, lines):
    """Yields (line number, text) of each phrase."""
    if path.suffix not in READ:
        return
    for number, line in read_by_people(path, lines):
        for phrase, text in PHRASES:
            if phrase.search(line):
                yield number, text
