#!/usr/bin/env python3
"""SciMark's kernels on plain and on shared objects, with the agent and without.

    bench/scimark.py PROGRAM RESULTS

Needs build/java/repository (make/java.sh build). Each way runs in a virtual machine of its own, by
turns; the figures are medians of ROUNDS machines, each of which gives its best stretch.
"""

import csv
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import java_client

ROUNDS = 7
SOURCES = java_client.HERE / "java" / "scimark"
# name of the way, data, the agent's argument; None: no agent
WAYS = (("plain", "plain", None), ("plain, agent", "plain", ""),
        ("plain, measure=all", "plain", "=measure=all"), ("shared", "shared", None),
        ("shared, agent", "shared", ""), ("marked rows", "marked", ""))


def build(program, folder):
    """The kernels over each form of the data. Returns the class paths."""
    generated, client = folder / "generated", str(java_client.jar())
    java_client.generate(program, [SOURCES / "scimark.x"], "scimark.data", generated)
    kernels = folder / "kernels"
    shutil.copytree(SOURCES, kernels, ignore=shutil.ignore_patterns("plain", "shared", "marked"))
    paths = {}
    for kind, more in (("plain", ()), ("shared", (generated,)), ("marked", (generated,))):
        classes = folder / kind
        java_client.compile_java([kernels, SOURCES / kind, *more], client, classes)
        paths[kind] = f"{classes}:{generated}:{client}"
    return paths


def run(paths, way, url):
    """One virtual machine: kernel -> (ns of a run, what the first run gave)."""
    name, data, agent = way
    words = ["java", "-Xms512m", "-Xmx512m", "-XX:+UseSerialGC"]
    if agent is not None:
        words.append(f"-javaagent:{java_client.jar('interweave-agent')}{agent}")
    words += ["-cp", paths[data], f"scimark.{data.capitalize()}"]
    words += [] if data == "plain" else [url]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in said.splitlines()]
    return {kernel: (float(ns), first) for kernel, ns, first in rows}


def check(runs):
    """The kernels compute the same in all ways, and the agent is there where it should be."""
    for way, rounds in runs.items():
        for kernel in ("fft", "sor", "monte_carlo", "sparse", "lu", "monte_carlo_in_fields"):
            if way == "marked rows" and kernel not in rounds[0]:
                continue
            given = {found[kernel][1] for found in rounds}
            wanted = runs["plain"][0][kernel][1]
            if given != {wanted}:
                raise RuntimeError(f"{kernel}, {way}: {given} instead of {wanted}")
    for found in runs["shared, agent"]:
        if found["tracked"][0] != 1:
            raise RuntimeError("the agent is not there")


def write(runs, results):
    with open(results / "java_scimark.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["kernel", "way", "us", "least_us", "most_us", "ratio_to_plain",
                       "ratio_of_least"])
        for kernel in runs["shared"][0]:
            if kernel == "tracked":
                continue
            for way, rounds in runs.items():
                if kernel in rounds[0]:
                    rows.writerow(row(kernel, way, times(rounds, kernel),
                                      times(runs["plain"], kernel)))


def times(rounds, kernel):
    return [round_[kernel][0] / 1000 for round_ in rounds if kernel in round_]


def row(kernel, way, us, plain):
    ratios = ["", ""]
    if plain:
        each = [mine / other for mine, other in zip(us, plain)]
        ratios = [f"{statistics.median(each):.3f}", f"{min(us) / min(plain):.3f}"]
    print(f"{kernel:22} {way:18} {statistics.median(us):10.2f} us  {ratios[0]:>6} {ratios[1]:>6}")
    return [kernel, way, *(f"{time:.2f}" for time in (statistics.median(us), min(us), max(us))),
            *ratios]


def main():
    program, results = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        paths = build(program, pathlib.Path(folder))
        with java_client.server(program) as address:
            runs = {way[0]: [] for way in WAYS}
            for round_ in range(ROUNDS):
                for number, way in enumerate(WAYS):
                    url = f"iw://{address}/scimark-{round_}-{number}"
                    runs[way[0]].append(run(paths, way, url))
    check(runs)
    write(runs, results)


if __name__ == "__main__":
    main()
