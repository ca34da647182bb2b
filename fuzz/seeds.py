#!/usr/bin/env python3
"""Writes what the fuzz targets begin with: seeds.py DIR makes DIR/<target>/ for every target, of
the vectors of spec/vectors (good and malformed) and, for the XDR compiler, of the .x
files of the repository.
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# kind of vector -> target, and what stands before the vector's bytes in the target's input
TARGETS = {
    "control": ("control", b""),
    "frame": ("frames", b"\x00"),
    "descriptor": ("descriptors", b""),
    "diff": ("diffs", b""),
    "mip": ("mips", b""),
    "log-record": ("log", b""),
}


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
    "upgrade":
        b"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
}


def web_socket_frame(opcode, payload):
    """A frame of a client, whose mask changes nothing."""
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
    return bytes([0x80 | opcode]) + length + bytes(4) + payload


# events of the engine: somebody connects, opens, locks and releases; the store completes
CONNECT = bytes([0, 0, 0])
OPEN = bytes([7, 0, 0, 0, 0, 0, 0])
OPEN_STORED = bytes([7, 0, 1, 0, 0, 0, 0])
LOCK = bytes([7, 0, 0, 0, 0, 0, 3])
RELEASE = bytes([6, 0, 1])
COMPLETE = bytes([2, 0, 1])
OTHER = bytes([7, 1])
ENGINE = {
    "release": b"\0" + CONNECT + OPEN + (LOCK + RELEASE) * 3,
    "stored": b"\1" + CONNECT + OPEN_STORED + COMPLETE + (LOCK + RELEASE + COMPLETE) * 2,
    "subscriber": b"\0" + CONNECT + OPEN + bytes([0, 1, 0]) + OTHER + OPEN[2:] + OTHER +
                  bytes([0, 0, 0, 0, 8]) + LOCK + RELEASE,
    "resumed": b"\1" + CONNECT + OPEN_STORED + COMPLETE + LOCK + RELEASE + bytes([0, 0]) +
               bytes([0, 0, 1]) + OPEN_STORED + COMPLETE,
    "lease": b"\0" + CONNECT + OPEN + LOCK + bytes([1, 0, 255, 255]) + RELEASE,
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
    write("websocket", "ping", web_socket_frame(9, b"ping") + web_socket_frame(8, b""))
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
    # stores: a history, how it ends, and one change of one of its files
    for number, step in enumerate((0x00, 0x15, 0x42, 0xA9, 0xC3)):
        history = bytes((step * (at + 1) + at) % 256 for at in range(24))
        changes = bytes((number, 0, 0, number, 0, 0, 9, number))
        write("stores", f"history-{number}", b"\x17" + history + changes)
    for file in sorted(ROOT.glob("spec/protocol/*.x")) + sorted(ROOT.glob("idl/tests/**/*.x")):
        write("xdr_files", "-".join(file.relative_to(ROOT).parts), file.read_bytes())


if __name__ == "__main__":
    main()
