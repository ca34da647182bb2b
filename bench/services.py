#!/usr/bin/env python3
"""The services over DDSS (docs/services.md) measured as the paper's sections 5.2 and 5.3 measure
theirs: a version check beside a loaded back end, moving servers between two sites, selections over
1K, 10K and 100K records beside records sent over TCP, and a checkpoint and a restart by growing
numbers of processes.

    bench/services.py FOLDER_OF_THE_PROGRAMS FOLDER_OF_RESULTS

Writes results/services.csv: service,x,operation,system,us. x is what the service grows in: busy
threads, servers, records or processes. The times are what the programs themselves print, medians
where they repeat.
"""

import contextlib
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

BUSY_THREADS = (0, 1, 2, 4, 8, 16)
SERVERS = (4, 8)
RECORDS = (1_000, 10_000, 100_000)
WORKERS = (1, 2)
PROCESSES = (1, 2, 4, 8)
REPEAT = int(os.environ.get("BENCH_ROUNDS", "21"))


class Bench:
    def __init__(self, programs):
        self.programs = programs
        self.rows = []

    def run(self, program, *arguments, join=None):
        environment = os.environ | ({"IW_DDSS": join} if join else {})
        return subprocess.run([self.programs / program, *map(str, arguments)], env=environment,
                              text=True, check=True, stdout=subprocess.PIPE).stdout

    @contextlib.contextmanager
    def running(self, program, *arguments, join=None):
        """A part that runs until it is told to end, and the address that it prints if
        it is the first."""
        environment = os.environ | ({"IW_DDSS": join} if join else {})
        part = subprocess.Popen([self.programs / program, *map(str, arguments)], env=environment,
                                text=True, stdout=subprocess.PIPE)
        try:
            address = None
            if not join:
                address = re.match(r"address (\w+)", part.stdout.readline())[1]
            yield part, address
        finally:
            part.terminate()
            part.said, _ = part.communicate()

    def add(self, service, x, operation, system, us):
        self.rows.append(f"{service},{x},{operation},{system},{us:.2f}")
        print(self.rows[-1], flush=True)

    def active_cache(self):
        for threads in BUSY_THREADS:
            with self.running("active-cache", "back-end", "--busy-threads",
                              threads) as (_, address):
                self.run("active-cache", "set", "news", "sunny, 21 degrees", join=address)
                said = self.run("active-cache", "check", "news", "--count", 100_000, join=address)
            median, most = re.search(r"median ([\d.]+) us, 99 of 100 within ([\d.]+) us",
                                     said).groups()
            self.add("active-cache", threads, "answer", "ddss", float(median))
            self.add("active-cache", threads, "answer_p99", "ddss", float(most))

    def two_sites(self):
        for count in SERVERS:
            with contextlib.ExitStack() as parts:
                manager, address = parts.enter_context(self.running("two-sites", "manager"))
                for i in range(count):
                    parts.enter_context(
                        self.running("two-sites", "server", "AB"[i % 2], join=address))
                for site in "ABABAB":
                    self.run("two-sites", "load", site, 2_000, join=address)
                    while " 0 requests" not in self.waiting_at(site, address):
                        pass
            median = re.search(r"moves: median ([\d.]+) us", manager.said)
            if not median:
                raise SystemExit(f"bench: no server was moved: {manager.said}")
            self.add("two-sites", count, "move", "ddss", float(median[1]))

    def waiting_at(self, site, address):
        shown = self.run("two-sites", "show", join=address)
        return re.search(rf"site {site}:.*", shown)[0]

    def select_records(self):
        for records in RECORDS:
            with contextlib.ExitStack() as parts:
                part = ("data", "--records", records // 2)
                _, address = parts.enter_context(self.running("select-records", *part))
                second, _ = parts.enter_context(
                    self.running("select-records", *part, "--part", 1, join=address))
                second.stdout.readline()  # when it is there
                for workers in WORKERS:
                    said = self.run("select-records", "select", "--where", "value<0.25", "--by",
                                    "both", "--workers", workers, "--repeat", REPEAT, join=address)
                    for way, system in (("segments", "ddss"), ("sockets", "tcp")):
                        ms = re.search(rf"by {way}: ([\d.]+) ms", said)[1]
                        self.add("select-records", records, f"select_by_{workers}", system,
                                 float(ms) * 1e3)

    def checkpointed_run(self):
        for place, system in ((None, "disk"), ("/dev/shm", "memory")):
            for processes in PROCESSES:
                with tempfile.TemporaryDirectory(prefix="interweave-bench.", dir=place) as folder:
                    self.checkpoints_in(folder, processes, system)

    def checkpoints_in(self, folder, processes, system):
        size = ("--folder", folder, "--processes", processes, "--cells", 10_000)
        said = self.run("checkpointed-run", *size)
        writes = re.findall(r"([\d.]+) ms to write, ([\d.]+) ms for the others", said)
        restarts = [
            re.search(r"restart took ([\d.]+) ms", self.run("checkpointed-run", *size))[1]
            for _ in range(5)
        ]
        checkpoint_ms = statistics.median(float(own) + float(others) for own, others in writes)
        self.add("checkpointed-run", processes, "checkpoint", system, checkpoint_ms * 1e3)
        self.add("checkpointed-run", processes, "restart", system,
                 statistics.median(map(float, restarts)) * 1e3)


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    bench = Bench(pathlib.Path(sys.argv[1]).resolve())
    bench.active_cache()
    bench.two_sites()
    bench.select_records()
    bench.checkpointed_run()
    lines = ["service,x,operation,system,us", *bench.rows]
    (pathlib.Path(sys.argv[2]) / "services.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
