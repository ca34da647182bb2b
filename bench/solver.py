#!/usr/bin/env python3
"""What sharing costs a running solver (the paper's Figure 10): the time of a step of astroflow in
Fortran, every step being published.

One source (examples/astroflow/fortran/shared.f90), linked with the stub (`off`) and with
libinterweave, a viewer attached that fetches every version it can, with a server that keeps
segments in memory (`shared`) or syncs each version to the disk before it acknowledges it
(`shared-synced`); and plain.f90, which writes a file a step and does not wait for the disk
(`files`). The modes take turns, several times.

Writes results/solver.csv: mode,ms_per_step,ratio,cpu_ms_per_step,cpu_ratio. Medians over the turns;
a ratio is to `off` of the same turn, so that what else the machine does weighs on both. The
processor time is the solver's own, the system's on its behalf included: on a busy machine it is the
one to look at, since there a program that sometimes sleeps is scheduled sooner than
one that never does.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

PROBLEM, STEPS = "sod", 300
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))


def run_solver(program, place):
    """The mean time and processor time of a step of one run, and the checksum at its end."""
    run = subprocess.Popen([program, PROBLEM, str(STEPS), place], stdout=subprocess.PIPE, text=True)
    said = dict(line.split() for line in run.stdout)
    _, status, usage = os.wait4(run.pid, 0)
    run.returncode = status
    if status != 0:
        raise SystemExit(f"bench: {program} failed: {said}")
    cpu_ms = (usage.ru_utime + usage.ru_stime) * 1e3 / STEPS
    return float(said["ms_per_frame"]), cpu_ms, said["checksum"]


def start_server(interweave, store):
    server = subprocess.Popen(
        [interweave, "serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--store", store],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in server.stdout:
        if line.startswith("listening "):
            return server, line.split()[1]
    raise SystemExit("bench: the server did not start")


def shared(programs, address, name):
    url = f"{address}/{name}"
    viewer = subprocess.Popen([
        programs / "astroflow-viewer", "--url", url, "--coherence", "full", "--headless",
        "--until-finished"
    ], stdout=subprocess.DEVNULL)
    result = run_solver(programs / "astroflow-shared", url)
    if viewer.wait() != 0:
        raise SystemExit("bench: the viewer failed")
    return result


def files(programs, work):
    place = work / "frames"
    place.mkdir()
    result = run_solver(programs / "astroflow-plain", place)
    shutil.rmtree(place)
    return result


def measure(programs, interweave, work):
    servers = {mode: start_server(interweave, store)
               for mode, store in (("shared", "memory"), ("shared-synced", work / "store"))}
    times = {mode: [] for mode in ("off", "shared", "shared-synced", "files")}
    checksums = set()
    for turn in range(ROUNDS):
        for mode, taken in times.items():
            if mode in servers:
                result = shared(programs, servers[mode][1], f"{mode}-{turn}")
            elif mode == "files":
                result = files(programs, work)
            else:
                result = run_solver(programs / "astroflow-shared-alone", "nowhere")
            taken.append(result[:2])
            checksums.add(result[2])
    for server, _ in servers.values():
        server.terminate()
        server.wait()
    if len(checksums) != 1:
        raise SystemExit("bench: the modes computed different gases")
    return times


def main():
    programs, interweave, results = (pathlib.Path(argument) for argument in sys.argv[1:4])
    work = pathlib.Path(tempfile.mkdtemp(prefix="interweave-bench."))
    try:
        times = measure(programs, interweave, work)
    finally:
        shutil.rmtree(work)
    lines = ["mode,ms_per_step,ratio,cpu_ms_per_step,cpu_ratio"]
    for mode, taken in times.items():
        columns = [mode]
        for kind in (0, 1):
            ms = statistics.median(one[kind] for one in taken)
            ratio = statistics.median(one[kind] / off[kind]
                                      for one, off in zip(taken, times["off"]))
            columns += [f"{ms:.3f}", f"{ratio:.3f}"]
        lines.append(",".join(columns))
    print("\n".join(lines))
    (results / "solver.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
