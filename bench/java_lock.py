#!/usr/bin/env python3
"""A reader lock in Java on a copy that is recent enough: nanoseconds for taking it and giving it
back, and the messages that a million locks send.

    bench/java_lock.py PROGRAM RESULTS

Needs build/java/repository (make/java.sh build). The figures are medians of ROUNDS virtual
machines, each of which gives its median of 200 batches.
"""

import csv
import pathlib
import statistics
import subprocess
import sys
import tempfile

import java_client

ROUNDS = 5
SOURCES = java_client.HERE / "java" / "locks"


def run(classes, url):
    """One virtual machine: model -> (ns, messages)."""
    said = subprocess.run(["java", "-Xms256m", "-Xmx256m", "-XX:+UseSerialGC", "-cp",
                           f"{classes}:{java_client.jar()}", "locks.Main", url], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    rows = [line.split() for line in said.splitlines()]
    return {model: (float(ns), int(messages)) for model, ns, messages in rows}


def main():
    program, results = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder, java_client.server(program) as address:
        java_client.compile_java([SOURCES], str(java_client.jar()), folder)
        rounds = [run(folder, f"iw://{address}/lock-{number}") for number in range(ROUNDS)]
    with open(results / "java_lock.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["model", "ns", "least_ns", "most_ns", "messages"])
        for model in rounds[0]:
            times = [found[model][0] for found in rounds]
            messages = max(found[model][1] for found in rounds)
            shown = [f"{ns:.1f}" for ns in (statistics.median(times), min(times), max(times))]
            rows.writerow([model, *shown, messages])
            print(f"{model:12}", *(f"{ns:>8}" for ns in shown), f"{messages:6}")


if __name__ == "__main__":
    main()
