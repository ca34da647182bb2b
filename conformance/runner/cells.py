"""Cells of a matrix: a kind of client in a state, while its server goes in some way. What all
matrices of such cells share is here: the clients, what they do in each state, and the report.
"""

import json
import pathlib
import queue
import tempfile
import threading
import time

from runner.processes import Agent, Broken, Lines
from runner.workers import work_off

PLENTY = 30  # seconds until a client must have found out
TEXT = "x" * 60000  # more than goes with anything but the release that it is in


class Told(Exception):
    """A client was told something else than it must be."""


class Agents:
    """Processes that lived through their cell are used for the next."""

    def __init__(self, build):
        self.build = build
        self.idle = {}
        self.mutex = threading.Lock()

    def take(self, kind):
        with self.mutex:
            waiting = self.idle.setdefault(kind["name"], [])
            if waiting:
                return waiting.pop()
        return Agent(kind, self.build)

    def give(self, agent):
        with self.mutex:
            self.idle[agent.kind["name"]].append(agent)

    def end(self):
        for agent in [agent for agents in self.idle.values() for agent in agents]:
            agent.kill()


class Cell:
    """S is the client that is tried, in its state. O is another client, which makes versions and
    looks at the result. Both know version 2 when the server goes.

    Each matrix has a class of its own, which says `begin`, `leave`, `come_back`, `compare`, `end`,
    `address` and `keep_release_away`. The server that S loses is `server`. S reaches it through
    `proxy` if the cell has one."""

    def __init__(self, row, other, agents, program):
        self.kind, self.state, self.store, self.way, *self.more = row
        self.other, self.agents, self.program = other, agents, program
        self.proxy = None
        self.processes = []

    @property
    def name(self):
        return " ".join([self.kind["name"], self.state, self.store, self.way, *self.more])

    def go(self):
        with tempfile.TemporaryDirectory() as folder:
            self.folder = pathlib.Path(folder)
            try:
                self.begin()
                getattr(self, f"begin_{self.state}")()
                self.leave()
                getattr(self, f"away_{self.state}", lambda: None)()
                self.come_back()
                self.compare(getattr(self, f"told_{self.state}")())
                self.go_on()
            except BaseException:
                for process in self.processes:
                    process.kill()
                raise
            finally:
                if self.proxy is not None:
                    self.proxy.cut()
                self.end()
        for agent in self.processes:
            agent.tell("reset")
            self.agents.give(agent)

    # ---- what clients do ----

    def begin_other(self, address, *options):
        """O makes the segment."""
        self.o = self.agents.take(self.other)
        self.processes.append(self.o)
        self.o.tell(" ".join([f"open s {address}/s create", *options]))
        self.write(self.o, 1, 'make s n 1 "int"', 'make s t 1 {"text":0}')

    def begin_subject(self):
        self.s = self.agents.take(self.kind)
        self.processes.append(self.s)
        self.open_subject()
        self.see(2, 2)

    def open_subject(self, *options):
        self.s.tell(" ".join([f"open s {self.address()}/s create timeout={PLENTY}", *options]))

    @staticmethod
    def write(agent, number, *first):
        agent.tell(f"wl s {PLENTY}")
        for command in first:
            agent.tell(command)
        agent.tell(f"put s n {number}")
        agent.tell("wl_release s")

    def need(self, command, wanted):
        """`wanted`: words that the answer may begin with, `ok` or names of errors."""
        return self.check(command, self.s.ask(command), wanted)

    def check(self, command, answer, wanted):
        word = answer.split(" ")[1] if answer.startswith("error ") else "ok"
        if word not in wanted.split("|"):
            raise Told(f"{command}\n      answered  {answer[:1000]}\n      expected  {wanted}")
        return word

    def see(self, version, number):
        self.s.tell(f"rl s {PLENTY} fresh")
        for command, wanted in [("version s", version), ("get s n", number)]:
            answer = self.s.tell(command)
            if answer != str(wanted):
                raise Told(f"{command}: {answer}, not {wanted}")
        self.s.tell("rl_release s")

    # ---- states: what S does before, while the server is away (if S says anything), and after ---

    def begin_idle(self):
        pass

    def told_idle(self):
        answer = self.s.ask(f"rl s {PLENTY}")
        if answer == "ok":
            self.s.tell("rl_release s")
        return "the next lock", answer

    def begin_listening(self):
        self.s.tell("listen s")

    def told_listening(self):
        self.need(f"told s connected {PLENTY}", "ok")
        return self.told_version()

    def told_version(self):
        self.write_by_other(3)
        return "the next version", self.s.ask(f"told s 3 {PLENTY}")

    def begin_reading(self):
        self.s.tell(f"rl s {PLENTY}")

    def away_reading(self):
        self.need("get s n", "ok")

    def told_reading(self):
        if self.s.tell("get s n") != "2":
            raise Told("a reader lock does not keep its version")
        self.s.tell("rl_release s")
        return "the next lock", self.told_idle()[1]

    def begin_strict(self):
        self.s.tell("coherence s strict")
        self.s.tell(f"rl s {PLENTY}")

    def told_strict(self):
        what = self.told_reading()
        self.write_by_other(3)  # nobody's reader lock is in its way
        return what

    def begin_writing(self):
        self.s.tell(f"wl s {PLENTY}")
        self.s.tell("put s n 3")

    def told_writing(self):
        return "the release", self.s.ask("wl_release s")

    def begin_releasing(self):
        """The server has not seen the release, until the class of the matrix lets it."""
        self.begin_writing()
        self.s.tell(f'put s t "{TEXT}"')
        self.keep_release_away()
        self.proxy.listen_in()
        self.s.write("wl_release s")
        self.proxy.wait_for(len(TEXT))

    def told_releasing(self):
        return "the release", self.s.read()

    def begin_answered(self):
        self.begin_writing()
        self.o.tell("listen s")
        self.proxy.keep_answers()
        self.s.write("wl_release s")
        self.o.tell(f"told s 3 {PLENTY}")

    def told_answered(self):
        return "the release", self.s.read()

    def begin_waiting(self):
        self.o.tell(f"wl s {PLENTY}")
        self.o.tell("put s n 3")
        self.proxy.listen_in()
        self.s.write(f"wl s {PLENTY}")
        self.proxy.wait_for(1)

    def told_waiting(self):
        answer = self.s.read()
        if answer == "ok":
            self.s.tell("wl_abort s")
        return "the writer lock", answer

    # ---- afterwards ----

    def see_kept(self, word, is_newer_granted):
        """The copy that S must have if the servers lost nothing, after what S was told.
        `is_newer_granted`: whether the writer for whom S waited could release."""
        is_newer = {"listening": True, "strict": True, "idle": False, "reading": False,
                    "waiting": is_newer_granted}.get(self.state, word == "ok")
        self.see(*((3, 3) if is_newer else (2, 2)))

    def go_on(self):
        """S closes, opens again and writes; O reads the same."""
        self.need("close s", "ok")
        self.open_subject()
        self.write(self.s, 100, *([] if self.has_block() else ['make s n 1 "int"']))
        self.o.tell("reset")
        self.o.tell(f"open s {self.address_of_other()}/s")
        dumps = []
        for agent in (self.s, self.o):
            agent.tell(f"rl s {PLENTY} fresh")
            dumps.append(agent.tell("dump s"))
            agent.tell("rl_release s")
        if dumps[0] != dumps[1] or '"units":[100]' not in dumps[0]:
            raise Told(f"what S wrote at the end, and what O reads: {dumps}")

    def has_block(self):
        """Whether the segment has its block at the end."""
        return True


class Watching:
    """Goes before the class of a cell: S is `interweave watch`, which reconnects by itself and
    prints what it finds."""

    def begin_subject(self):
        command = ["sh", "-c", 'exec "$0" watch "$1" 2>&1', self.program, f"{self.address()}/s"]
        self.s = Lines("interweave watch", command)
        self.processes.append(self.s)
        self.says("is at version 2")

    def says(self, wanted):
        line = self.s.read(PLENTY)
        if wanted not in line:
            raise Told(f"it said  {line}\n      expected  {wanted}")

    def begin_listening(self):
        pass

    def go_on(self):
        self.s.kill()
        self.processes.remove(self.s)


def say_at_once(text):
    print(text, flush=True)


class Report:
    def __init__(self, gaps, say):
        self.gaps = gaps
        self.say = say
        self.passed, self.known, self.failed = 0, 0, 0
        self.slowest = (0.0, "")
        self.mutex = threading.Lock()

    def add(self, cell, failure, seconds):
        gap = next((gap for gap in self.gaps if is_in(cell, gap)), None)
        with self.mutex:
            self.slowest = max(self.slowest, (seconds, cell.name))
            if failure is None and gap is None:
                self.passed += 1
            elif failure is not None and gap is not None:
                self.known += 1
                self.say(f"  known gap: {cell.name}: {gap['reason']}")
            else:
                self.failed += 1
                text = failure
                if text is None:
                    text = f"passes, but is a known gap: {gap['reason']}. Remove the gap"
                self.say(f"  FAILED {cell.name}\n    {text}")


def is_in(cell, gap):
    """A gap names the client and the state; the stores and ways where it names some."""
    return (cell.kind["name"] == gap["client"] and cell.state == gap["state"]
            and cell.store in gap.get("stores", [cell.store])
            and cell.way in gap.get("ways", [cell.way]))


def gaps_of(file, states):
    gaps = json.loads(file.read_text(encoding="utf-8"))
    for gap in gaps:
        if gap["state"] not in states or not gap["reason"]:
            raise ValueError(f"{file.name}: {gap} names no state, or no reason")
    return gaps


def run(chosen, agents, gaps, jobs, say=say_at_once):
    """All these cells, so many at a time; ends the agents."""
    waiting = queue.SimpleQueue()
    for cell in chosen:
        waiting.put(cell)
    report = Report(gaps, say)
    try:
        work_off(waiting, jobs, lambda cell: run_cell(cell, report))
    finally:
        agents.end()
    return report


def run_cell(cell, report):
    began = time.monotonic()
    failure = None
    try:
        cell.go()
    except (Told, Broken) as failed:
        failure = str(failed)
    report.add(cell, failure, time.monotonic() - began)
