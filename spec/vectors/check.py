#!/usr/bin/env python3
"""Checks every vector against an implementation of its own, written from the prose of spec/ alone.

  check.py          good vectors mean what they say and encode to their bytes; malformed are refused
  check.py NAME     shows what the reference makes of the vector of that name

The reference (reference/) shares no code with the server or the clients: it is a third opinion.
"""

import json
import pathlib
import sys

sys.dont_write_bytecode = True
from reference import diffs, fields, frames, logs, mips, types, values, varint, xdr  # noqa: E402
from reference.errors import Refused  # noqa: E402

FOLDER = pathlib.Path(__file__).parent


def hex_bytes(lines):
    """The bytes of a vector: hex with spaces; what follows a ';' in a line is for people."""
    lines = [lines] if isinstance(lines, str) else lines
    return bytes.fromhex(" ".join(line.split(";")[0] for line in lines))


def plain(value):
    """Numbers that not every JSON reader holds exactly are written as strings of digits."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > (1 << 53) - 1:
        return str(value)
    return value


class Vectors:
    def __init__(self):
        self.good, self.malformed = self.load("good"), self.load("malformed")

    def load(self, folder):
        found = {}
        for file in sorted((FOLDER / folder).glob("*.json")):
            for vector in json.loads(file.read_text()):
                if vector["name"] in found:
                    raise SystemExit(f"{file}: two vectors are named {vector['name']}")
                found[vector["name"]] = vector
        return found

    def types(self, context):
        known = types.Types()
        for name in context.get("types", []):
            known.add(hex_bytes(self.good[name]["bytes"]))
        return known

    def segment(self, context):
        segment = diffs.Segment()
        segment.version = context.get("version", 0)
        segment.types = self.types(context)
        segment.slots = list(context.get("slots", []))
        for block in context.get("blocks", []):
            segment.new_block(block["serial"], block["type"], block["count"], block["name"])
        return segment

    # Each of the following gives (meaning, bytes that the meaning encodes to or None).

    def varint(self, data, _vector):
        r = varint.Cursor(data)
        value = r.varint()
        if not r.empty():
            raise Refused("MALFORMED", "bytes follow the varint")
        return {"unsigned": value, "zigzag": varint.unzigzag(value)}, varint.put(value)

    def signature(self, data, vector):
        known = self.types(vector["context"])
        one = known.by_serial[vector["meaning"]["serial"]]
        return {"serial": one.serial, "hash": f"0x{known.hash(one):016x}"}, known.signature(one)

    def descriptor(self, data, vector):
        known = self.types(vector.get("context", {}))
        new = known.add(data)
        shown = [dict(one, units=known.by_serial[one["serial"]].units,
                      slot_bytes=known.by_serial[one["serial"]].slot_bytes) for one in new]
        return {"types": shown}, b"".join(xdr.encode("type_descriptor", one) for one in new)

    def value(self, data, vector):
        context = vector["context"]
        known = self.types(context)
        one, count = known.by_serial[context["type"]], context.get("count", 1)
        read, slots = values.read_block(known, len(context.get("slots", [])), one, count, data)
        return ({"values": read, "slots": slots.hex()},
                values.travel_block(known, one, count, slots))

    def fields(self, data, _vector):
        shown = fields.decode_list(data)
        return {"fields": shown}, fields.encode_list(shown)

    def pointer(self, data, vector):
        if len(data) != 16:
            raise Refused("MALFORMED", "a pointer has 16 bytes")
        found = values.check_pointer(data, len(vector.get("context", {}).get("slots", [])))
        slot, serial, unit = found or (0, 0, 0)
        again = slot.to_bytes(2, "little") + serial.to_bytes(6, "little") + unit.to_bytes(8, "little")
        return {"pointer": found}, again

    def diff(self, data, vector):
        after, meaning = diffs.apply(self.segment(vector.get("context", {})), data, vector["role"])
        if not meaning["metadata_only"]:
            meaning["after"] = diffs.blocks_shown(after)
        return meaning, None

    def control(self, data, _vector):
        meaning = frames.decode_control(data)
        return meaning, frames.encode_control(meaning)

    def frame(self, data, vector):
        bound = vector.get("context", {}).get("max_diff_bytes")
        return {"messages": frames.read_stream(data, bound)}, None

    def log_record(self, data, vector):
        file = vector["context"]
        meaning = logs.decode_record(data, bytes.fromhex(file["mark"]), file["owner"])
        return meaning, logs.encode_record(meaning)

    def checkpoint_head(self, data, _vector):
        meaning = xdr.decode_all("checkpoint_head", data)
        return meaning, xdr.encode("checkpoint_head", meaning)

    def mip(self, text, _vector):
        meaning = mips.parse(text)
        meaning["canonical"] = mips.canonical(meaning)
        return meaning, None

    def decode(self, vector):
        subject = vector["text"] if vector["kind"] == "mip" else hex_bytes(vector["bytes"])
        meaning, again = getattr(self, vector["kind"].replace("-", "_"))(subject, vector)
        return plain(meaning), subject, again


def check_good(vectors, vector):
    try:
        meaning, subject, again = vectors.decode(vector)
    except Refused as why:
        return f"is refused: {why}"
    if meaning != vector["meaning"]:
        return f"means {json.dumps(meaning)}\n  not {json.dumps(vector['meaning'])}"
    if again is not None and again != subject:
        return f"encodes to {again.hex()}\n         not {subject.hex()}"
    return None


def check_malformed(vectors, vector):
    try:
        meaning, _, _ = vectors.decode(vector)
    except Refused as why:
        return None if why.error == vector["error"] else f"is refused, but as {why}"
    return f"is not refused: {json.dumps(meaning)}"


def main():
    vectors = Vectors()
    if len(sys.argv) == 2:
        vector = vectors.good.get(sys.argv[1]) or vectors.malformed[sys.argv[1]]
        meaning, _, again = vectors.decode(vector)
        print(json.dumps(meaning, indent=2), again.hex(" ") if again else "")
        return
    wrong = 0
    for folder, check in (("good", check_good), ("malformed", check_malformed)):
        for name, vector in getattr(vectors, folder).items():
            if problem := check(vectors, vector):
                wrong += 1
                print(f"{folder}: {name}: {problem}")
    print(f"vectors: {len(vectors.good)} good, {len(vectors.malformed)} malformed, {wrong} wrong")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
