#!/usr/bin/env python3
"""Writes what the fuzz targets begin with: seeds.py DIR makes DIR/<target>/ for every target, of
the vectors of spec/vectors (good and malformed) and, for the XDR compiler, of the .x
files of the repository.
"""

import json
import pathlib
import struct
import sys

import cluster_seeds

ROOT = pathlib.Path(__file__).resolve().parent.parent
# kind of vector -> target, and what stands before the vector's bytes in the target's input
TARGETS = {
    "control": ("control", b""),
    # a list of header fields is the last of an ERROR: envelope, code and empty text
    "fields": ("control", bytes.fromhex("00000001 00000005 0000000000000000 00000007 00000000")),
    "frame": ("frames", b"\x00"),
    "descriptor": ("descriptors", b""),
    "diff": ("diffs", b""),
    "mip": ("mips", b""),
    "log-record": ("log", b""),
}


UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
# heads of HTTP, and what their target's name must not be let in with
HEADS = {
    "healthz": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "two": b"GET /status HTTP/1.1\r\nHost: LOCALHOST:7748\r\n\r\nGET /metrics HTTP/1.1\r\nHost: "
           b"[::1]\r\n\r\n",
    "origin": b"GET /viewer.js HTTP/1.1\r\nHost: 127.0.0.1:7748\r\nOrigin: "
              b"http://localhost:7748\r\n\r\n",
    "absolute": b"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "body": b"POST /ws HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
            b"chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "foreign": b"GET / HTTP/1.1\r\nHost: a.example\r\nHost: localhost\r\nContent-Length: "
               b"4\r\n\r\nabcd",
    "upgrade": UPGRADE,
    # each protocol would be kept
    "protocols": UPGRADE[:-2] + b"Sec-WebSocket-Protocol: " + b"a," * 1900 + b"\r\n\r\n\0",
    "announced": UPGRADE + b"\x82\x7f" + struct.pack(">Q", 320 << 10) + b"x" * 9,
    "bearer": b"GET /status?limit=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer iw_"
              + b"0a" * 6 + b"_" + b"5e" * 32 + b"\r\n\r\n",
    "cookie": b"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: a=b; iw_login_7748=" + b"0f" * 16
              + b"\r\n\r\n",
    "login": b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\ntoken=%69w_1",
    "login-in-parts": b"POST /login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked"
                      b"\r\n\r\n6\r\ntoken=\r\n3\r\niw_\r\n0\r\n\r\n\0",
    "logout": b"POST /logout HTTP/1.1\r\nHost: localhost\r\nCookie: iw_login_7748=" + b"0f" * 16
              + b"\r\n\r\nGET /login HTTP/1.1\r\nHost: localhost\r\n\r\n",
    # as much as a client may send that has not logged in [NET-8]
    "long-head": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 15000 + b"\r\n\r\n",
    "many-lines": b"GET /login.js HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 63 + b"\r\n",
    "too-many-lines": b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 64 + b"\r\n",
    "long-form": b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2048\r\n\r\ntoken="
                 + b"%66" * 680 + b"xy",
}


def web_socket_frame(opcode, payload, is_last=True):
    """A frame of a client, whose mask changes nothing."""
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
    return bytes([0x80 * is_last | opcode]) + length + bytes(4) + payload


# Events of the engine: what, which client, and the numbers that it wants
# (fuzz/server/src/engine.rs).
def connect(client, how=0):
    return bytes([0, client, how])


def ask(client, kind, which, *rest):
    return bytes([16, client, kind, which, *rest])


def lock(client, which=0):
    return ask(client, 3, which, 1, 100)


def release(client, how=8):
    return bytes([8, client, how])


def resolve(client, whose):
    return bytes([14, client, whose, 0])


MEMORY, STORED = b"\0", b"\1"
IN_MEMORY, SYNCED, WRITTEN = 0, 9, 6  # "/a" of that durability
COMPLETE, LAST, FULL = bytes([2, 0, 0, 0]), bytes([2, 0, 1, 0]), bytes([2, 0, 0, 0x80])
LEAVE, AGAIN, LATER = bytes([0, 0]), bytes([13, 0]), bytes([1, 0, 255, 255])
KILL, RESTART, LOOK = bytes([15, 0, 6, 1]), bytes([15, 0, 6, 0]), bytes([15, 0, 1, 255, 1])
SUBSCRIBE, READ, REMOVE = (7, 0, 1, 0, 255), (6, 0, 1, 0, 0), (9, 0)
WRITE = lock(0) + release(0) + COMPLETE
OPENED = ask(0, 0, SYNCED)
ONE = STORED + connect(0) + OPENED + COMPLETE
TWO = ONE + connect(1) + ask(1, 0, SYNCED)
ENGINE = {
    "release": MEMORY + connect(0) + ask(0, 0, IN_MEMORY) + (lock(0) + release(0)) * 3,
    "stored": ONE + WRITE * 3,
    "subscriber": TWO + ask(1, *SUBSCRIBE) + WRITE + ask(1, *READ) + WRITE,
    "resumed": ONE + lock(0) + release(0) + LEAVE + connect(0, 1) + OPENED + AGAIN + COMPLETE,
    "resolved": TWO + lock(0) + release(0) + resolve(1, 0) + ask(1, *REMOVE) + LAST + COMPLETE,
    "refused": ONE + lock(0) + release(0) + FULL + AGAIN + COMPLETE,
    "killed": ONE + WRITE * 2 + lock(0) + release(0) + KILL + connect(0, 1) + COMPLETE * 3
    + OPENED + resolve(0, 0) + WRITE,
    "restarted": ONE + WRITE + LOOK + COMPLETE + WRITE + RESTART + connect(0) + COMPLETE * 3
    + OPENED + WRITE,
    "written": STORED + connect(0) + ask(0, 0, WRITTEN) + COMPLETE + WRITE + KILL + connect(0)
    + COMPLETE * 3 + ask(0, 0, WRITTEN) + WRITE,
    "both": ONE + ask(0, 0, 4) + lock(0) + lock(0, 1) + release(0, 0x48) + COMPLETE * 2,
    "arriving": ONE + lock(0) + bytes([11, 0, 8]) + bytes([12, 0]) + COMPLETE,
    "lease": MEMORY + connect(0) + ask(0, 0, IN_MEMORY) + lock(0) + LATER + release(0),
    "waiting": TWO + lock(0) + lock(1) + release(0) + COMPLETE + release(1),
}


# Files that say who may do what.
RULES = {
    "lab": b"group crew alice cert:robot-1\ngroup all @crew uid:1000 anyone\n"
           b"deny bob read /lab/secret # his\nallow @crew read,write /lab/**\n"
           b"allow @all read /lab/*/public\nallow * metrics\nallow alice all /**\nend\n",
    "stars": b"deny a steer /**/a/**/b*c*d\nallow a write,create,remove /x/*-1/y-*\n"
             b"allow a all /**/*\nend",
    "wrong": b"allow a read,reed /x\nend\n",
    "half": b"allow a read /x\nen",
}
# Heads of files with one segment.
SEGMENT_HEADS = {
    "short": b'{"path":"/a","durability":"memory","quota_bytes":1024}',
    "long": b'{"path":"/lab/cell","durability":"synced","quota_bytes":0,"server":"127.0.0.1:7747",'
            b'"program":"interweave 0.1.0","written":1700000000,"later":[1,{"x":null}]}',
}
_LINE = b"%012x " + b"5f" * 32 + b" %s 1700000000 %d\n"
TOKENS = {
    "two": b"# ours\n\n" + _LINE % (1, b"alice", 0) + _LINE % (2, b"a.b-c", 1800000000) + b"end\n",
    "twice": _LINE % (1, b"alice", 5) + _LINE % (1, b"bob", 6) + b"end",
    "half": _LINE % (1, b"alice", 5),
    "wrong": _LINE % (1, b"anyone", 5) + b"end\n",
}


def content(vector):
    if "text" in vector:
        return vector["text"].encode()
    lines = vector["bytes"] if isinstance(vector["bytes"], list) else [vector["bytes"]]
    return bytes.fromhex(" ".join(line.split(";")[0] for line in lines))


def main():
    out = pathlib.Path(sys.argv[1])

    def write(target, name, data):
        folder = out / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)

    for name, head in HEADS.items():
        write("http", name, head)
    for name, events in ENGINE.items():
        write("engine", name, events)
    for kind, inputs in (("rules", RULES), ("tokens", TOKENS)):
        for name, data in inputs.items():
            write(kind, name, data)
    for kind, inputs in cluster_seeds.SEEDS.items():
        for name, data in inputs.items():
            write(kind, name, data)
    write("websocket", "ping", web_socket_frame(9, b"ping") + web_socket_frame(8, b""))
    # what is too long for a client that has not logged in
    for control in (16384, 16385):
        frame = struct.pack(">IIIIQ", control, 0, 16, 1, 0) + bytes(control - 16)
        write("frames", f"hello-{control}", b"\0" + frame)
        write("websocket", f"hello-{control}", web_socket_frame(2, frame))
    # parts of a message, which the library collects
    for name, sizes in ("16000-and-1", (16000, 1, 900)), ("8000-and-8000", (8000, 8000, 900)):
        parts = (web_socket_frame(2 if at == 0 else 0, bytes(size), False)
                 for at, size in enumerate(sizes))
        write("websocket", name, b"".join(parts))
    write("websocket", "half", b"\x82\xff" + struct.pack(">Q", 320 << 10) + bytes(19 << 10))
    for folder in ("good", "malformed"):
        for file in sorted((ROOT / "spec/vectors" / folder).glob("*.json")):
            for vector in json.loads(file.read_text()):
                target, before = TARGETS.get(vector["kind"], (None, b""))
                if target is None:
                    continue
                name = f"{folder}-{vector['name']}"
                write(target, name, before + content(vector))
                if target == "frames" and len(content(vector)) < 1 << 16:
                    write("websocket", name, web_socket_frame(2, content(vector)))
    # files of one segment: heads, and diffs from version 0
    for file in sorted((ROOT / "fuzz/corpora/diffs").iterdir()):
        diff = file.read_bytes()
        if diff[:4] == b"IWD1" and diff[5:6] == b"\0":
            for of, head in SEGMENT_HEADS.items():
                write("segment_files", f"{of}-{file.name}",
                      len(head).to_bytes(2, "big") + head + diff)
    # stores: a history, how it ends, and one change of one of its files
    for number, step in enumerate((0x00, 0x15, 0x42, 0xA9, 0xC3)):
        history = bytes((step * (at + 1) + at) % 256 for at in range(24))
        changes = bytes((number, 0, 0, number, 0, 0, 9, number))
        write("stores", f"history-{number}", b"\x17" + history + changes)
    for file in sorted(ROOT.glob("spec/[cp]*/*.x")) + sorted(ROOT.glob("idl/tests/**/*.x")):
        write("xdr_files", "-".join(file.relative_to(ROOT).parts), file.read_bytes())


if __name__ == "__main__":
    main()
