"""Runs the stages of a test: side by side where they mostly wait, each with a log of its own.

A stage is a command that ends with status 0 when everything that it tests holds. It may leave
results of single cases behind (make/case_results.py); one that leaves none counts as one case.
"""

import dataclasses
import os
import signal
import subprocess
import time

import case_results

HEARTBEAT_S = 60
POLL_S = 0.2
SHOWN_LINES = 150


@dataclasses.dataclass
class Stage:
    """`after` names the stages that it needs. `behind` names those that it only has to wait for,
    because both write the same files. `cores` is how many processors it keeps busy."""
    name: str
    command: list
    after: tuple = ()
    behind: tuple = ()
    cores: float = 2
    environment: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Run:
    stage: Stage
    process: subprocess.Popen
    log: str
    began: float
    processor_s: float = 0


class Runner:
    def __init__(self, stages, folder, cores):
        self.waiting = list(stages)
        self.names = {stage.name for stage in stages}
        self.folder = folder
        self.cores = cores
        self.running = []
        self.held = set()
        self.failed = []
        self.left_out = []
        self.cases = []

    def run(self):
        """All stages; those that need a failed one are left out.
        Returns whether everything held."""
        self.folder.mkdir(parents=True, exist_ok=True)
        heard = time.monotonic()
        try:
            while self.waiting or self.running:
                self.start_what_can_start()
                if self.reap():
                    heard = time.monotonic()
                elif time.monotonic() - heard > HEARTBEAT_S:
                    heard = time.monotonic()
                    say(", ".join(f"{run.stage.name} ({heard - run.began:.0f} s)"
                                  for run in self.running), "...")
        finally:
            self.end_all()
        return not self.failed

    def start_what_can_start(self):
        for stage in list(self.waiting):
            needed = set(stage.after) & self.names
            if needed & {name for name, _ in self.failed} or needed & set(self.left_out):
                self.waiting.remove(stage)
                self.left_out.append(stage.name)
                continue
            if not needed <= self.held or set(stage.behind) & self.unfinished():
                continue
            busy = sum(run.stage.cores for run in self.running)
            if self.running and busy + stage.cores > self.cores:
                continue
            self.waiting.remove(stage)
            self.running.append(self.start(stage))

    def unfinished(self):
        return {stage.name for stage in self.waiting} | {run.stage.name for run in self.running}

    def start(self, stage):
        results = self.folder / stage.name
        results.mkdir(exist_ok=True)
        for old in results.iterdir():
            old.unlink()
        log = results / "log"
        environment = os.environ | {"RESULTS": str(results)} | stage.environment
        with open(log, "wb") as output:
            process = subprocess.Popen(stage.command, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, env=environment,
                                       start_new_session=True)
        return Run(stage, process, log, time.monotonic())

    def reap(self):
        """Takes the stages that have ended, or waits a moment; whether one had."""
        ended = [run for run in self.running if has_ended(run)]
        if not ended:
            time.sleep(POLL_S)
        for run in ended:
            self.running.remove(run)
            self.take(run)
        return bool(ended)

    def take(self, run):
        seconds = time.monotonic() - run.began
        name = run.stage.name
        cases = case_results.read(run.log.parent)
        holds = run.process.returncode == 0
        if holds and not any(case.outcome == "failed" for case in cases):
            self.held.add(name)
            skipped = [case for case in cases if case.outcome == "skipped"]
            say(f"{name}: {seconds:.0f} s, {run.processor_s:.0f} s of processors" +
                (f", {len(cases)} cases" if cases else "") +
                (f", {len(skipped)} of them skipped" if skipped else ""))
        else:
            self.failed.append((name, run.log))
            say(f"{name}: FAILED after {seconds:.0f} s; its whole log is {run.log}")
            show_failure(run.log, cases)
            if not any(case.outcome == "failed" for case in cases):
                cases.append(case_results.Case(name, name, seconds, "failed"))
        self.cases += cases or [case_results.Case(name, name, seconds, "passed")]

    def end_all(self):
        """Of an interrupted run: each stage with all of its children."""
        for run in self.running:
            try:
                os.killpg(run.process.pid, signal.SIGTERM)
            except ProcessLookupError:
                continue
        for run in self.running:
            try:
                run.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(run.process.pid, signal.SIGKILL)
                run.process.wait()
            self.failed.append((run.stage.name, run.log))


def has_ended(run):
    """Also notes the processor's time of the stage and of all children that it waited for."""
    pid, status, usage = os.wait4(run.process.pid, os.WNOHANG)
    if pid == 0:
        return False
    run.process.returncode = os.waitstatus_to_exitcode(status)
    run.processor_s = usage.ru_utime + usage.ru_stime
    return True


def show_failure(log, cases):
    """What the failed cases printed, and the log's end."""
    for case in cases:
        if case.outcome == "failed" and case.text:
            print(f"-- {case.name}:", *last_lines(case.text), sep="\n")
    print("-- the end of the log:", *last_lines(log.read_text(encoding="utf-8", errors="replace")),
          sep="\n", flush=True)


def last_lines(text):
    return text.splitlines()[-SHOWN_LINES:]


def say(*words):
    print("==", *words, flush=True)
