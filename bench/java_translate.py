#!/usr/bin/env python3
"""Translation in Java: rows of doubles, the nine shapes with trees and lists, and partly changed
rows, compared with other ways to make bytes of objects.

    bench/java_translate.py PROGRAM RIVALS RESULTS [FIGURE...]

FIGURE is rows, shapes or partly. Needs build/java/repository (make/java.sh build), and RIVALS, the
folder of `make/java.sh rivals`. Each system runs in a virtual machine of its own, by turns; the
figures are medians of ROUNDS machines, each of which gives its median.
"""

import csv
import importlib.util
import pathlib
import statistics
import subprocess
import sys
import tempfile

import java_client

ROUNDS = 5
SOURCES = java_client.HERE / "java" / "translate"
SYSTEMS = ("interweave", "raw", "raw_in_place", "jdk", "kryo", "fory", "protobuf")
FIGURES = {"rows": SYSTEMS, "shapes": SYSTEMS, "partly": ("interweave",)}
JAVA = ("java", "-Xms1500m", "-Xmx1500m", "-XX:+UseSerialGC", "-XX:+AlwaysPreTouch",
        "-Dinterweave.marks=true")


def write_wide(folder):
    found = importlib.util.spec_from_file_location("wide", SOURCES / "wide.py")
    wide = importlib.util.module_from_spec(found)
    found.loader.exec_module(wide)
    wide.write(folder)


def build(program, rivals, folder):
    """Returns the class path."""
    write_wide(folder)
    java_client.generate(program, [SOURCES / "shapes.x", folder / "wide.x"], "translate.data",
                         folder)
    for path in (SOURCES / "shapes.proto", folder / "wide.proto"):
        subprocess.run(["protoc", f"-I{path.parent}", f"--java_out={folder}", str(path)],
                       check=True)
    paths = ":".join(map(str, [java_client.jar(), *sorted(rivals.glob("*.jar"))]))
    java_client.compile_java([SOURCES, folder], paths, folder / "classes")
    return f"{folder / 'classes'}:{folder}:{paths}"


def run(path, figure, system):
    """One virtual machine: case -> (out ns, in ns, bytes), or None: its stack overflowed."""
    said = subprocess.run([*JAVA, "-cp", path, "translate.Main", figure, system], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    rows = {}
    for line in said.splitlines():
        words = line.split()
        case = " ".join(words[:-1 if words[-1] == "overflow" else -3])
        rows[case] = None if words[-1] == "overflow" else tuple(map(int, words[-3:]))
    return rows


def medians(rounds):
    """case -> (out us, in us, bytes) or None"""
    table = {}
    for case in rounds[0]:
        found = [each[case] for each in rounds]
        table[case] = None if None in found else (
            statistics.median(row[0] for row in found) / 1000,
            statistics.median(row[1] for row in found) / 1000, found[0][2])
    return table


def write_systems(figure, tables, results):
    with open(results / f"java_{figure}.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["case", "system", "out_us", "in_us", "both_us", "bytes"])
        for case in tables["interweave"]:
            for system, table in tables.items():
                if case not in table:
                    continue
                found = table[case]
                row = ["", "", "", ""] if found is None else [
                    f"{found[0]:.1f}", f"{found[1]:.1f}", f"{found[0] + found[1]:.1f}", found[2]]
                rows.writerow([case, system, *row])
                print(f"{case:14} {system:13}", *(f"{value:>10}" for value in row))


def fit(x, y):
    """R^2 of the best line."""
    mean_x, mean_y = statistics.mean(x), statistics.mean(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / sum(
        (a - mean_x)**2 for a in x)
    rest = sum((b - mean_y - slope * (a - mean_x))**2 for a, b in zip(x, y))
    return 1 - rest / sum((b - mean_y)**2 for b in y)


def write_partly(tables, results):
    lines = {}
    with open(results / "java_partly.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["how", "per_cent", "out_us", "in_us", "bytes"])
        for case, (out, in_, count) in tables["interweave"].items():
            how, per = case.split()
            rows.writerow([how, per, f"{out:.1f}", f"{in_:.1f}", count])
            print(f"{how:11} {per:>3} {out:10.1f} {in_:10.1f} {count:10}")
            lines.setdefault(how, []).append((int(per), out, in_, count))
    for how, points in lines.items():
        # A row that is rewritten whole is not compared, so the last point is not of the line out.
        for what, of in (("all", points), ("10 to 90 %", points[:-1])):
            per, *columns = zip(*of)
            print(f"{how}, {what}: R^2 of out, in, bytes:",
                  *(f"{fit(per, column):.4f}" for column in columns))


def main():
    program, rivals, results = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        path = build(program, rivals, pathlib.Path(folder))
        for figure in sys.argv[4:] or FIGURES:
            runs = {system: [] for system in FIGURES[figure]}
            for _ in range(ROUNDS):
                for system, rounds in runs.items():
                    rounds.append(run(path, figure, system))
            tables = {system: medians(rounds) for system, rounds in runs.items()}
            if figure == "partly":
                write_partly(tables, results)
            else:
                write_systems(figure, tables, results)


if __name__ == "__main__":
    main()
