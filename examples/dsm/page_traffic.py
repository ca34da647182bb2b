#!/usr/bin/env python3
"""Shows the page traffic of a program while it runs: once with ORIG and once with PIPE, side by
side.

    page_traffic.py [-n RANKS] [--interweave PATH] PROGRAM [ARGUMENT]...

Each cell is a page that a rank asked for or changed away from home, in the colour of its home. A
page that was asked for in the last moment shows "?", and one that was changed "*". Beside a rank
stand its misses, diffs and barriers per second. The numbers come from the ranks' traces
(IW_DSM_TRACE, docs/dsm.md), which also make each page a message. Without a terminal only the sums
are printed, at the end.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter

CELLS_A_LINE, LINES = 32, 16
FRAME_S = 0.25
COLOURS = (31, 160, 28, 136, 91, 37, 166, 61)  # of 256
EVENTS = {"M": "misses", "D": "diffs", "B": "barriers"}


class Rank:
    """Reads a rank's trace while it grows."""

    def __init__(self, path):
        self.path, self.position, self.rest = path, 0, b""
        self.counts, self.before = Counter(), Counter()

    def lines(self):
        try:
            with open(self.path, "rb") as file:
                file.seek(self.position)
                text = file.read()
        except FileNotFoundError:
            return []
        self.position += len(text)
        *whole, self.rest = (self.rest + text).split(b"\n")
        return [line.split() for line in whole]


class Job:
    """One run of the program, and its pages."""

    def __init__(self, way, folder, given):
        self.way = way
        trace = os.path.join(folder, way)
        self.ranks = [Rank(f"{trace}.{rank}") for rank in range(given.n)]
        self.homes, self.marks = {}, {}
        self.seconds = None
        self.begin = time.monotonic()
        self.output = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [given.interweave, "run", "-n", str(given.n), "--", given.program, *given.arguments],
            env=dict(os.environ, IW_DSM_TRACE=trace, IW_DSM_DIFFS=way),
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT)

    def look(self):
        """Takes what the ranks wrote since the last look."""
        is_over = self.process.poll() is not None
        self.marks.clear()
        for rank in self.ranks:
            rank.before = Counter(rank.counts)
            for words in rank.lines():
                self.take(rank, [word.decode() for word in words])
        if is_over and self.seconds is None:
            self.seconds = time.monotonic() - self.begin
        return is_over

    def take(self, rank, words):
        if len(words) < 2 or words[0] == "interweave-dsm-trace":
            return
        event, numbers = words[1], [int(word) for word in words[2:]]
        if event in EVENTS:
            rank.counts[EVENTS[event]] += 1
        if event in ("p", "D"):  # both name the home first
            home, page = numbers[:2]
            self.homes[page] = home
            self.marks[page] = "?" if event == "p" else "*"

    def sums(self):
        return sum((rank.counts for rank in self.ranks), Counter())

    def frame(self, passed_s):
        """Lines of equal width on the screen."""
        state = "runs" if self.seconds is None else f"took {self.seconds:.1f} s"
        lines = [f"{self.way.upper()}: {state}".ljust(CELLS_A_LINE + 2)]
        pages = sorted(self.homes)
        shown = pages[:: max(1, -(-len(pages) // (CELLS_A_LINE * LINES)))]
        for line in range(LINES):
            cells = shown[line * CELLS_A_LINE : (line + 1) * CELLS_A_LINE]
            text = "".join(f"\033[48;5;{COLOURS[self.homes[page] % len(COLOURS)]}m"
                           f"{self.marks.get(page, ' ')}" for page in cells)
            lines.append(text + "\033[0m" + " " * (CELLS_A_LINE + 2 - len(cells)))
        for number, rank in enumerate(self.ranks):
            per_s = {name: (rank.counts[name] - rank.before[name]) / passed_s
                     for name in EVENTS.values()}
            colour = COLOURS[number % len(COLOURS)]
            text = (f"{number:2} {per_s['misses']:6.0f} ?/s {per_s['diffs']:6.0f} */s "
                    f"{per_s['barriers']:5.0f} b/s")
            lines.append(f"\033[48;5;{colour}m \033[0m" + text.ljust(CELLS_A_LINE + 1))
        return lines


def watch(jobs, is_terminal):
    before = time.monotonic()
    while True:
        time.sleep(FRAME_S)
        now = time.monotonic()
        are_over = [job.look() for job in jobs]
        if is_terminal:
            frames = [job.frame(now - before) for job in jobs]
            rows = "\n".join("  ".join(row) for row in zip(*frames, strict=True))
            sys.stdout.write(f"\033[H\033[2J{rows}\n")
            sys.stdout.flush()
        before = now
        if all(are_over):
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("-n", type=int, default=4)
    parser.add_argument("--interweave", default="interweave")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if shutil.which(given.interweave) is None:
        sys.exit(f"page_traffic: the program {given.interweave} does not exist; "
                 "name it by --interweave")
    with tempfile.TemporaryDirectory() as folder:
        jobs = [Job(way, folder, given) for way in ("orig", "pipe")]
        try:
            watch(jobs, sys.stdout.isatty())
        finally:
            for job in jobs:
                if job.process.poll() is None:
                    job.process.terminate()
                job.process.wait()
        for job in jobs:
            sums = job.sums()
            homes = Counter(job.homes.values())
            print(f"{job.way}: {job.seconds:.2f} s, {sums['misses']} misses, "
                  f"{sums['diffs']} diffs, {sums['barriers']} barriers; pages by home: "
                  + ", ".join(str(homes[rank]) for rank in range(given.n)))
            job.output.seek(0)
            sys.stdout.write("".join(f"  {line}" for line in job.output))
    return max(job.process.returncode != 0 for job in jobs)


if __name__ == "__main__":
    sys.exit(main())
