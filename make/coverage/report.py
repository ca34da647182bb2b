#!/usr/bin/env python3
"""Prints which share of each room's lines ran, of the counts that make/coverage.sh has collected.

  make/coverage/report.py FOLDER    FOLDER has rust.lcov, and objects of gcc with their counts

FOLDER/lines.txt gets the lines that did not run, as FILE:FIRST-LAST.
"""

import collections
import itertools
import json
import pathlib
import subprocess
import sys

ROOMS = [
    "server/src/session",
    "server/src/lock",
    "server/src/coherence",
    "server/master/src",
    "server/store/src",
    "server/wire/src",
    "server/access/src",
    "native/session",
    "native/coherence",
]
ROOT = pathlib.Path.cwd()


def main():
    folder = pathlib.Path(sys.argv[1])
    lines = collections.defaultdict(dict)
    of_rust(folder / "rust.lcov", lines)
    of_gcc(folder / "release" / "native", lines)
    with open(folder / "lines.txt", "w", encoding="utf-8") as missed:
        for room in ROOMS:
            report(room, lines, missed)


def of_rust(lcov, lines):
    """Takes the counts of llvm-cov's lcov format: SF names a file, DA is a line and its count."""
    counts = None
    for text in lcov.read_text(encoding="utf-8").splitlines():
        if text.startswith("SF:"):
            counts = lines[inside(text[3:])]
        elif text.startswith("DA:"):
            number, count = text[3:].split(",")[:2]
            add(counts, int(number), int(count))


def of_gcc(folder, lines):
    """Takes the counts of all objects under the folder. An object that never ran has notes only."""
    for notes in sorted(folder.rglob("*.gcno")):
        told = subprocess.run(
            ["gcov", "--json-format", "--stdout", notes.with_suffix(".gcda")],
            check=True,
            capture_output=True,
        )
        for file in json.loads(told.stdout)["files"]:
            counts = lines[inside(file["file"])]
            for line in file["lines"]:
                add(counts, line["line_number"], line["count"])


def inside(name):
    path = pathlib.Path(name)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def add(counts, number, count):
    """A line of a template or a header is counted in each object that has it."""
    counts[number] = counts.get(number, 0) + count


def report(room, lines, missed):
    files = sorted(name for name in lines if name.startswith(room + "/") and ".gen." not in name)
    ran, known = 0, 0
    for name in files:
        counts = lines[name]
        known += len(counts)
        ran += sum(count > 0 for count in counts.values())
        for first, last in runs(sorted(n for n, count in counts.items() if count == 0)):
            print(f"{name}:{first}-{last}", file=missed)
    share = f"{100 * ran / known:5.1f} %" if known else "no lines"
    print(f"{room:<22} {ran:>6} of {known:>6} lines {share}")


def runs(numbers):
    """The numbers as ranges, each from its first to its last."""
    grouped = itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    for _, group in grouped:
        members = [number for _, number in group]
        yield members[0], members[-1]


if __name__ == "__main__":
    main()
