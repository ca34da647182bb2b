"""The restart matrix: a server goes and comes back under every kind of client in every state, and
the client is told what restart_table.py says, or goes on unharmed. Nothing hangs, and what was
acknowledged is there or was said to be lost.
"""

import shutil
import subprocess

from runner import cells
from runner import restart_table as table
from runner.cells import PLENTY, Agents, Cell, Told, Watching
from runner.cuttable_proxy import CuttableProxy, goodbye_of
from runner.processes import Broken, Server

DURABILITY = {"memory": "memory", "unsaved": "memory", "written": "written"}


class RestartCell(Cell):
    """Version 1 is what an older store has."""

    # ---- the server ----

    def begin(self):
        store = "memory" if self.store == "memory" else str(self.folder / "store")
        self.has_proxy = self.way == "cut" or self.state in ("releasing", "answered", "waiting")
        # At the proxy's port clients find no token of the server's own.
        self.server = Server(self.program, ["--insecure"] if self.has_proxy else [], store)
        if self.has_proxy:
            self.proxy = CuttableProxy(self.server.address)
        self.begin_other(self.server.address, *self.durability())
        if self.store == "older":
            self.copy_store("backup", "store", "older")
        self.write(self.o, 2)
        self.begin_subject()

    def end(self):
        self.server.kill()

    def durability(self):
        return [DURABILITY[self.store]] if self.store in DURABILITY else []

    def address(self):
        return self.proxy.address if self.has_proxy else self.server.address

    def address_of_other(self):
        return self.server.address

    def open_subject(self):
        super().open_subject(*self.durability())

    @property
    def after(self):
        return table.after(self.store, self.way)

    def has_block(self):
        return self.after != "nothing"

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

    def write_by_other(self, number):
        if self.way != "cut":
            self.o.tell(f"open s {self.server.address}/s")
        self.write(self.o, number)

    # ---- what is special in some states ----

    def away_idle(self):
        self.need("rl s 0.1 fresh", "TIMED_OUT|UNREACHABLE")

    def away_listening(self):
        self.need(f"told s disconnected {PLENTY}", "ok")

    def told_listening(self):
        if self.after == "all":
            return super().told_listening()
        self.need(f"told s connected {PLENTY}", table.LOST)
        return "the next version", self.s.ask(f"told s 3 {PLENTY}")

    def told_strict(self):
        return super().told_strict() if self.after == "all" else self.told_reading()

    def keep_release_away(self):
        self.server.suspend()

    def begin_releasing(self):
        super().begin_releasing()
        if self.way == "cut":
            self.proxy.cut()
        if self.way == "stop":
            self.server.ask_to_stop()
        if self.way != "kill":
            self.server.resume()

    def told_waiting(self):
        if self.way == "cut":
            self.o.tell("wl_release s")
        return super().told_waiting()

    # ---- afterwards ----

    def compare(self, told):
        """What was told holds, and the copy is what it then must be."""
        word = self.check(*told, table.expected(self.state, self.store, self.way))
        if self.after == "all":
            return self.see_kept(word, self.way == "cut")
        for lock in (f"rl s {PLENTY}", f"wl s {PLENTY}"):
            self.need(lock, table.LOST)


class WatchCell(Watching, RestartCell):
    def away_listening(self):
        self.says("waiting for a server")

    def told_listening(self):
        after = self.after
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

    def compare(self, told):
        self.check(*told, table.expected(self.state, self.store, self.way))


WATCH = {"name": "watch", "states": ["listening"], "cell": WatchCell}


def run(kinds, gaps, program, build, only, is_short, jobs, say=cells.say_at_once):
    """All cells with `only` in their names, so many at a time. `kinds`: the first is O's, too."""
    agents = Agents(build)
    rows = table.cells([*kinds, WATCH], is_short)
    chosen = [row[0].get("cell", RestartCell)(row, kinds[0], agents, program) for row in rows]
    return cells.run([cell for cell in chosen if only in cell.name], agents, gaps, jobs, say)
