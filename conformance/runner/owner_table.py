"""The first news that each client must have of its segment when the segment goes to another server
of a space, as docs/operations.md says it.

A cell is a kind of client, the state that it is in, the durability of its segment, the way in which
the segment goes from server A to server B, and the servers that the client's URL names.
"""

from runner.restart_table import STATES, STOPPING, UNDONE, UNHARMED

# The owner is alive and gives the segment away: `interweave move`; the same, and back again;
# `interweave drain`.
MOVES = ["move", "back", "drain"]
# The owner is killed, and B takes the segment over after its lease; the same, and it is started
# again; it is killed and started again within its lease; it is stopped in order; it stands still
# while B takes the segment over, and then continues.
LOSSES = ["kill", "return", "restart", "stop", "stall"]
# The servers of the URL.
OWNER, OTHER, BOTH = "owner", "other", "both"

# The durability of a segment, the way in which it goes, and the servers that its client asks. Only
# a client that knows B can ask for the segment when A is dead. A segment in memory may be lost with
# A, so it is only moved.
ROWS = [
    ("synced", "kill", BOTH),
    ("memory", "move", OWNER),
    ("synced", "drain", OTHER),
    ("synced", "stall", BOTH),
    ("synced", "move", OTHER),
    ("synced", "back", OWNER),
    ("memory", "back", BOTH),
    ("memory", "drain", BOTH),
    ("synced", "kill", OTHER),
    ("synced", "return", OWNER),
    ("synced", "restart", OWNER),
    ("synced", "stop", BOTH),
    ("synced", "stop", OTHER),
]
SHORT_ROWS = 3

# The first news of a program in this state, if its owner gives the segment away: nothing is lost,
# and no lock [SPACE-19] [SPACE-21] [SPACE-23].
MOVED = UNHARMED
# If its owner is gone. No writer lock survives it [SPACE-16] [LOCK-10].
LOST_OWNER = {
    "idle": UNHARMED,       # its next lock [SPACE-14] [SPACE-5]
    "listening": UNHARMED,  # its next version [CONN-1]
    "reading": UNHARMED,    # its next lock; the one that it has stays
    "strict": UNHARMED,     # as reading
    "writing": UNDONE,      # its release [LOCK-9]
    "releasing": UNDONE,    # its release, which did not come to the owner
    "answered": UNHARMED,   # its release, which was committed, and whose answer was lost [LOCK-8]
    "waiting": UNHARMED,    # its writer lock
}
# A server that is told to stop may take the release or not, and lets nobody wait [CONN-5].
STOPPED = {"releasing": f"{UNHARMED}|{UNDONE}", "waiting": f"{STOPPING}|{UNHARMED}"}


def expected(state, way):
    if way in MOVES:
        return MOVED
    # A server that is started again lets requests wait until its earlier start is over [SPACE-17].
    return STOPPED.get(state, LOST_OWNER[state]) if way == "stop" else LOST_OWNER[state]


def lease_seconds(way):
    """No server may miss a renewal because the machine is busy. Only where the segment is taken
    over after a lease does a long one take time."""
    return 10 if way in MOVES or way == "stop" else 2


def owners_at_end(way):
    """Which of the two servers may have the segment then. A server that is started again within its
    lease has it, unless the other one was asked first after that."""
    return {"back": "A", "restart": "AB"}.get(way, "B")


def cells(clients, is_short):
    """All cells, as (client, state, durability, way, servers of the URL)."""
    return [(client, state, *row)
            for row in ROWS[:SHORT_ROWS if is_short else None]
            for state in STATES
            for client in clients
            if state in client.get("states", STATES)]
