#!/usr/bin/env python3
"""Changes a room of server/ in one place after the other, and says which changes no test sees.

  make/mutants/rust.py server/store              all changes
  make/mutants/rust.py server/store --every 5    each fifth
  make/mutants/rust.py server/store --every 5 --from 2    each fifth, from the third on
  make/mutants/rust.py server/store --list       lists all changes, and tries none
  make/mutants/rust.py server/store --again      those that no test saw the last time
  make/mutants/rust.py server/store --reach      lists those that no test reaches: minutes

All changes are built in together, by make/mutants/rust, into a copy of the tree in
$BUILD/mutants/server-ROOM. An environment variable then switches one on. Each change is tried with
the tests that reach its place alone, the quickest first. The changes that no test sees are then
listed in $BUILD/mutants/server-ROOM/unseen.txt.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

import patience
import report

TOOL = "make/mutants/rust"
# The crates that are compiled again for a change of a room. Their own speed does not matter.
CRATES = ("wire", "master", "access", "store", "store-suite", "server")
# Tests run together up to so many seconds: a process costs more than most tests.
TOGETHER_SECONDS = 0.2
# A test that computes so many times as long as without a change does not end.
PATIENCE = 4
LEAST_PROCESSOR_SECONDS = 2
MARK = re.compile(rb"/\*(\d*)\*/")


@dataclasses.dataclass
class Room:
    folder: str          # the sources that are changed
    crate: str           # its folder
    packages: list       # whose tests should see changes
    prefix: str = ""     # of the tests' names
    lib: bool = False    # only tests in the crate's sources

    def sources(self):
        """Also the root of the crate, which gets the switch."""
        names = set(tracked(self.folder)) | {f"{self.crate}/src/lib.rs"}
        return sorted(name for name in names if name.endswith(".rs") and "/tests" not in name)


def room_of(name):
    part = name.removeprefix("server/")
    if part in ("lock", "coherence", "session"):
        return Room(f"server/src/{part}", "server", ["interweave-server"], f"{part}::", True)
    if part in ("master", "access", "store", "wire") and part != name:
        # The suite has most of the store's tests.
        suite = ["interweave-store-suite"] if part == "store" else []
        return Room(f"{name}/src", name, [f"interweave-{part}"] + suite)
    sys.exit(f"mutants: '{name}' is not a room of server/")


@dataclasses.dataclass(frozen=True)
class Program:
    path: str
    folder: str  # where cargo runs it
    tests: tuple


@dataclasses.dataclass(frozen=True)
class Test:
    program: Program
    name: str
    processor_seconds: float
    reached: frozenset


def tracked(folder="."):
    command = ["git", "ls-files", "-co", "--exclude-standard", folder]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.split("\n") if name and pathlib.Path(name).is_file()]


def write_if_new(path, new):
    """A file that did not change keeps its time, so that cargo does not compile it again."""
    if path.exists() and path.read_bytes() == new:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(new)
    return True


class Copy:
    """The copy of the tree that has the changes, and its build."""

    def __init__(self, room, folder):
        self.room, self.tree, self.folder = room, folder / "tree", folder
        self.changes = {}
        self.unviable = folder / "unviable.txt"

    def make(self):
        own = set(self.room.sources())
        for name in tracked():
            if name not in own:
                write_if_new(self.tree / name, pathlib.Path(name).read_bytes())
        switch = self.tree / self.room.crate / "src/mutants.rs"
        write_if_new(switch, pathlib.Path(TOOL, "switch.rs").read_bytes())
        self.unviable.touch()
        self.build_in()
        # The numbers of the last time are those of other changes, if anything changed.
        listed = "".join(f"{text}\n" for text in self.changes.values()).encode()
        if write_if_new(self.folder / "changes.txt", listed):
            self.unviable.write_text("")
            self.build_in()

    def build_in(self):
        for name in self.room.sources():
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
        tool = report.folder() / "tool/debug/interweave-mutants"
        command = [tool, self.tree, self.unviable, *self.room.sources()]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        lines = (line.split(" ", 1) for line in printed.splitlines())
        self.changes = {int(number): text for number, text in lines}

    def compile(self):
        """Builds the test programs, and leaves out the changes that do not compile."""
        command = ["cargo", "test", "--release", "--locked", "--no-run", "--message-format=json"]
        command += [word for package in self.room.packages for word in ("--package", package)]
        command += ["--lib" if self.room.lib else "--tests"]
        for crate in CRATES:
            table = f"profile.release.package.interweave-{crate}"
            command += [f"--config={table}.opt-level=1", f"--config={table}.codegen-units=16"]
        while True:
            began = time.monotonic()
            done = subprocess.run(command, cwd=self.tree, capture_output=True, text=True)
            messages = [json.loads(line) for line in done.stdout.splitlines() if line[:1] == "{"]
            seconds = time.monotonic() - began
            if done.returncode == 0:
                print(f"compiled in {seconds:.0f} seconds", flush=True)
                return [program for message in messages for program in programs_of(message, self)]
            unviable = self.unviable_by(messages)
            if not unviable:
                sys.exit(f"mutants: cargo failed\n{done.stderr}")
            print(f"{len(unviable)} changes do not compile, found in {seconds:.0f} seconds",
                  flush=True)
            with open(self.unviable, "a", encoding="utf-8") as file:
                file.writelines(f"{number}\n" for number in unviable)
            self.build_in()

    def unviable_by(self, messages):
        found = set()
        for message in messages:
            if message["reason"] == "compiler-message" and message["message"]["level"] == "error":
                spans = message["message"]["spans"]
                number = next(filter(None, (self.change_at(span) for span in spans)), None)
                if number is None and spans:
                    sys.exit("mutants: an error that no change explains:\n"
                             + message["message"]["rendered"])
                found |= {number} - {None}
        return sorted(found)

    def change_at(self, span):
        """The change that the compiler complains of: it stands between its mark and the next."""
        try:
            text = (self.tree / span["file_name"]).read_bytes()
        except OSError:
            return None
        marks = [mark for mark in MARK.finditer(text, 0, span["byte_start"] + 1)]
        return int(marks[-1][1]) if marks and marks[-1][1] else None


def programs_of(message, copy):
    if message["reason"] != "compiler-artifact" or not message["executable"]:
        return
    folder = str(pathlib.Path(message["manifest_path"]).parent)
    listed = subprocess.run([message["executable"], "--list", "--format=terse"], cwd=folder,
                            check=True, capture_output=True, text=True).stdout
    tests = (line.removesuffix(": test") for line in listed.splitlines())
    yield Program(message["executable"], folder,
                  tuple(name for name in tests if name.startswith(copy.room.prefix)))


def command_of(program, names):
    return [program.path, "--quiet", "--test-threads=1", "--exact", *names]


def look(program, name, temporary):
    """Runs a test without a change, and finds which changes' places it reaches."""
    file = pathlib.Path(temporary) / "reached"
    file.write_text("")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "MUTANTS_REACHED": str(file), "TMPDIR": temporary}
    if not patience.holds(command_of(program, [name]), 600, cwd=program.folder, env=environment):
        sys.exit(f"mutants: {name} does not hold without a change")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    reached = frozenset(map(int, file.read_text().split()))
    return Test(program, name, spent, reached)


def look_at_all(programs):
    began = time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        tests = [look(program, name, temporary) for program in programs for name in program.tests]
    print(f"{len(tests)} tests hold, in {time.monotonic() - began:.0f} seconds", flush=True)
    return tests


def together(tests):
    """Groups of tests of one program, quick ones first."""
    groups = []
    by_program = sorted(tests, key=lambda test: (test.processor_seconds > TOGETHER_SECONDS,
                                                 test.program.path, test.processor_seconds))
    for test in by_program:
        last = groups[-1] if groups else []
        is_same = last and last[0].program == test.program
        if is_same and seconds_of(last) + test.processor_seconds <= TOGETHER_SECONDS:
            last.append(test)
        else:
            groups.append([test])
    return sorted(groups, key=lambda group: max(test.processor_seconds for test in group))


def seconds_of(tests):
    return sum(test.processor_seconds for test in tests)


def is_caught(number, tests):
    for group in together(test for test in tests if number in test.reached):
        limit = max(LEAST_PROCESSOR_SECONDS, round(PATIENCE * seconds_of(group)))
        program = group[0].program
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
            environment = {**os.environ, "MUTANT": str(number), "TMPDIR": temporary}
            command = command_of(program, [test.name for test in group])
            if not patience.holds(command, limit, cwd=program.folder, env=environment):
                return True
    return False


def wanted(copy, options):
    """The numbers of the changes that are to be tried, mixed: those tried when a run is stopped are
    a sample of all."""
    numbers = list(copy.changes)[options.start::options.every]
    if options.again:
        before = (copy.folder / "unseen.txt").read_text(encoding="utf-8").splitlines()
        numbers = [number for number in numbers if copy.changes[number] in before]
    random.Random(0).shuffle(numbers)
    return numbers


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("room", type=lambda text: text.rstrip("/"))
    arguments.add_argument("--every", type=int, default=1)
    arguments.add_argument("--from", type=int, default=0, dest="start")
    arguments.add_argument("--list", action="store_true")
    arguments.add_argument("--again", action="store_true")
    arguments.add_argument("--reach", action="store_true")
    options = arguments.parse_args()
    os.chdir(pathlib.Path(__file__).resolve().parents[2])
    os.environ["CARGO_TARGET_DIR"] = str(report.folder() / "target")
    folder = report.folder() / options.room.replace("/", "-")
    folder.mkdir(exist_ok=True)
    copy = Copy(room_of(options.room), folder)
    copy.make()
    numbers = wanted(copy, options)
    if options.list:
        print(*(copy.changes[number] for number in sorted(numbers)), sep="\n")
        return
    programs = copy.compile()
    unviable = set(map(int, copy.unviable.read_text().split()))
    tests = look_at_all(programs)
    if options.reach:
        reached = unviable.union(*(test.reached for test in tests))
        print(*(copy.changes[number] for number in sorted(set(numbers) - reached)), sep="\n")
        return
    with report.Report(options.room, len(numbers)) as outcomes:
        for number in numbers:
            outcome = "unviable" if number in unviable else "unseen"
            if outcome == "unseen" and is_caught(number, tests):
                outcome = "caught"
            outcomes.add(outcome, copy.changes[number])


if __name__ == "__main__":
    main()
