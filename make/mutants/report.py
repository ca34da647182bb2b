"""The outcomes of a room's changes: counts, progress, and the list of those that no test sees."""

import collections
import contextlib
import os
import pathlib
import signal

PROGRESS_EVERY = 20


def folder():
    """Where all rooms' copies and results are."""
    path = pathlib.Path(os.environ.get("BUILD", "build")).resolve() / "mutants"
    path.mkdir(parents=True, exist_ok=True)
    return path


def unseen_path(room):
    return folder() / room.replace("/", "-") / "unseen.txt"


class Report(contextlib.AbstractContextManager):
    """REQUIRES: used in a `with`, which prints the sum at its end, also if it is interrupted."""

    def __init__(self, room, total):
        self.room, self.total = room, total
        # One that runs in the background is not asked otherwise.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        self.counts = collections.Counter()
        self.path = unseen_path(room)
        self.path.parent.mkdir(exist_ok=True)
        self.file = open(self.path, "w", encoding="utf-8")

    def add(self, outcome, line):
        """`outcome` is caught, unseen or unviable; `line` says where the change is, and which."""
        self.counts[outcome] += 1
        if outcome == "unseen":
            self.file.write(line + "\n")
            self.file.flush()
        tried = self.counts.total()
        if tried % PROGRESS_EVERY == 0:
            print(f"{tried} of {self.total}: {dict(self.counts)}", flush=True)

    def __exit__(self, kind, error, trace):
        self.file.close()
        if kind not in (None, KeyboardInterrupt):
            return False
        caught = self.counts["caught"]
        viable = caught + self.counts["unseen"]
        print(f"{self.room}: {self.counts.total()} of {self.total} changes tried, "
              f"{self.counts['unviable']} do not compile; {caught} of the other {viable} are "
              f"caught ({100 * caught / max(viable, 1):.1f} %)")
        print(f"the others: {self.path}")
        return kind is KeyboardInterrupt
