"""What the tree still has of breaches that no new line may add: counts by rule and file.

The list may only shrink. `python3 make/house_rules.py --record` lowers the counts to what is left.
"""

import collections
import pathlib

LIST = pathlib.Path("make/house/allowed.txt")


def read():
    allowed = {}
    if LIST.is_file():
        for line in LIST.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                rule, count, path = line.split(" ", 2)
                allowed[rule, path] = int(count)
    return allowed


def lower(found):
    """found: (rule, path) of each breach."""
    counts = collections.Counter(found)
    lowered = {key: min(count, counts[key]) for key, count in read().items() if counts[key] > 0}
    lines = ["# rule, breaches, file; may only shrink: python3 make/house_rules.py --record"]
    lines += [f"{rule} {count} {path}" for (rule, path), count in sorted(lowered.items())]
    LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")
