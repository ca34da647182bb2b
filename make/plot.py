#!/usr/bin/env python3
"""Draws a figure (SVG, by gnuplot) of a CSV file with a header and one measurement a line.

  plot.py FILE.csv --x COLUMN --series COLUMN[,COLUMN] --y COLUMN[,COLUMN] [--bars]
          [--log x|y|xy] [--where COLUMN=VALUE]... [--title TEXT] [--unit TEXT] [--out FILE.svg]

Lines with equal series columns are one line of the figure, or one colour of bars, and with several
--y columns each column is. --bars: one group for each x, in the order of the file. The figure goes
beside the CSV unless --out says otherwise.
"""
import argparse
import csv
import pathlib
import subprocess
import sys


# Dark and light by turns, so that two series of one system look alike.
COLOURS = [
    "1f77b4", "aec7e8", "ff7f0e", "ffbb78", "2ca02c", "98df8a", "d62728", "ff9896", "9467bd",
    "c5b0d5", "8c564b", "c49c94", "7f7f7f", "c7c7c7", "17becf", "9edae5"
]


def arguments():
    parser = argparse.ArgumentParser(description="Draws a figure of a CSV file.")
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--x", required=True)
    parser.add_argument("--series", required=True)
    parser.add_argument("--y", required=True)
    parser.add_argument("--bars", action="store_true")
    parser.add_argument("--log", default="", choices=["", "x", "y", "xy"])
    parser.add_argument("--where", action="append", default=[], metavar="COLUMN=VALUE")
    parser.add_argument("--title", default="")
    parser.add_argument("--unit", default="")
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def read(options):
    """{series: {x: y}} and all x, both in the order of the file."""
    with options.file.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    wanted = [condition.partition("=")[::2] for condition in options.where]
    y_columns = options.y.split(",")
    series, places = {}, {}
    for row in rows:
        if any(row[column] != value for column, value in wanted):
            continue
        places[row[options.x]] = None
        name = " ".join(row[column] for column in options.series.split(","))
        for column in y_columns:
            label = name if len(y_columns) == 1 else f"{name} {column}"
            if row[column] != "":
                series.setdefault(label, {})[row[options.x]] = row[column]
    if not series:
        sys.exit(f"plot: {options.file}: no line fits")
    return series, list(places)


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def script(options, series, places, out):
    width = max(900, 12 * len(places) * len(series) + 260) if options.bars else 900
    lines = [
        f"set terminal svg size {width},480 dynamic background rgb 'white' font 'sans,12'",
        f"set output {quoted(str(out))}",
        f"set title {quoted(options.title)} noenhanced",
        f"set ylabel {quoted(options.unit or options.y)} noenhanced",
        "set key outside right noenhanced",
        "set grid ytics",
    ]
    lines += [f"set linetype {n} lc rgb '#{colour}' lw 2" for n, colour in enumerate(COLOURS, 1)]
    if options.log:
        lines.append(f"set logscale {options.log}")
    for number, points in enumerate(series.values()):
        lines.append(f"$series{number} << END")
        for place in places:
            if options.bars:
                lines.append(f'"{place}" {points.get(place, "NaN")}')
            elif place in points:
                lines.append(f"{place} {points[place]}")
        lines.append("END")
    if options.bars:
        lines += [
            "set style data histograms", "set style histogram clustered gap 1",
            "set style fill solid 0.9", "set xtics rotate by -30 noenhanced",
        ]
        drawn = [f"$series{n} using 2:xtic(1) title {quoted(name)}"
                 for n, name in enumerate(series)]
    else:
        lines.append(f"set xlabel {quoted(options.x)} noenhanced")
        drawn = [f"$series{n} using 1:2 with linespoints title {quoted(name)}"
                 for n, name in enumerate(series)]
    lines.append("plot " + ", ".join(drawn))
    return "\n".join(lines) + "\n"


def main():
    options = arguments()
    out = options.out or options.file.with_suffix(".svg")
    series, places = read(options)
    subprocess.run(["gnuplot"], input=script(options, series, places, out), text=True, check=True)
    print(f"drawn: {out}")


main()
