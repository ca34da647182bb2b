#!/usr/bin/env python3
"""What a frame of astroflow costs the viewer in Java (the JVM paper's Table 1): locking the segment
and getting the update, or reading the file of the frame.

    bench/java_frame.py PROGRAM ASTROFLOW EXAMPLES RESULTS

ASTROFLOW has the programs in C++ and Fortran, EXAMPLES those of `make/java.sh examples`. Each way
runs ROUNDS times, by turns; a run gives the median of its frames. Cold files are dropped from the
system's cache before they are read.
"""

import csv
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 5
FRAMES = 100
PROBLEM = "lw3"


def serve(program):
    server = subprocess.Popen([program, "serve", "--listen", "127.0.0.1:0", "--http", "none",
                               "--store", "memory"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    for line in server.stdout:
        if line.startswith("listening "):
            return server, line.split()[1]
    raise RuntimeError("the server did not start")


def median_ms(said):
    return float(re.search(r"([0-9.]+) ms a frame", said).group(1))


def simulate(astroflow, url):
    subprocess.run([f"{astroflow}/astroflow-simulator-fortran", "--url", url, "--problem", PROBLEM,
                    "--frames", str(FRAMES), "--max-fps", "20", "--quiet"], check=True)


def of_segment(astroflow, url, viewer, stop):
    """The simulator runs meanwhile. Returns what the viewer says."""
    with subprocess.Popen([*viewer, "--url", url, "--coherence", "full", "--headless",
                           "--until-finished", *stop], stdout=subprocess.PIPE, text=True) as run:
        simulate(astroflow, url)
        said, _ = run.communicate()
        if run.returncode != 0:
            raise RuntimeError(said)
        return said


def drop(folder):
    """From the system's cache."""
    for path in sorted(folder.iterdir()):
        subprocess.run(["dd", f"if={path}", "iflag=nocache", "count=0", "status=none"], check=True)


def of_files(viewer, folder):
    return median_ms(subprocess.run(
        [*viewer, "--files", str(folder), "--headless", "--frames", str(FRAMES)], check=True,
        stdout=subprocess.PIPE, text=True).stdout)


def measure(server, astroflow, examples, folder):
    """way -> ms"""
    viewer = ["java", "-jar", f"{examples}/astroflow-viewer.jar"]
    files, summary = folder / "frames", folder / "summary"
    files.mkdir(exist_ok=True)
    found = {"segment": median_ms(of_segment(astroflow, f"{server}/java", viewer, []))}
    of_segment(astroflow, f"{server}/cpp", [f"{astroflow}/astroflow-viewer"],
               ["--summary", str(summary)])
    told = json.loads(summary.read_text())
    found["segment, viewer in C++"] = told["update_ms_median"]
    print(f"bytes sent, share of the frame: {told['wire_to_memory']:.3f}")
    subprocess.run([f"{astroflow}/astroflow-plain", PROBLEM, str(FRAMES), str(files)], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["sync", "-f", str(files)], check=True)
    found["files"] = of_files(viewer, files)
    drop(files)
    found["files, cold"] = of_files(viewer, files)
    return found


def main():
    program, astroflow, examples = sys.argv[1:4]
    rounds = []
    # Beside the machine's disk: a folder in memory has no cold files.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        for _ in range(ROUNDS):
            server, address = serve(program)
            try:
                rounds.append(measure(address, astroflow, examples, pathlib.Path(folder)))
            finally:
                server.terminate()
                server.wait()
    with open(pathlib.Path(sys.argv[4]) / "java_frame.csv", "w", newline="",
              encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["way", "ms", "least_ms", "most_ms"])
        for way in rounds[0]:
            ms = [each[way] for each in rounds]
            row = [f"{value:.3f}" for value in (statistics.median(ms), min(ms), max(ms))]
            rows.writerow([way, *row])
            print(f"{way:24}", *(f"{value:>9}" for value in row))


if __name__ == "__main__":
    main()
