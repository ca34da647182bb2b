#!/usr/bin/env python3
"""Compares two builds of the benchmarks: figure by figure, the builds by turns.

    bench/compare.py OLD NEW [FIGURE ...] [--rounds N] [--csv FILE]

OLD and NEW are source trees in which `make bench` has built the benchmarks. A round runs a figure
once with each build, and the build that runs first changes from round to round. The table has for
each case:

  old, new  the medians over the rounds
  ratio     the median over the rounds of new divided by old in the same round; over 1 is slower
  spread    half the distance between the quartiles of old divided by its median: what chance does
  held      whether the ratio is at most 1.03, or at most 1 + spread where that is more

Only InterWeave's own cases are compared. The last line of a figure has the median of its ratios.

    bench/compare.py ../before . update read_lock --rounds 11
"""

import argparse
import csv
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

TOLERANCE = 0.03
OWN_SYSTEMS = ("interweave", "am", "containers")

# Of each figure: the program below the tree, its CSV files, and the columns to compare. The other
# columns name the case, but for those in IGNORED.
FIGURES = {
    "update": (["build/release/bench/bench_update"], {"update.csv": ["us"]}),
    "frame": (["build/release/bench/bench_frame"], {"frame.csv": ["ms"]}),
    "frames": (["make/python.sh", "bench"], {"frames.csv": ["ms"]}),
    "read_lock": (["build/release/bench/bench_read_lock"], {"read_lock.csv": ["ns"]}),
    "memory": (
        ["build/release/bench/bench_memory"],
        {"memory.csv": ["server_bytes", "client_bytes"]},
    ),
    "readers": (["build/release/bench/bench_readers"], {"readers.csv": ["release_us"]}),
    "granularity": (["build/release/bench/bench_granularity"], {"granularity.csv": ["us"]}),
    "translate": (["build/release/bench/bench_translate"], {"translate.csv": ["us"]}),
    "server_costs": (
        ["target/release/examples/server_costs", "{releases}"],
        {"server_costs.csv": ["us"]},
    ),
    "am": (["build/release/bench/am/bench_am"], {"am.csv": ["us"]}),
    "containers": (
        ["build/release/bench/containers/bench_containers"],
        {"containers.csv": ["us"]},
    ),
    "ddss": (["build/release/bench/ddss/bench_ddss"], {"ddss.csv": ["us"]}),
}
# Measurements that are not compared, because they follow from others or are not InterWeave's.
IGNORED = {
    *("bytes", "pages", "messages", "server_ratio", "client_ratio", "server_growth_kib"),
    *("page_faults_us", "commit_us", "to_memcpy", "to_flatbuffers", "wire_bytes"),
}
KEY_BYTES = {"am.csv", "ddss.csv"}  # here `bytes` names the case


def run(tree, figure, results, releases):
    program, _ = FIGURES[figure]
    command = [part.format(releases=releases) for part in program]
    environment = dict(os.environ, BENCH_RESULTS=str(results))
    environment["IW_PROGRAM"] = str(tree / "target/release/interweave")
    if figure == "server_costs":
        keep = 1 << 30
        environment["GLIBC_TUNABLES"] = (
            f"glibc.malloc.mmap_threshold={keep}:glibc.malloc.trim_threshold={keep}"
        )
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        said = done.stdout + done.stderr
        sys.exit(f"compare: {figure} of {tree} ended with {done.returncode}:\n{said}")


def cases(folder, figure):
    """{case: value} of one run."""
    found = {}
    for name, values in FIGURES[figure][1].items():
        with open(folder / name, newline="") as file:
            for row in csv.DictReader(file):
                if not row.get("system", "interweave").startswith(OWN_SYSTEMS):
                    continue
                ignored = IGNORED - {"bytes"} if name in KEY_BYTES else IGNORED
                not_key = ignored.union(values)
                key = [cell for column, cell in row.items() if column not in not_key]
                for value in values:
                    label = " ".join(key + ([value] if len(values) > 1 else []))
                    if row[value]:
                        found[label] = float(row[value])
    return found


def measure(trees, figure, rounds, releases):
    """[(old, new)] of each round, each {case: value}."""
    measured = []
    for turn in range(rounds):
        both = {}
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            with tempfile.TemporaryDirectory() as folder:
                run(trees[which], figure, pathlib.Path(folder), releases)
                both[which] = cases(pathlib.Path(folder), figure)
        measured.append((both[0], both[1]))
        print(f"  {figure}: round {turn + 1} of {rounds}", file=sys.stderr, flush=True)
    return measured


def spread(values):
    if len(values) < 4:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4)
    return (high - low) / 2 / middle if middle else 0.0


def report(figure, measured, rows):
    print(f"{figure}\n  {'case':58} {'old':>12} {'new':>12} {'ratio':>7} {'spread':>7}  held")
    ratios = []
    for case in measured[0][0]:
        both = [(old.get(case), new.get(case)) for old, new in measured]
        pairs = [(old, new) for old, new in both if old and new]
        if not pairs:
            continue
        olds, news = [old for old, _ in pairs], [new for _, new in pairs]
        ratio, chance = statistics.median(new / old for old, new in pairs), spread(olds)
        held = "yes" if ratio <= 1 + max(TOLERANCE, chance) else "no"
        ratios.append(ratio)
        cells = [statistics.median(olds), statistics.median(news), ratio, chance]
        numbers = "{:12.4g} {:12.4g} {:7.3f} {:7.3f}".format(*cells)
        print(f"  {case:58} {numbers}  {held}")
        rows.append([figure, case, *(f"{cell:.6g}" for cell in cells), held])
    print(f"  {'median of the ratios':58} {statistics.median(ratios):33.3f}\n", flush=True)


def releases_of(tree, folder):
    """Writes the releases that `server_costs` translates. The client's library makes them."""
    program = tree / "build/release/bench/bench_server_releases"
    subprocess.run([program, folder], check=True, capture_output=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    known = ", ".join(FIGURES)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"of {known}; none: all")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--csv", type=pathlib.Path, help="write all rows to this file, too")
    wanted = parser.parse_args()
    unknown = [figure for figure in wanted.figures if figure not in FIGURES]
    if unknown:
        parser.error(f"'{unknown[0]}' is not a figure that can be compared; these are: {known}")
    trees = [wanted.old.resolve(), wanted.new.resolve()]
    rows = []
    with tempfile.TemporaryDirectory() as releases:
        for figure in wanted.figures or FIGURES:
            if figure == "server_costs":
                releases_of(trees[1], releases)
            report(figure, measure(trees, figure, wanted.rounds, releases), rows)
    if wanted.csv:
        with open(wanted.csv, "w", newline="") as file:
            head = ["figure", "case", "old", "new", "ratio", "spread", "held"]
            csv.writer(file).writerows([head, *rows])


if __name__ == "__main__":
    main()
