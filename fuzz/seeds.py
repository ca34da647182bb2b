#!/usr/bin/env python3
"""Writes what the fuzz targets begin with: seeds.py DIR makes DIR/<target>/ for every target, of the
vectors of spec/vectors (good and malformed) and, for the XDR compiler, of the .x files of the
repository.
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

    for folder in ("good", "malformed"):
        for file in sorted((ROOT / "spec/vectors" / folder).glob("*.json")):
            for vector in json.loads(file.read_text()):
                target, before = TARGETS.get(vector["kind"], (None, b""))
                if target is not None:
                    write(target, f"{folder}-{vector['name']}", before + content(vector))
    # stores: a history, how it ends, and one change of one of its files
    for number, step in enumerate((0x00, 0x15, 0x42, 0xA9, 0xC3)):
        history = bytes((step * (at + 1) + at) % 256 for at in range(24))
        write("stores", f"history-{number}", b"\x17" + history + bytes((number, 0, 0, number, 0, 0, 9, number)))
    for file in sorted(ROOT.glob("spec/protocol/*.x")) + sorted(ROOT.glob("idl/tests/**/*.x")):
        write("xdr_files", "-".join(file.relative_to(ROOT).parts), file.read_bytes())


if __name__ == "__main__":
    main()
