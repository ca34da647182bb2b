"""Pipes of shell scripts whose outcome depends on chance."""

import re

ENDS_EARLY = re.compile(r"\| *grep -[a-zA-Z]*q")
BEGINS_EARLY = re.compile(r"^ *grep -[a-zA-Z]*q")


def check(path, lines):
    """Yields (line number, text) of each pipe into `grep -q` that may fail by chance.

    `grep -q` ends at its first match. The program before it in the pipe then fails if it has more
    to write, and with pipefail so does the pipe."""
    if path.suffix != ".sh" or not any("pipefail" in line for line in lines):
        return
    before = ""
    for number, line in enumerate(lines, 1):
        continues = before.rstrip("\\ ").endswith("|") and not before.rstrip("\\ ").endswith("||")
        if ENDS_EARLY.search(line) or (continues and BEGINS_EARLY.search(line)):
            yield number, 'with pipefail, write grep -q PATTERN <<<"$(command)", not a pipe'
        before = line
