#!/usr/bin/env python3
"""Everything that must hold, in stages; ends with one line 'N passed, N failed'.

  make/test.py             what `make test` runs: every room and language in the ordinary build
  make/test.py deep        what `make test-deep` runs: sanitizers, other machines, random worlds,
                           fuzz, lossy networks, the packages, the site of the documents
  make/test.py all         what CI runs: both
  make/test.py WORD        one stage of these (web, sanitizers, machines ...), or one room: a room
                           of native/, cluster/, server/ or examples/, idl, cli, fuzz

Each stage has a log and its cases' results in $BUILD/tests/STAGE.
"""

import os
import pathlib
import signal
import sys
import time

import stages
from stages import Stage

SLOWEST = 20
LINES_OF_A_FAILURE = 15
# Most stages wait for processes as long as they compute: so many times the processors'
# number may be busy.
OVERBOOKED = 1.8

BUILD = Stage("build", ["make/build.sh", "tests"])
FETCH = Stage("fetch", ["make/fetch.sh"], cores=0.2)

# These stages mostly compute. The runner starts the first stage that fits, so one of them always
# runs. A stage that mostly waits runs beside it.
HEAVY = [
    Stage("tidy", ["make/tidy.sh"], after=("build",)),
]
DEEP_HEAVY = [
    Stage("sim", ["make/sim.sh", "--short"], after=("build",)),
    Stage("sanitizers", ["make/test_sanitized.sh"], after=("build",)),
    Stage("machines", ["make/test_machines.sh"], after=("build",)),
    Stage("fuzz", ["make/fuzz.sh", "--short"], after=("build",)),
    Stage("thread-safety", ["make/thread_safety.sh"]),
    Stage("packages", ["packaging/test.sh"], after=("build", "fetch")),
    Stage("conformance-of-machines", ["make/test_conformance.sh"], after=("machines", "fetch"),
          behind=("python", "web", "java", "conformance", "tutorial")),
]
LIGHT = [
    Stage("native", ["make/test_native.sh"], after=("build",), cores=1.4),
    Stage("rust", ["make/test_rust.sh"], after=("build",), cores=1.2),
    Stage("python", ["make/python.sh", "test"], after=("build", "fetch"), cores=1),
    Stage("web", ["make/web.sh", "test"], after=("build", "fetch"), cores=1),
    Stage("java", ["make/java.sh", "test"], after=("build", "fetch"), cores=1),
    Stage("conformance", ["make/test_conformance.sh", "--short"], after=("build", "fetch"),
          behind=("python", "web"), cores=1.2),
    Stage("installation", ["make/test_install.sh"], after=("build",), cores=1),
    # Behind what cargo compiles: their own builds would wait for it.
    Stage("tutorial", ["make/test_tutorial.py"], after=("build", "fetch"),
          behind=("python", "installation", "conformance", "sim", "tidy"), cores=1),
    Stage("demo", ["make/test_demo.sh"], after=("build",), behind=("sim", "tidy"), cores=1),
]
DEEP_LIGHT = [
    Stage("postgres", ["make/test_postgres.sh"], after=("build",), cores=1),
    Stage("across-machines", ["make/test_across.sh"], after=("machines",), cores=1),
    Stage("lossy-network", ["make/test_native.sh", "--deep"], after=("build",),
          behind=("native",), cores=1),
    Stage("demo-failover", ["make/test_demo_failover.sh"], after=("build",),
          behind=("demo", "tutorial"), cores=1),
    Stage("docs", ["make/docs.sh"], cores=0.5),
]

QUICK = [FETCH, BUILD, *HEAVY, *LIGHT]
DEEP = [FETCH, BUILD, *DEEP_HEAVY, *DEEP_LIGHT]
# Conformance once: that of the machines has the cases of the short one. Tidy first, because others
# are behind it.
ALL = [FETCH, BUILD, *HEAVY, *DEEP_HEAVY,
       *(stage for stage in LIGHT if stage.name != "conformance"), *DEEP_LIGHT]

CRATES = ("wire", "master", "access", "store", "server", "cli", "idl")
# A room and a stage: the word means the room, and `make/fuzz.sh --short` runs the stage.
ROOMS = ("fuzz",)


def chosen(word):
    """The stages that a word asks for. A room needs the build; a whole stage also
    what it comes after."""
    if word == "":
        return QUICK
    if word in ("deep", "all"):
        return DEEP if word == "deep" else ALL
    stages_of_all = [*QUICK, *DEEP[2:]]
    if word not in ROOMS and word in {stage.name for stage in stages_of_all}:
        needed = with_what_it_needs(word, stages_of_all)
        return [stage for stage in stages_of_all if stage.name in needed]
    rust = Stage("rust", ["make/test_rust.sh", word])
    if word in CRATES:
        return [rust]
    native = [BUILD, Stage("native", ["make/test_native.sh", word], after=("build",))]
    # in both languages
    return [*native, rust] if word == "fuzz" else native


def with_what_it_needs(name, stages_of_run):
    names = {name}
    for stage in stages_of_run:
        if stage.name == name:
            for other in stage.after:
                names |= with_what_it_needs(other, stages_of_run)
    return names


def report(runner, seconds):
    print()
    slow = [case for case in runner.cases if case.seconds >= 0.5]
    for case in sorted(slow, key=lambda case: -case.seconds)[:SLOWEST]:
        print(f"{case.seconds:7.1f} s  {case.stage}: {case.name}")
    for case in runner.cases:
        if case.outcome == "skipped":
            print(f"skipped: {case.stage}: {case.name}")
        elif case.outcome == "failed":
            print(f"FAILED: {case.stage}: {case.name}")
            for line in case.text.splitlines()[-LINES_OF_A_FAILURE:]:
                print(f"    {line[:160]}")
    for name in runner.left_out:
        print(f"left out, because a stage before it failed: {name}")
    for name, log in runner.failed:
        print(f"FAILED: {name}, see {log}")
    print(f"test: {'everything holds' if not runner.failed else 'something does not hold'}, "
          f"after {seconds / 60:.1f} min")


def close(runner):
    """The verdict. A stage that failed without a failed case counts as one (stages.py)."""
    count = {
        word: sum(case.outcome == word for case in runner.cases)
        for word in ("passed", "failed", "skipped")
    }
    count["failed"] = max(count["failed"], len(runner.failed))
    skipped = f", {count['skipped']} skipped" if count["skipped"] else ""
    print(f"{count['passed']} passed, {count['failed']} failed{skipped}")


def main():
    os.chdir(pathlib.Path(__file__).resolve().parent.parent)
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    os.environ.setdefault("BUILD", "build")
    cores = float(os.environ.get("JOBS") or os.cpu_count())
    began = time.monotonic()
    folder = pathlib.Path(os.environ["BUILD"]).resolve() / "tests"
    runner = stages.Runner(chosen(word), folder, max(2, cores * OVERBOOKED))
    # Ended like by Ctrl-C: the stages are sessions of their own, which nobody else would end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        held = runner.run()
    except KeyboardInterrupt:
        print("test: interrupted", flush=True)
        held = False
    report(runner, time.monotonic() - began)
    close(runner)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
