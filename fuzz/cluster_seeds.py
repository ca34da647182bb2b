"""Inputs that the targets of fuzz/cluster begin with: messages of spec/cluster, which has no
vectors."""

import struct


def am_head(kind, category=2, handler=1, slot=0, replies=0, offset=0):
    return struct.pack("<4B2H2I2Q", kind, category, 0, 0, handler, slot, 0, replies, 7, offset)


def am_event(what, header=b"", block=b""):
    """An event of peer 0, with a message if `what` is 4."""
    if what != 4:
        return bytes([3 * what])
    return bytes([3 * what, len(header)]) + header + bytes([len(block)]) + block


AM_MAP = am_event(4, am_head(6), struct.pack("<4I", 0, 0, 5, 0))
AM_REQUEST = am_event(0) + bytes([1, 0])
AM = {
    "request": b"\0" + AM_MAP + am_event(4, am_head(1), b"block"),
    "reply": b"\0" + AM_MAP + AM_REQUEST + am_event(4, am_head(2)) + am_event(1) + am_event(3),
    "returned": b"\1" + AM_MAP + AM_REQUEST + am_event(4, am_head(3)) + am_event(1),
    "death": b"\0" + AM_MAP + AM_REQUEST + am_event(2),
    "get": b"\0" + AM_MAP + am_event(4, am_head(1, 4), struct.pack("<2Q", 0, 8)),
    "xfer": b"\1" + AM_MAP + am_event(4, am_head(1, 3, offset=60), b"four") + am_event(1),
    "gone": b"\0" + AM_MAP + am_event(4, am_head(9)) + am_event(4, am_head(5, replies=1))
    + am_event(4, am_head(8)),
}


def ddss_question(question, asked, payload=b""):
    header = struct.pack("<Q2I", 1, question, 0) + asked
    return bytes([len(payload) or 32, len(header)]) + header + payload


def ddss_descriptor(key=0, size=8, offset=0, model=0, keep=0):
    return struct.pack("<4Q2H3I2Q", key, size, offset, offset, 0, 0, model, keep, 0, 0, 0)


HEAP = 65536 * 64
NAME = b"name".ljust(128, b"\0")
DDSS = {
    "create": ddss_question(1, ddss_descriptor() + bytes(8)) * 3
    + ddss_question(4, struct.pack("<Q", 1)),
    "delta": ddss_question(1, ddss_descriptor(model=5, keep=2) + bytes(8))
    + ddss_question(8, ddss_descriptor(1, 8, HEAP, 5, 2) + bytes(8), b"12345678"),
    "reserve": ddss_question(2, struct.pack("<2Q", 9, 64)) + ddss_question(4, struct.pack("<Q", 9)),
    "names": ddss_question(5, NAME + struct.pack("<3Q4H", 1, 0, 0, 0, 0, 0, 0)) * 2
    + ddss_question(6, NAME + struct.pack("<Q", 77)) + bytes([250]),
}


def container_head(kind, sequence=0, part=0, link=1):
    return struct.pack("<3i4Ii", 0, link, kind, sequence, part, 0, 0, 1000)


CONTAINERS = {
    "updates": b"\4" + container_head(-4) + b"four" + b"\4" + container_head(1, 1) + b"four"
    + b"\0" + container_head(-5),
    "parts": b"\x84" + container_head(-4) + b"\4" + container_head(-4, 0, 1) + bytes(4),
    "roles": b"\3" + container_head(-23) + b"\3" + container_head(-24)
    + b"\2" + container_head(-20, link=2),
    "answer": b"\1" + struct.pack("<2iI", 1, 1, 0) + bytes(20),
}


def access_request(access, offset=0, operand=8):
    return struct.pack("<Q2I7Q", 0, access, 0, 0, 0, 1, 0, offset, operand, 5)


ACCESS = {
    "key": b"\0" + struct.pack("<6Q", 4096, 64, 1, 2, 1, 2) + b"\1\0\0\0",
    "packed": b"\0" + struct.pack("<QB", 3, 0) + b"\2ab\1c",
    "address": b"\1" + struct.pack("<2I32s3QI4s2s6x", 0x31465749, 7, b"computer", 1, 2, 3, 4,
                                   b"\x7f\0\0\1", b"\1\2"),
    "claim": b"\3" + struct.pack("<2I80s8xQ", 0x314D4157, 1, b"address", 5) + b"string",
    "access": b"\2" + b"".join(access_request(access) + b"\4four" for access in range(6)),
}


def dsm_message(kind, header=b"", payload=b""):
    """From the rank behind this one."""
    return bytes([2 * kind, len(header)]) + header + bytes([len(payload)]) + payload


def dsm_interval(writer, sequence, *pages):
    return struct.pack(f"<Q2I{len(pages)}Q", sequence, writer, len(pages), *pages)


DSM_TIME = struct.pack("<3Q", 0, 0, 0)
DSM_DIFF = struct.pack("<2Q4I", 0, 1, 5, 0, 5, 0) + b"\0\0\0\0\1\0\0\0"
DSM = {
    "home": b"\0\xc1" + dsm_message(1, struct.pack("<Q2I", 1, 1, 0))
    + dsm_message(5, struct.pack("<Q", 1), bytes(64)) + b"\xc5",
    "serve": b"\0\xc0" + dsm_message(0, struct.pack("<Q", 0))
    + dsm_message(4, struct.pack("<Q", 0)) + dsm_message(6, b"", DSM_DIFF),
    "locks": b"\0" + dsm_message(8, struct.pack("<2Q2I", 0, 0, 0, 0), DSM_TIME) + b"\xc9"
    + dsm_message(10, struct.pack("<2Q2I", 1, 0, 0, 0), dsm_interval(1, 1, 0, 2)),
    "barrier": b"\0\xd0" + dsm_message(13, bytes(24), DSM_TIME + dsm_interval(1, 1, 0)),
    "let_go": b"\1\xd0" + dsm_message(15, b"", DSM_TIME)
    + dsm_message(14, bytes(24), dsm_interval(0, 1, 3)),
    # Rank 1 is the child of rank 0 and the parent of rank 2.
    "chain": b"\4\xd0" + dsm_message(13, bytes(24), DSM_TIME + dsm_interval(2, 1, 0))
    + bytes([29, 24]) + bytes(24) + bytes([24]) + DSM_TIME
    + dsm_message(16, struct.pack("<2I2Q", 1, 0, 0, 1)),
    "given": b"\0" + dsm_message(8, struct.pack("<2Q2I", 0, 0, 0, 0), DSM_TIME)
    + dsm_message(17, struct.pack("<Q", 0), struct.pack("<Q2I", 0, 0, 0)),
    # A barrier lets locks that nobody has asked for go back to rank 0.
    "taken": b"\1" + b"".join(dsm_message(10, struct.pack("<2Q2I", lock, 0, 0, 0))
                             + bytes([204 + lock]) for lock in range(3))
    + dsm_message(18, b"", struct.pack("<Q2I", 0, 1, 0)),
    # Rank 0 is the home, and pulls. Then it is the writer.
    "pull": b"\6\xc0" + dsm_message(4, struct.pack("<Q", 0), struct.pack("<Q2I", 1, 2, 0))
    + dsm_message(6, b"", DSM_DIFF) + dsm_message(19, struct.pack("<3Q2I", 0, 0, 0, 0, 0))
    + dsm_message(19, struct.pack("<3Q2I", 0, 1, 1, 1, 0)),
    "told": b"\6\xc1" + dsm_message(1, struct.pack("<Q2I", 1, 1, 0))
    + dsm_message(5, struct.pack("<Q", 1), bytes(64)) + b"\xd0"
    + dsm_message(20, struct.pack("<Q", 1), DSM_DIFF),
}


def dsm_service(call, number=0, ticket=0, value=0, shape=0, source=0, payload=b""):
    """From the rank behind this one."""
    return bytes([call, shape, source, number, ticket, value, len(payload)]) + payload


DSM_GIVEN = dsm_service(8, number=1, value=8, shape=3, payload=bytes(8))
DSM_SERVICES = {
    "counters": b"\0" + b"".join(dsm_service(0, number, 1, 5) for number in range(8)) + b"\xc0",
    "semaphores": b"\0" + b"".join(dsm_service(1, number, 2) + dsm_service(2, number)
                                  for number in range(8)) + b"\xc8",
    "conditions": b"\0" + b"".join(dsm_service(4, number, 3) + dsm_service(6, number, value=1)
                                  for number in range(8)) + b"\xd0" + dsm_service(5, ticket=1),
    "answers": b"\1\xc0\xc1\xc2" + dsm_service(3, ticket=1, value=7) + dsm_service(3, ticket=2),
    "round": b"\0\xe8" + dsm_service(8, number=1, value=0, shape=3),
    "gifts": b"\0" + DSM_GIVEN + b"\xe9",
}
SEEDS = {
    "am": AM,
    "ddss": DDSS,
    "containers": CONTAINERS,
    "access": ACCESS,
    "dsm": DSM,
    "dsm_services": DSM_SERVICES,
}
