#!/usr/bin/env python3
"""The start of a program that opens a segment, prints a number and ends: milliseconds of a
processor, and of a clock.

    bench/java_start.py PROGRAM RESULTS

Needs build/java/repository (make/java.sh build). The figures are medians of STARTS by turns.
"""

import csv
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import java_client

STARTS = 21
SOURCES = java_client.HERE / "java" / "start"


def spent():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(words):
    """Processor's and clock's milliseconds."""
    used, begun = spent(), time.monotonic()
    said = subprocess.run(["java", *words], check=True, stdout=subprocess.PIPE, text=True).stdout
    if said != "7\n":
        raise RuntimeError(f"{words} said {said}")
    return 1000 * (spent() - used), 1000 * (time.monotonic() - begun)


def build(folder):
    """Returns the class path. An archive takes classes of jars alone."""
    client = str(java_client.jar())
    java_client.compile_java([SOURCES], client, folder / "classes")
    subprocess.run(["jar", "--create", "--file", str(folder / "program.jar"), "-C",
                    str(folder / "classes"), "."], check=True)
    return f"{folder / 'program.jar'}:{client}"


def main():
    program, results = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name, java_client.server(program) as address:
        folder, url = pathlib.Path(name), f"iw://{address}/start"
        path = ["-cp", build(folder)]
        archive = folder / "program.jsa"
        subprocess.run(["java", *path, "start.Making", url], check=True)
        subprocess.run(["java", f"-XX:ArchiveClassesAtExit={archive}", *path, "start.Value", url],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ways = {"prints": [*path, "start.Empty"],
                "segment": [*path, "start.Value", url],
                "segment, C1 alone": ["-XX:TieredStopAtLevel=1", *path, "start.Value", url],
                "segment, archive": [f"-XX:SharedArchiveFile={archive}", *path, "start.Value", url]}
        times = {way: [] for way in ways}
        for _ in range(STARTS):
            for way, words in ways.items():
                times[way].append(run(words))
    with open(results / "java_start.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["way", "cpu_ms", "least_cpu_ms", "ms", "least_ms"])
        for way, found in times.items():
            cpu, clock = zip(*found)
            shown = [f"{ms:.1f}" for each in (cpu, clock)
                     for ms in (statistics.median(each), min(each))]
            rows.writerow([way, *shown])
            print(f"{way:18}", *(f"{ms:>8}" for ms in shown))


if __name__ == "__main__":
    main()
