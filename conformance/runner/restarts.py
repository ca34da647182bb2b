"""The restart matrix: a server goes and comes back under every kind of client in every state, and
the client is told what restart_table.py says, or goes on unharmed. Nothing hangs, and what was
acknowledged is there or was said to be lost.
"""

import pathlib
import queue
import shutil
import subprocess
import tempfile
import threading
import time

from runner import restart_table as table
from runner.cuttable_proxy import CuttableProxy, goodbye_of
from runner.processes import Agent, Broken, Lines, Server
from runner.workers import work_off

PLENTY = 30  # seconds until a client must have found out
TEXT = "x" * 60000  # more than goes with anything but the release that it is in
DURABILITY = {"memory": " memory", "unsaved": " memory", "written": " written"}


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
    looks at the result. Version 1 is what an older store has, version 2 what both know
    when the server goes."""

    def __init__(self, cell, other, agents, program):
        self.kind, self.state, self.store, self.way = cell
        self.other, self.agents, self.program = other, agents, program
        self.proxy = None
        self.processes = []

    @property
    def name(self):
        return " ".join([self.kind["name"], self.state, self.store, self.way])

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
                self.server.kill()
        for agent in self.processes:
            agent.tell("reset")
            self.agents.give(agent)

    # ---- the server ----

    def begin(self):
        store = "memory" if self.store == "memory" else str(self.folder / "store")
        self.has_proxy = self.way == "cut" or self.state in ("releasing", "answered", "waiting")
        # At the proxy's port clients find no token of the server's own.
        self.server = Server(self.program, ["--insecure"] if self.has_proxy else [], store)
        if self.has_proxy:
            self.proxy = CuttableProxy(self.server.address)
        self.processes = [self.agents.take(self.other)]
        self.o = self.processes[0]
        self.o.tell(f"open s {self.server.address}/s create{DURABILITY.get(self.store, '')}")
        self.write(self.o, 1, 'make s n 1 "int"', 'make s t 1 {"text":0}')
        if self.store == "older":
            self.copy_store("backup", "store", "older")
        self.write(self.o, 2)
        self.begin_subject()

    def begin_subject(self):
        self.s = self.agents.take(self.kind)
        self.processes.append(self.s)
        self.open_subject()
        self.see(2, 2)

    def open_subject(self):
        address = self.proxy.address if self.has_proxy else self.server.address
        self.s.tell(f"open s {address}/s create timeout={PLENTY}{DURABILITY.get(self.store, '')}")

    def copy_store(self, how, source, target):
        done = subprocess.run([self.program, how, self.folder / source, self.folder / target],
                              check=False, capture_output=True)
        if done.returncode != 0:
            raise Broken(f"interweave {how}: {done.stderr.decode(errors='replace')}")

    def leave(self):
        if self.way == "kill":
            self.server.kill()
        elif self.way == "stop":
            if self.state != "releasing":  # that one is asked while the release comes in
                self.server.ask_to_stop()
            self.server.stopped()
        if self.has_proxy:
            self.proxy.cut()

    def come_back(self):
        if self.store in ("older", "gone") and self.way != "cut":
            shutil.rmtree(self.folder / "store")
        if self.store == "older" and self.way != "cut":
            self.copy_store("restore", "older", "store")
        if self.way != "cut":
            self.server = self.server.started_again()
            self.o.tell("reset")
        if self.has_proxy:
            # The client that asks what became of its release first meets
            # another server, which stops.
            is_asked = self.state == "answered"
            self.proxy.mend(goodbye_of(self.program) if is_asked else b"")

    # ---- what clients do ----

    @staticmethod
    def write(agent, number, *first):
        agent.tell(f"wl s {PLENTY}")
        for command in first:
            agent.tell(command)
        agent.tell(f"put s n {number}")
        agent.tell("wl_release s")

    def write_by_other(self, number):
        if self.way != "cut":
            self.o.tell(f"open s {self.server.address}/s")
        self.write(self.o, number)

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

    def away_idle(self):
        self.need("rl s 0.1 fresh", "TIMED_OUT|UNREACHABLE")

    def told_idle(self):
        answer = self.s.ask(f"rl s {PLENTY}")
        if answer == "ok":
            self.s.tell("rl_release s")
        return "the next lock", answer

    def begin_listening(self):
        self.s.tell("listen s")

    def away_listening(self):
        self.need(f"told s disconnected {PLENTY}", "ok")

    def told_listening(self):
        if table.after(self.store, self.way) == "all":
            self.need(f"told s connected {PLENTY}", "ok")
            self.write_by_other(3)
        else:
            self.need(f"told s connected {PLENTY}", table.LOST)
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
        if table.after(self.store, self.way) == "all":
            self.write_by_other(3)  # nobody's reader lock is in its way
        return what

    def begin_writing(self):
        self.s.tell(f"wl s {PLENTY}")
        self.s.tell("put s n 3")

    def told_writing(self):
        return "the release", self.s.ask("wl_release s")

    def begin_releasing(self):
        self.begin_writing()
        self.s.tell(f'put s t "{TEXT}"')
        self.server.suspend()
        self.proxy.listen_in()
        self.s.write("wl_release s")
        self.proxy.wait_for(len(TEXT))
        if self.way == "cut":
            self.proxy.cut()
        if self.way == "stop":
            self.server.ask_to_stop()
        if self.way != "kill":
            self.server.resume()

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
        if self.way == "cut":
            self.o.tell("wl_release s")
        answer = self.s.read()
        if answer == "ok":
            self.s.tell("wl_abort s")
        return "the writer lock", answer

    # ---- afterwards ----

    def compare(self, told):
        """What was told holds, and the copy is what it then must be."""
        word = self.check(*told, table.expected(self.state, self.store, self.way))
        if table.after(self.store, self.way) != "all":
            for lock in (f"rl s {PLENTY}", f"wl s {PLENTY}"):
                self.need(lock, table.LOST)
            return
        is_newer = word == "ok" and self.state not in ("idle", "reading")
        if self.state == "waiting":
            is_newer = self.way == "cut"
        self.see(*((3, 3) if is_newer else (2, 2)))

    def go_on(self):
        """S closes, opens again and writes; O reads the same."""
        self.need("close s", "ok")
        self.open_subject()
        has_block = table.after(self.store, self.way) != "nothing"
        self.write(self.s, 100, *([] if has_block else ['make s n 1 "int"']))
        self.o.tell("reset")
        self.o.tell(f"open s {self.server.address}/s")
        dumps = []
        for agent in (self.s, self.o):
            agent.tell(f"rl s {PLENTY} fresh")
            dumps.append(agent.tell("dump s"))
            agent.tell("rl_release s")
        if dumps[0] != dumps[1] or '"units":[100]' not in dumps[0]:
            raise Told(f"what S wrote at the end, and what O reads: {dumps}")


class WatchCell(Cell):
    """`interweave watch`, which reconnects by itself and prints what it finds."""

    def begin_subject(self):
        address = self.proxy.address if self.has_proxy else self.server.address
        self.s = Lines("interweave watch",
                       ["sh", "-c", 'exec "$0" watch "$1" 2>&1', self.program, f"{address}/s"])
        self.processes.append(self.s)
        self.says("is at version 2")

    def says(self, wanted):
        line = self.s.read(PLENTY)
        if wanted not in line:
            raise Told(f"it said  {line}\n      expected  {wanted}")

    def begin_listening(self):
        pass

    def away_listening(self):
        self.says("waiting for a server")

    def told_listening(self):
        after = table.after(self.store, self.way)
        if after == "nothing" and self.store != "unsaved":
            self.says("this server has no such segment")
            status = self.s.process.wait(PLENTY)
            return "its end", "error SEGMENT_LOST" if status == 1 else f"error STATUS_{status}"
        # A segment without durability is there, and empty.
        version = {"nothing": 0, "part": 1, "all": 2}[after]
        self.says(f"connected again; iw://{self.address()}/s is at version {version}")
        if after != "all" or table.is_anew(self.store, self.way):
            self.says(f" version {version} ")
        if after != "all":
            return "the version that is back", "error SEGMENT_LOST"
        self.write_by_other(3)
        self.says(" version 3 ")
        return "the next version", "ok"

    def address(self):
        return self.proxy.address if self.has_proxy else self.server.address

    def compare(self, told):
        self.check(*told, table.expected(self.state, self.store, self.way))

    def go_on(self):
        self.s.kill()
        self.processes.remove(self.s)


WATCH = {"name": "watch", "states": ["listening"], "cell": WatchCell}


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
                    text = f"passes, but restart_gaps.json says: {gap['reason']}. Remove the gap"
                self.say(f"  FAILED {cell.name}\n    {text}")


def is_in(cell, gap):
    """A gap names the client and the state; the stores and ways where it names some."""
    return (cell.kind["name"] == gap["client"] and cell.state == gap["state"]
            and cell.store in gap.get("stores", table.STORES)
            and cell.way in gap.get("ways", table.WAYS))


def run(kinds, gaps, program, build, only, is_short, jobs, say=say_at_once):
    """All cells with `only` in their names, so many at a time. `kinds`: the first is O's, too."""
    agents = Agents(build)
    waiting = queue.SimpleQueue()
    for each in table.cells([*kinds, WATCH], is_short):
        cell = each[0].get("cell", Cell)(each, kinds[0], agents, program)
        if only in cell.name:
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
