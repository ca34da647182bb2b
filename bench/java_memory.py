#!/usr/bin/env python3
"""What 1,000,000 blocks with their objects take of Java's heap, and of a full collection.

    bench/java_memory.py PROGRAM RESULTS

Needs build/java/repository (make/java.sh build). Each case has a virtual machine of its own for
each collector, by turns; the figures are medians of ROUNDS machines, each of which gives its median
of seven collections.
"""

import csv
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import java_client

ROUNDS = 3
COUNT = 1_000_000
SOURCES = java_client.HERE / "java" / "memory"
COLLECTORS = {"G1": "-XX:+UseG1GC", "ZGC": "-XX:+UseZGC"}
CASES = ("blocks", "plain", "row")
PAUSE = re.compile(r"Pause .*?([0-9.]+)ms$")
# What Java 17 writes at the end of a full collection, of either collector.
END = re.compile(r"Pause Full \(System.gc\(\)\).*ms$|Garbage Collection \(System.gc\(\)\).*%\)$")


def build(program, folder):
    """Returns the class path."""
    java_client.generate(program, [SOURCES / "data.x"], "memory.data", folder)
    java_client.compile_java([SOURCES, folder], str(java_client.jar()), folder / "classes")
    return f"{folder / 'classes'}:{folder}:{java_client.jar()}"


def longest_pauses(log):
    """Milliseconds, one a full collection."""
    longest, found = 0.0, []
    for line in log.splitlines():
        pause = PAUSE.search(line)
        if pause:
            longest = max(longest, float(pause.group(1)))
        if END.search(line):
            found.append(longest)
            longest = 0.0
    return found


def run(path, collector, case, log):
    """One virtual machine: bytes a block, ms of a full collection, ms of its longest pause."""
    said = subprocess.run(
        ["java", "-Xms3g", "-Xmx3g", "-XX:+AlwaysPreTouch", COLLECTORS[collector],
         f"-Xlog:gc,gc+phases:file={log}", "-Dinterweave.marks=true", "-cp", path, "memory.Main",
         case, str(COUNT)], check=True, stdout=subprocess.PIPE, text=True).stdout
    times = [int(line.split()[1]) / 1000 for line in said.splitlines() if line.startswith("us ")]
    size = next(float(line.split()[1]) for line in said.splitlines() if line.startswith("bytes "))
    pauses = longest_pauses(log.read_text(encoding="utf-8"))[-len(times):]
    return size, statistics.median(times), statistics.median(pauses)


def main():
    program, results = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = build(program, folder)
        rounds = {(case, collector): [] for case in CASES for collector in COLLECTORS}
        for _ in range(ROUNDS):
            for (case, collector), found in rounds.items():
                found.append(run(path, collector, case, folder / "log"))
    with open(results / "java_memory.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["case", "collector", "bytes", "collection_ms", "pause_ms"])
        for (case, collector), found in rounds.items():
            size, time, pause = (statistics.median(column) for column in zip(*found))
            rows.writerow([case, collector, f"{size:.1f}", f"{time:.2f}", f"{pause:.3f}"])
            print(f"{case:8} {collector:4} {size:8.1f} {time:9.2f} {pause:9.3f}")


if __name__ == "__main__":
    main()
