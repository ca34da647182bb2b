#!/usr/bin/env python3
"""Changes a room of native/ in one place after the other, and says which changes no test sees.

  make/mutants/native.py native/session              all changes
  make/mutants/native.py native/session --every 5    each fifth
  make/mutants/native.py native/session --every 5 --from 2    each fifth, from the third on
  make/mutants/native.py native/session --list       lists all changes, and tries none
  make/mutants/native.py native/session --again      those that no test saw the last time, with
                                                     tests that walk through all orders

It works on a copy of native/ in $BUILD/mutants. The changes that no test sees are then listed in
$BUILD/mutants/native-ROOM/unseen.txt. Changes that left_out.txt names
are not tried; the end says how many they are.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import patience
import report
from changes import changes_of, sample
from left_out import PATH, entries, left_out

# A test that takes so many times as long as without a change does not end.
PATIENCE = 4
LEAST_SECONDS = 20
SLOW_SECONDS = 1


class Copy:
    """The copy of native/ that is changed, and its build."""

    def __init__(self, room, folder):
        self.source = folder / "native"
        self.build = folder / "native-build"
        self.test = f"{room}_test"
        self.program = self.build / room / self.test
        self.folder = folder
        self.groups = []  # names of tests, and how long they may take

    def make(self):
        names = output(["git", "ls-files", "native"]).split()
        for name in names:
            path = self.folder / name
            new = pathlib.Path(name).read_bytes()
            # A file that did not change is not compiled again.
            if not path.exists() or path.read_bytes() != new:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(new)

    def configure(self, tests_are_quick):
        """Compiled as one file, tests take a third of the time when a header changes."""
        self.run(["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja", "-DIW_TESTS=ON",
                  "-DIW_READ_HEADERS_ONCE=OFF", "-DIW_RELEASE_FLAGS=-O1",
                  f"-DIW_TESTS_ARE_QUICK={tests_are_quick}"])

    def run(self, command):
        log = self.folder / "log"
        with open(log, "wb") as output_file:
            if subprocess.run(command, stdout=output_file, stderr=output_file).returncode != 0:
                sys.exit(f"mutants: {command[0]} failed; see {log}")

    def compiles(self):
        command = ["ninja", "-C", self.build, "-j", os.environ.get("JOBS", "1"), self.test]
        return subprocess.run(command, capture_output=True).returncode == 0

    def measure(self):
        """Slow tests come last: mostly a quick one sees a change."""
        outcome = self.folder / "tests.json"
        if not self.hold("*", 600, f"--gtest_output=json:{outcome}"):
            sys.exit("mutants: the tests do not hold without a change")
        suites = json.loads(outcome.read_text(encoding="utf-8"))["testsuites"]
        seconds = {f"{suite['name']}.{test['name']}": float(test["time"].rstrip("s"))
                   for suite in suites for test in suite["testsuite"]}
        slow = [name for name in seconds if seconds[name] > SLOW_SECONDS]
        quick_seconds = sum(seconds[name] for name in seconds if name not in slow)
        self.groups = [("-" + ":".join(slow) if slow else "*", patient(quick_seconds))]
        self.groups += [(name, patient(seconds[name])) for name in slow]

    def holds(self):
        return all(self.hold(names, seconds) for names, seconds in self.groups)

    def hold(self, names, seconds, *options):
        """Whether these tests hold. A test that does not end does not."""
        process = subprocess.Popen([self.program, "--gtest_brief=1", "--gtest_break_on_failure",
                                    f"--gtest_filter={names}", *options],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, process_group=0)
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            patience.kill_group(process.pid)  # also the process of a test that is to die
            process.wait()


def patient(seconds):
    return max(LEAST_SECONDS, PATIENCE * seconds)


def output(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def product_files(room):
    """The sources of a room that are not its tests'."""
    words = ("test", "fixture", "bench", "sample", "random_values")
    files = sorted(pathlib.Path(room).glob("*.cc")) + sorted(pathlib.Path(room).glob("*.h"))
    return [path for path in files if not any(word in path.name for word in words)]


def try_all(room, copy, changes):
    with report.Report(room, len(changes)) as outcomes:
        for path, change in changes:
            changed = copy.folder / path
            original = changed.read_text(encoding="utf-8")
            try:
                changed.write_text(change.apply(original), encoding="utf-8")
                if not copy.compiles():
                    outcome = "unviable"
                else:
                    outcome = "unseen" if copy.holds() else "caught"
            finally:
                changed.write_text(original, encoding="utf-8")
            outcomes.add(outcome, line_of(path, change))


def line_of(path, change):
    return f"{path}:{change.line}: {change.text}"


def all_changes(room):
    """Each with its file and the file's text."""
    found = []
    for path in product_files(room):
        source = path.read_text(encoding="utf-8")
        found += [(path, source, change) for change in changes_of(source)]
    return found


def wanted(options):
    """The changes that are to be tried, each with its file; and how many of them are left out."""
    every = all_changes(options.room)
    listed = [entry for entry in entries(PATH.read_text(encoding="utf-8"))
              if entry.file.rpartition("/")[0] == options.room]
    without = left_out(every, listed)
    changes = [(path, change) for path, _, change in every]
    if options.again:
        before = report.unseen_path(options.room).read_text(encoding="utf-8").splitlines()
        changes = [each for each in changes if line_of(*each) in before]
    chosen = sample(changes, options.every, options.start)
    tried = [each for each in chosen if each not in without]
    return tried, len(chosen) - len(tried)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("room", type=lambda text: text.rstrip("/"))
    arguments.add_argument("--every", type=int, default=1)
    arguments.add_argument("--from", type=int, default=0, dest="start")
    arguments.add_argument("--list", action="store_true")
    arguments.add_argument("--again", action="store_true")
    options = arguments.parse_args()
    os.chdir(pathlib.Path(__file__).resolve().parents[2])
    if not any(pathlib.Path(options.room).glob("*_test.cc")):
        sys.exit(f"mutants: {options.room} has no tests of its own")
    changes, left_out_count = wanted(options)
    if not changes:
        sys.exit(f"mutants: {options.room} has nothing to change")
    if options.list:
        for path, change in sorted(changes, key=lambda each: (each[0], each[1].line)):
            print(line_of(path, change))
        print(f"left out: {left_out_count}")
        return
    copy = Copy(options.room.split("/")[1], report.folder())
    copy.make()
    copy.configure("OFF" if options.again else "ON")
    if not copy.compiles():
        copy.configure("OFF")  # two tests use a name for different things
        if not copy.compiles():
            sys.exit("mutants: it does not compile without a change")
    copy.measure()
    try_all(options.room, copy, changes)
    print(f"left out: {left_out_count}")


if __name__ == "__main__":
    main()
