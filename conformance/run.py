#!/usr/bin/env python3
"""Every client and machine against every other: cases as data, and random edits.

  run.py cases [--only WORD]             all cases over ordered pairs (writer, reader)
  run.py random [--seed N] [--edits N]   random types and edits on all agents together
  run.py restarts [--only WORD] [--short]     the server goes and comes back under each agent in
                                              each state
  run.py owners [--only WORD] [--short]       segments go to another server of a space under each
                                              agent in each state
  run.py identities [--only WORD]        every agent is let in or refused in every way, over TLS
  run.py cases --tls, random --tls       the same over encrypted connections
  run.py self-test                       whether the runner notices what it should, with the first
                                         agent
  run.py list                            the agents and the cases
--long: on more machines and in every pair. Ends with 0 if all holds, 1 if something does not, 2 if
it could not be tried.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
CELLS_A_JOB = 4  # they mostly wait
OWNER_CELLS_A_JOB = 6  # for leases
sys.path.insert(0, str(HERE))

from runner import cases, cells, encryption, identities  # noqa: E402  (after the path is known)
from runner import matrix, owners, processes, random_test, restart_table  # noqa: E402
from runner import restarts, self_test  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cases", "random", "restarts", "owners", "identities",
                                         "self-test", "list"])
    parser.add_argument("--server", default=str(HERE.parent / "target/release/interweave"),
                        help="the interweave program (default: %(default)s)")
    parser.add_argument("--cluster",
                        default=str(HERE.parent / "target/release/interweave-test-cluster"),
                        help="owners, self-test: the program of the database, or `none` for a "
                             "self-test without it (default: %(default)s)")
    parser.add_argument("--build", default=os.environ.get("BUILD", str(HERE.parent / "build")),
                        help="what {build} in agents.json stands for (default: %(default)s)")
    parser.add_argument("--table", default=str(HERE / "agents.json"),
                        help="the agents (default: %(default)s)")
    parser.add_argument("--agents", metavar="NAME,NAME", help="only these agents of the table")
    parser.add_argument("--only", metavar="WORD", default="",
                        help="cases, restarts, owners, identities: those with WORD in their names")
    parser.add_argument("--short", action="store_true",
                        help="restarts, owners: the ways and stores that differ most")
    parser.add_argument(
        "--long", action="store_true",
        help="also the agents of \"long\" in the table, and every pair, "
             "whatever its \"beside\" says")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(),
        help="cases: pairs at a time; restarts: four cells for each; owners: six "
             "(default: %(default)s)")
    parser.add_argument("--seed", type=int,
                        help="random: the seed (default: another each time; it is printed)")
    parser.add_argument(
        "--edits", type=int, default=10000,
        help="random: edits that are checked on all machines (default: %(default)s)")
    parser.add_argument("--tls", action="store_true",
                        help="cases, random: over encrypted connections, with certificates")
    parser.add_argument("--world", type=int, help="random: only this world of the seed")
    return parser.parse_args()


def chosen_agents(options):
    table = json.loads(pathlib.Path(options.table).read_text(encoding="utf-8"))
    if not options.agents:
        return [kind for kind in table if options.long or not kind.get("long")]
    names = options.agents.split(",")
    for name in names:
        if name not in [kind["name"] for kind in table]:
            raise ValueError(f"{options.table} has no agent {name}")
    return [kind for kind in table if kind["name"] in names]


def run_cases(options, kinds):
    began = time.monotonic()
    chosen = cases.load(HERE / "cases", HERE.parent / "spec", options.only)
    gaps = json.loads((HERE / "gaps.json").read_text(encoding="utf-8"))
    names = {case["name"] for case in cases.load(HERE / "cases", HERE.parent / "spec")}
    for gap in gaps:
        if gap["case"] not in names or not gap["reason"]:
            raise ValueError(f"gaps.json: {gap} names no case, or no reason")
    pairs = matrix.pairs_of(kinds, options.long)
    print(f"conformance: {len(chosen)} cases, {len(pairs)} pairs of "
          f"{', '.join(kind['name'] for kind in kinds)}",
          flush=True)
    report = matrix.run(pairs, chosen, gaps, options.server, options.build, options.jobs)
    skipped = f", {report.skipped} skipped for want of an ability" if report.skipped else ""
    known = f", {report.known} known gaps" if report.known else ""
    print(f"conformance: {report.passed} passed, {len(report.failures)} failed{known}{skipped} "
          f"({time.monotonic() - began:.0f} s)")
    return 1 if report.failures or not report.passed else 0


def run_random(options, kinds):
    seed = random.randrange(10**6) if options.seed is None else options.seed
    print(f"random: seed {seed}, {options.edits} edits on "
          f"{', '.join(kind['name'] for kind in kinds)}", flush=True)
    shown = [0.0]

    def progress(world, edits, seconds):
        if seconds - shown[0] >= 30:
            shown[0] = seconds
            print(f"  {edits} edits, {world} worlds, {seconds:.0f} s", flush=True)

    began = time.monotonic()
    edits, worlds, failure = random_test.run(kinds, options.server, options.build, seed,
                                             options.edits, options.world, progress)
    if failure:
        print(f"random: FAILED with --seed {seed}\n  {failure}")
        return 1
    print(f"random: {edits} edits in {worlds} worlds, each equal on {len(kinds)} machines "
          f"({time.monotonic() - began:.0f} s)")
    return 0


def run_restarts(options, kinds):
    began = time.monotonic()
    gaps = cells.gaps_of(HERE / "restart_gaps.json", restart_table.STATES)
    report = restarts.run(kinds, gaps, options.server, options.build, options.only, options.short,
                          CELLS_A_JOB * options.jobs)
    return told(report, "restarts", began)


def run_owners(options, kinds):
    began = time.monotonic()
    gaps = cells.gaps_of(HERE / "owner_gaps.json", restart_table.STATES)
    programs = options.server, options.cluster
    report = owners.run(kinds, gaps, programs, options.build, options.only, options.short,
                        OWNER_CELLS_A_JOB * options.jobs)
    return told(report, "owners", began)


def told(report, matrix_name, began):
    known = f", {report.known} known gaps" if report.known else ""
    seconds, slowest = report.slowest
    print(f"{matrix_name}: {report.passed} passed, {report.failed} failed{known} "
          f"({time.monotonic() - began:.0f} s; the slowest, {seconds:.1f} s, was {slowest})")
    return 1 if report.failed or not report.passed else 0


def run_identities(options, kinds):
    began = time.monotonic()
    passed, failed = identities.run(kinds, options.server, options.build, options.only,
                                    2 * options.jobs)
    print(f"identities: {passed} passed, {failed} failed ({time.monotonic() - began:.0f} s)")
    return 1 if failed or not passed else 0


def run_self_test(options, kinds):
    failed = self_test.run((options.server, options.cluster), options.build, kinds[0])
    for name in failed:
        print(f"self-test: FAILED: {name}")
    print(
        f"self-test: {'all holds' if not failed else 'the runner does not notice what it should'}")
    return 1 if failed else 0


def encrypted(options, kinds):
    if options.what not in ("cases", "random"):
        raise ValueError(f"--tls is for cases and random, not for {options.what}")
    folder, processes.Server.options_of_run = encryption.certificates(options.server)
    processes.Server.scheme = "iws"
    with folder:
        return {"cases": run_cases, "random": run_random}[options.what](options, kinds)


def main():
    options = arguments()
    # So that servers and agents are ended, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        kinds = chosen_agents(options)
        if options.what == "list":
            print("agents:", " ".join(kind["name"] for kind in kinds))
            for case in cases.load(HERE / "cases", HERE.parent / "spec", options.only):
                print(f"{case['name']}  [{'] ['.join(case['rules'])}]")
            return 0
        if any(kind["name"] == "windows" for kind in kinds):
            # Windows finds no token of the server's own.
            processes.Server.options_of_run = ["--insecure"]
        if options.tls:
            return encrypted(options, kinds)
        return {"cases": run_cases, "random": run_random, "restarts": run_restarts,
                "owners": run_owners, "identities": run_identities,
                "self-test": run_self_test}[options.what](options, kinds)
    except (OSError, ValueError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
