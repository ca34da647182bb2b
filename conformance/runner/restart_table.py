"""What a client must be told when its server goes and comes back: the table
of docs/operations.md as data.

A cell is a kind of client, the state that it is in, the store of its server, and the way in which
the server goes.
"""

STATES = ["idle", "listening", "reading", "strict", "writing", "releasing", "answered", "waiting"]
WAYS = ["kill", "stop", "cut"]
STORES = ["memory", "unsaved", "written", "synced", "older", "gone"]

# A new version, a release or a lock after all.
UNHARMED = "ok"
# No lock is held any more, and the changes under it are undone [LOCK-9] [LOCK-10].
UNDONE = "FENCED|ROLLED_BACK"
LOST = "SEGMENT_LOST"
STOPPING = "STOPPING"

# The first news of a program in this state if the server lost nothing: in every way, or by way.
KEPT = {
    "idle": UNHARMED,       # its next lock
    "listening": UNHARMED,  # its next version
    "reading": UNHARMED,    # its next lock; the one that it has stays
    "strict": UNHARMED,     # as reading
    "writing": {"kill": UNDONE, "stop": UNDONE, "cut": UNHARMED},  # its release
    # its release, which a server that is told to stop may take or not
    "releasing": {"kill": UNDONE, "stop": f"{UNHARMED}|{UNDONE}", "cut": UNHARMED},
    "answered": UNHARMED,   # its release, which was committed, and whose answer was lost
    # its writer lock; a server that is told to stop does not let anybody wait [CONN-5]
    "waiting": {"kill": UNHARMED, "stop": f"{STOPPING}|{UNHARMED}", "cut": UNHARMED},
}
# If the server lost versions that the program had, every later lock fails with that. The first
# answer may still come from the server that ended.
FIRST = {("releasing", "stop"): UNHARMED, ("waiting", "stop"): STOPPING}


def after(store, way):
    """What the server has when it comes back: `all`, an older `part`, or `nothing`."""
    if way == "cut":
        return "all"
    if store == "unsaved":
        return "nothing" if way == "kill" else "all"
    return {"memory": "nothing", "older": "part", "gone": "nothing"}.get(store, "all")


def is_anew(store, way):
    """Whether the server begins another incarnation with what it has [LOST-3]."""
    return (store, way) in {("written", "kill"), ("unsaved", "stop")}


def expected(state, store, way):
    if after(store, way) == "all":
        kept = KEPT[state]
        return kept if isinstance(kept, str) else kept[way]
    return "|".join([LOST, *([FIRST[state, way]] if (state, way) in FIRST else [])])


def cells(clients, is_short):
    """All cells, as (client, state, store, way). Where nothing goes but the connection the store
    does not matter."""
    pairs = [(store, way) for store in STORES for way in WAYS if way != "cut" or store == "synced"]
    if is_short:
        pairs = [("synced", "kill"), ("synced", "cut"), ("memory", "kill"), ("older", "stop")]
    return [(client, state, store, way)
            for store, way in pairs
            for state in STATES
            for client in clients
            if state in client.get("states", STATES)]
