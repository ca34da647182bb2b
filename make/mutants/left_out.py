"""Changes that are not tried, because they decide how quickly something is done, and not what.

left_out.txt has them, with an empty line between two. The three lines of one are: its file and how
the text of the change begins; code of one line, with the changed place in it; the reason.
"""

import dataclasses
import pathlib
import sys

PATH = pathlib.Path(__file__).with_name("left_out.txt")


@dataclasses.dataclass(frozen=True)
class Entry:
    file: str
    text: str
    code: str
    reason: str

    def names(self, path, source, change):
        if str(path) != self.file or not change.text.startswith(self.text):
            return False
        earliest = max(change.begin - len(self.code) + 1, 0)
        at = source.find(self.code, earliest)
        return 0 <= at <= change.begin


def entries(text):
    found = []
    for block in text.strip().split("\n\n"):
        lines = [line.strip() for line in block.splitlines()]
        file, _, change = lines[0].partition(": ")
        if len(lines) != 3 or not all([change, *lines]):
            sys.exit(f"mutants: not an entry of {PATH.name}: {block}")
        found.append(Entry(file, change, *lines[1:]))
    return found


def left_out(changes, listed):
    """Those of the (path, source, change) that an entry names; each entry must name one."""
    chosen, used = [], set()
    for path, source, change in changes:
        names = [entry for entry in listed if entry.names(path, source, change)]
        used.update(names)
        if names:
            chosen.append((path, change))
    for entry in listed:
        if entry not in used:
            sys.exit(f"mutants: {PATH.name} names no change: {entry.file}: {entry.text}: "
                     f"{entry.code}")
    return chosen
