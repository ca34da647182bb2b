"""The owner matrix: a segment goes from one server to another that shares its database, under every
kind of client in every state, and the client is told what owner_table.py says, or goes on unharmed.
Nothing hangs, and nothing that was acknowledged is lost.
"""

from runner import cells
from runner import owner_table as table
from runner.cells import PLENTY, Agents, Cell, Told, Watching
from runner.cuttable_proxy import CuttableProxy
from runner.processes import held_port
from runner.space import Cluster, Command, Member, owner_of

# In these a move waits for a client.
HOLDING = ["strict", "writing", "releasing", "waiting"]
MOVE = '"$0" move --wait 30 "$1/s" '
TO_AND_BACK = f'{MOVE}"$2" && {MOVE}"$1"'


class OwnerCell(Cell):
    """A, the `server`, has the segment first. It advertises the address of the proxy if the cell
    has one."""

    def __init__(self, cluster, *more):
        super().__init__(*more)
        self.cluster = cluster
        self.servers = []
        self.moving = None
        self.asked, = self.more
        self.is_moved = self.way in table.MOVES

    # ---- the servers ----

    def begin(self):
        store = self.cluster.new_store()
        held = held_port()
        if self.state in ("releasing", "answered", "waiting"):
            self.proxy = CuttableProxy("127.0.0.1:%d" % held.getsockname()[1])
        advertised = self.proxy.address if self.proxy is not None else None
        lease = table.lease_seconds(self.way)
        self.server = Member(self.program, store, lease, advertised, held)
        self.servers.append(self.server)
        self.b = Member(self.program, store, lease)
        self.servers.append(self.b)
        durability = ["memory"] if self.store == "memory" else []
        self.begin_other(self.server.address, *durability)
        self.write(self.o, 2)
        self.begin_subject()

    def end(self):
        if self.moving is not None:
            self.moving.kill()
        for server in self.servers:
            server.kill()

    def address(self):
        both = [self.server.advertised, self.b.address]
        chosen = {table.OWNER: both[:1], table.OTHER: both[1:], table.BOTH: both}
        return ",".join(chosen[self.asked])

    def address_of_other(self):
        """A server that S does not ask first, if it lives."""
        is_alive = self.server in self.servers
        return self.server.address if is_alive and self.asked == table.OTHER else self.b.address

    def leave(self):
        if self.is_moved:
            return self.move()
        if self.way == "stall":
            return self.stall()
        if self.way == "stop":
            if self.state == "releasing":
                self.proxy.let_go()
            self.server.ask_to_stop()
            self.server.stopped()
        else:
            self.server.kill()
        self.servers.remove(self.server)
        if self.proxy is not None:
            self.proxy.cut()

    def move(self):
        if self.state == "answered":
            # Otherwise the server waits for a client that it asks for a grant, and that it cannot
            # reach [LOCK-15].
            self.proxy.cut()
        a, b = self.server.address, self.b.address
        words = {
            "move": [self.program, "move", "--wait", str(PLENTY), f"{a}/s", b],
            "back": ["sh", "-c", TO_AND_BACK, self.program, a, b],
            "drain": [self.program, "drain", "--wait", str(PLENTY), a],
        }
        self.moving = Command(words[self.way])
        self.server.wait_until_asked_to_hand_over("/s")
        if self.state not in HOLDING:
            self.wait_until_moved()
        if self.state == "answered":
            self.proxy.mend()
        if self.state == "releasing":
            self.proxy.let_go()

    def wait_until_moved(self):
        moving, self.moving = self.moving, None
        if moving is not None:
            moving.done()

    def stall(self):
        """B has the segment before A continues."""
        self.server.suspend()
        if self.state == "releasing":
            self.proxy.let_go()
        self.open_at_b()
        if self.state == "answered":
            self.proxy.cut()
            self.proxy.mend()
        self.server.resume()

    def open_at_b(self):
        self.o.tell("reset")
        self.o.tell(f"open s {self.b.address}/s timeout={PLENTY}")

    def come_back(self):
        if self.way == "return":
            self.open_at_b()
        if self.way in ("return", "restart"):
            self.server = self.server.started_again()
            self.servers.append(self.server)
            if self.proxy is not None:
                self.proxy.mend()

    def write_by_other(self, number):
        if not self.is_moved:
            self.wait_until_served()
            self.open_at_b()
        self.write(self.o, number)

    def wait_until_served(self):
        """The command asks again where a program is to do so."""
        if self.way == "restart":
            shown = Command([self.program, "show", f"{self.b.address}/s"])
            shown.done()

    # ---- what is special in some states ----

    def told_listening(self):
        # A move does not lose the connection, and a loss may be over before it is told.
        return self.told_version()

    def keep_release_away(self):
        self.proxy.hold()

    def told_waiting(self):
        if self.is_moved:
            self.o.tell("wl_release s")
        return super().told_waiting()

    # ---- afterwards ----

    def compare(self, told):
        """What was told holds, and the copy is what it then must be."""
        word = self.check(*told, table.expected(self.state, self.way))
        self.wait_until_served()
        self.see_kept(word, self.is_moved)
        self.compare_owner()

    def compare_owner(self):
        self.wait_until_moved()
        servers = {"A": self.server, "B": self.b}
        wanted = [servers[name].advertised for name in table.owners_at_end(self.way)]
        owner = owner_of(self.program, self.b, "/s")
        if owner not in wanted:
            raise Told(f"the owner is {owner} at the end, not {' or '.join(wanted)}")


class WatchCell(Watching, OwnerCell):
    def told_listening(self):
        self.write_by_other(3)
        line = self.s.read(PLENTY)
        # It tells of each try, and of the copy that it has in another incarnation.
        while any(words in line for words in ("waiting", "connected again", " version 2 ")):
            line = self.s.read(PLENTY)
        if " version 3 " not in line:
            raise Told(f"it said  {line}")
        return "the next version", "ok"

    def compare(self, told):
        self.check(*told, table.expected(self.state, self.way))
        self.compare_owner()


WATCH = {"name": "watch", "states": ["listening"], "cell": WatchCell}


def run(kinds, gaps, programs, build, only, is_short, jobs, say=cells.say_at_once):
    """All cells with `only` in their names, so many at a time. `kinds`: the first is O's, too.
    `programs`: `interweave`, and the cluster's."""
    agents = Agents(build)
    program, cluster_program = programs
    cluster = Cluster(cluster_program)
    try:
        rows = table.cells([*kinds, WATCH], is_short)
        chosen = [row[0].get("cell", OwnerCell)(cluster, row, kinds[0], agents, program)
                  for row in rows]
        return cells.run([cell for cell in chosen if only in cell.name], agents, gaps, jobs, say)
    finally:
        cluster.end()
