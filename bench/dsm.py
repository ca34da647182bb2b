#!/usr/bin/env python3
"""The page-based shared memory (docs/dsm.md) beside threads and windows of MPI-3.

    bench/dsm.py FOLDER_OF_THE_BENCHMARKS FOLDER_OF_THE_EXAMPLES INTERWEAVE FOLDER_OF_RESULTS

Writes in the results
    dsm.csv          transport,system,operation,us: single operations between two ranks
    dsm_speedup.csv  program,round,factor,threads_1_s,threads_2_s,ranks_2_s: kept rounds only
    dsm_crowd.csv    ranks,transport,cpu_s: processor time of all threads for the work of a rank
    dsm_pipe.csv     program,way,buffer,depth,s,barrier_s,diff_messages: with two ranks
The builds take turns. BENCH_ROUNDS says how many rounds; BENCH_PARTS which files.
"""

import os
import pathlib
import re
import statistics
import subprocess
import sys

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "9"))
PARTS = os.environ.get("BENCH_PARTS", "dsm,speedup,crowd,pipe").split(",")
LEAST_FACTOR = 1.8
# Name: the program, its arguments, and those behind the number of threads.
SPEEDUP = {
    "jacobi": ("jacobi", ("4096", "20"), ()),
    "lu by rows": ("lu", ("2048", "16"), ()),
    "lu by blocks": ("lu", ("2048", "16"), ("blocks",)),
}
KERNELS = {
    "barnes": ("32768", "2"),
    "is": ("A",),
    "lu": ("1024", "16"),
    "ocean": ("258", "5"),
}
BUFFERS = ("4K", "8K", "16K", "32K", "64K", "128K", "256K")
DEPTHS = ("1", "2", "4", "8")


class Bench:
    def __init__(self, programs, examples, interweave, results):
        self.programs = pathlib.Path(programs)
        self.examples = pathlib.Path(examples)
        self.interweave = interweave
        self.results = pathlib.Path(results)

    def write(self, name, header, rows):
        path = self.results / name
        lines = [header] + [",".join(map(str, row)) for row in rows]
        path.with_suffix(".tmp").write_text("\n".join(lines) + "\n", encoding="utf-8")
        path.with_suffix(".tmp").rename(path)
        print(f"written: {path}", flush=True)

    def say(self, command, **environment):
        """Both outputs of a program, which must succeed."""
        done = subprocess.run([str(each) for each in command], env=os.environ | environment,
                              text=True, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode != 0:
            sys.exit(f"bench: {command}: {done.stdout}")
        return done.stdout

    def ranks(self, count, program, *arguments, **environment):
        return self.say([self.interweave, "run", "-n", count, "--", program, *arguments],
                        **environment)

    # Single operations.
    def operations(self):
        cases = [("shm", "interweave", "micro"), ("tcp", "interweave", "micro"),
                 ("shm", "fabric", "round_trip"), ("tcp", "fabric", "round_trip"),
                 ("", "threads", "threads")]
        if (self.programs / "bench_dsm_windows").exists():
            cases.append(("shm", "windows", "windows"))
        samples = {}
        for _ in range(ROUNDS):
            for transport, system, name in cases:
                for operation, us in self.operation_times(transport, system, name):
                    samples.setdefault((transport, system, operation), []).append(float(us))
        rows = [(*key[:2], f'"{key[2]}"', f"{statistics.median(us):.3f}")
                for key, us in samples.items()]
        for row in rows:
            print(*row, flush=True)
        self.write("dsm.csv", "transport,system,operation,us", rows)

    def operation_times(self, transport, system, name):
        program = self.programs / f"bench_dsm_{name}"
        if system == "threads":
            said = self.say([program])
        elif system == "windows":
            said = self.say(["mpirun", "--oversubscribe", "-n", 2, program],
                            OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        else:
            said = self.ranks(2, program, IW_FABRIC=transport)
        return re.findall(r"^(.*): ([\d.]+)$", said, re.MULTILINE)

    # Kernels.
    def seconds(self, said, program):
        if "right: " not in said:
            sys.exit(f"bench: {program} is wrong: {said}")
        return float(re.search(r"processes, ([\d.]+) s", said)[1])

    def with_threads(self, count, program, before, behind):
        return self.seconds(self.say([self.examples / f"dsm-{program}-threads", *before, count,
                                      *behind]), program)

    def with_ranks(self, count, program, arguments, **environment):
        said = self.ranks(count, self.examples / f"dsm-{program}", *arguments, **environment)
        return self.seconds(said, program), said

    def factor(self):
        return float(self.say([self.programs / "bench_dsm_threads", "factor"]).split()[1])

    def speedups(self):
        rows = []
        for name, (program, *arguments) in SPEEDUP.items():
            discarded, kept = 0, []
            while len(kept) < ROUNDS and discarded < 4 * ROUNDS:
                before = self.factor()
                times = (self.with_threads(1, program, *arguments),
                         self.with_threads(2, program, *arguments),
                         self.with_ranks(2, program, (*arguments[0], 2, *arguments[1]))[0])
                factor = min(before, self.factor())
                if factor < LEAST_FACTOR:
                    discarded += 1
                    continue
                kept.append(times)
                rows.append((name, len(kept), factor, *times))
            if not kept:
                print(f"{name}: all {discarded} rounds were discarded", flush=True)
                continue
            self.write("dsm_speedup.csv", "program,round,factor,threads_1_s,threads_2_s,ranks_2_s",
                       rows)
            one, two, ours = (statistics.median(each) for each in zip(*kept))
            print(f"{name}: threads {one / two:.2f}, ranks {one / ours:.2f} times as fast as "
                  f"one thread; {len(kept)} rounds, {discarded} discarded", flush=True)

    def crowds(self):
        samples = {}
        for _ in range(ROUNDS):
            for transport in ("shm", "tcp"):
                for count in (1, 4, 8, 16):
                    said = self.ranks(count, self.programs / "bench_dsm_crowded",
                                      IW_FABRIC=transport)
                    samples.setdefault((count, transport), []).append(float(said.split()[-1]))
        rows = [(*key, f"{statistics.median(cpu):.4f}") for key, cpu in samples.items()]
        for row in rows:
            print(*row, flush=True)
        self.write("dsm_crowd.csv", "ranks,transport,cpu_s", rows)

    def pipes(self):
        ways = [("orig", "32K", "2")]
        ways += [("pipe", buffer, "2") for buffer in BUFFERS]
        ways += [("pipe", "32K", depth) for depth in DEPTHS if depth != "2"]
        rows = []
        for program, arguments in KERNELS.items():
            samples = {}
            for _ in range(ROUNDS):
                for way in ways:
                    diffs, buffer, depth = way
                    seconds, said = self.with_ranks(2, program, arguments, IW_DSM_DIFFS=diffs,
                                                    IW_DSM_BUFFER=buffer, IW_DSM_DEPTH=depth)
                    messages = re.search(r"in (\d+) messages", said)[1]
                    barriers = re.search(r"([\d.]+) s in barriers", said)[1]
                    samples.setdefault(way, []).append((seconds, float(barriers), int(messages)))
            for way, all_of_way in samples.items():
                middle = [f"{statistics.median(each):g}" for each in zip(*all_of_way)]
                rows.append((program, *way, *middle))
                print(*rows[-1], flush=True)
        self.write("dsm_pipe.csv", "program,way,buffer,depth,s,barrier_s,diff_messages", rows)


def main():
    bench = Bench(*sys.argv[1:5])
    parts = {
        "dsm": bench.operations,
        "speedup": bench.speedups,
        "crowd": bench.crowds,
        "pipe": bench.pipes,
    }
    for part in PARTS:
        parts[part]()


main()
