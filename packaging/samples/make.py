#!/usr/bin/env python3
"""Makes the samples of a release: a backup of a store with every kind of value, and what it says.

  packaging/samples/make.py PROGRAM FOLDER    needs the Python package; FOLDER is new

Run once for a release, from its own packages. packaging/tests/samples.sh gives the backups to every
later build.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import interweave

TYPES = """
enum colour { RED = 1, BLUE = 7 };
union shape switch (colour c) { case RED: double radius; case BLUE: int sides[3]; };
struct node { hyper key; string label<15>; string text<>; node *next; double row<>; shape form; };
struct every {
  char a; unsigned char b; short c; unsigned short d; int e; unsigned int f; hyper g;
  unsigned hyper h; float i; double j; bool k;
  colour l; int grid[2][3];
};
"""

BLOCKS = ("synced#first", "synced#3", "synced#every", "synced#table", "folder/written#numbers",
          "memory#word")


def fill(server, types):
    with interweave.open(server.url("/synced"), durability="synced") as segment:
        with segment.write():
            first = segment.new(types.node, name="first",
                                value={"key": -5, "label": "one", "text": "a longer text"})
            second = segment.new(types.node, value={"key": 2**40, "row": [1.5, -2.5]})
            second.form.radius = 2.5
            first.next = second
            second.next = first
            segment.new(types.every, name="every", value={
                "a": -1, "b": 255, "c": -300, "d": 65535, "e": -70000, "f": 4000000000,
                "g": -2**50, "h": 2**63, "i": 0.5, "j": 1e300, "k": True, "l": 7,
                "grid": [[1, 2, 3], [4, 5, 6]]})
        segment.put("table", np.arange(12.0).reshape(3, 4))
    with interweave.open(server.url("/folder/written"), durability="written") as segment:
        segment.put("numbers", np.arange(1000, dtype="i4"))
        with segment.write():
            segment.free(segment.new("f8", name="gone"))
    with interweave.open(server.url("/memory"), durability="memory") as segment:
        segment.put("word", "kept by a clean stop")


def change(server):
    """What is in the log and not in a checkpoint."""
    with interweave.open(server.url("/synced")) as segment, segment.write():
        segment["every"].e = 12345
        segment["first"].text = "another text, set after the restart"
    with interweave.open(server.url("/folder/written")) as segment, segment.write():
        segment["numbers"][::7] = -1


def value(program, address, block):
    """A line: the block, and its value as JSON, in which the server has no address."""
    said = subprocess.run([program, "get", f"{address}/{block}"], check=True, capture_output=True,
                          text=True).stdout
    return f"{block} {' '.join(said.split()).replace(address, 'SERVER')}\n"


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch, "types.x")
        source.write_text(TYPES, encoding="utf-8")
        types = interweave.load_types(source, program=program)
        store = pathlib.Path(scratch, "store")
        with interweave.serve(store, program=program) as server:
            fill(server, types)
        with interweave.serve(store, program=program) as server:
            change(server)
            subprocess.run([program, "backup", store, folder / "store"], check=True)
            said = [value(program, server.address, block) for block in BLOCKS]
    (folder / "values.txt").write_text("".join(said), encoding="utf-8")


if __name__ == "__main__":
    main()
