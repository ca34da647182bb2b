"""Type descriptors: limits, units, slot sizes, signatures and hashes (spec/format/type-descriptor.md)."""

import struct

from . import xdr
from .errors import Refused, require

PRIMITIVES = ["", "char", "uchar", "short", "ushort", "int", "uint", "hyper", "uhyper", "float",
              "double", "bool"]
PRIMITIVE_FORMATS = ["", "b", "B", "<h", "<H", "<i", "<I", "<q", "<Q", "<f", "<d", "<I"]
FIRST_SERIAL = 64
LIMIT = 1 << 40


def fnv1a(data):
    state = 14695981039346656037
    for byte in data:
        state = (state ^ byte) * 1099511628211 % (1 << 64)
    return state


def text(name):
    raw = name.encode()
    return struct.pack("<I", len(raw)) + raw


class Type:
    """One type of a segment with what the reference knows of it."""

    def __init__(self, serial, name, body):
        self.serial, self.name, self.body = serial, name, body
        self.kind = body["kind"]
        self.units = self.slot_bytes = self.depth = 0


class Types:
    """The types of a segment by serial; add() takes the body of a TYPES section."""

    def __init__(self):
        self.by_serial = {}
        for serial, name in enumerate(PRIMITIVES):
            if serial:
                one = Type(serial, name, {"kind": "PRIMITIVE"})
                one.units, one.slot_bytes = 1, struct.calcsize(PRIMITIVE_FORMATS[serial])
                self.by_serial[serial] = one

    def next_serial(self):
        return FIRST_SERIAL + len(self.by_serial) - len(PRIMITIVES) + 1

    def add(self, section):
        r = xdr.Reader(section)
        new = []
        while r.at < len(section):
            new.append(xdr.decode("type_descriptor", r))
        before = dict(self.by_serial)
        try:
            for one in new:
                self.check_structure(one, [other["serial"] for other in new])
            for one in new:
                self.check_hash(one)
        except Refused:
            self.by_serial = before
            raise
        return new

    def embedded(self, serial, below):
        require(serial in self.by_serial and serial < below,
                f"an embedded reference to type {serial} is not to a lower serial")
        return self.by_serial[serial]

    def check_structure(self, d, together):
        require(d["serial"] == self.next_serial(), "the serial is not the next one")
        one = Type(d["serial"], d["name"], d["body"])
        body, kind = one.body, one.kind
        require(kind != "PRIMITIVE", "a primitive has no descriptor")
        one.units = 1
        if kind == "ENUM":
            distinct([m["name"] for m in body["members"]])
            one.slot_bytes = 4
        elif kind == "STRING":
            require(1 <= body["bound"] <= 4096, "a string's bound is not 1..4096")
            one.slot_bytes = body["bound"]
        elif kind == "ARRAY":
            element, count = self.embedded(body["array"]["element"], one.serial), body["array"]["count"]
            require(count >= 1, "an array's count is 0")
            one.units, one.slot_bytes = count * element.units, count * element.slot_bytes
            one.depth = element.depth + 1
        elif kind == "RECORD":
            require(body["fields"], "a record without fields")
            distinct([f["name"] for f in body["fields"]])
            parts = [self.embedded(f["type"], one.serial) for f in body["fields"]]
            one.units = sum(p.units for p in parts)
            one.slot_bytes = sum(p.slot_bytes for p in parts)
            one.depth = 1 + max(p.depth for p in parts)
        elif kind == "UNION":
            self.check_union(one)
        else:
            target = (body["target"] if kind == "POINTER" else
                      body["sequence"]["element"] if kind == "SEQUENCE" else 1)
            void = kind == "POINTER" and target == 0
            require(void or target in self.by_serial or target in together,
                    f"the target {target} is not known")
            one.slot_bytes = 16
        require(max(one.units, one.slot_bytes) <= LIMIT, "units or slot exceed 2^40")
        require(one.depth <= 64, "embedding is deeper than 64")
        self.by_serial[one.serial] = one

    def check_union(self, one):
        choice = one.body["choice"]
        arms = choice["arms"] + ([choice["otherwise"]] if choice["otherwise"] else [])
        require(choice["arms"] or choice["otherwise"], "a union without arms")
        selector = self.embedded(choice["discriminant_type"], one.serial)
        require(selector.kind == "ENUM" or selector.name in ("int", "uint", "bool")
                and selector.kind == "PRIMITIVE", "the discriminant is not int, uint, bool or an enum")
        distinct([arm["name"] for arm in arms if arm["type"]])
        distinct([value for arm in choice["arms"] for value in arm["values"]])
        parts = [self.embedded(arm["type"], one.serial) for arm in arms if arm["type"]]
        one.slot_bytes = 4 + max((p.slot_bytes for p in parts), default=0)
        one.depth = 1 + max((p.depth for p in parts), default=0)

    def check_hash(self, d):
        one = self.by_serial[d["serial"]]
        require(f"0x{self.hash(one):016x}" == d["hash"],
                f"the hash of type {one.serial} is 0x{self.hash(one):016x}, not {d['hash']}")
        for other in self.by_serial.values():
            if one.name and other is not one and other.name == one.name:
                if self.hash(other) != self.hash(one):
                    raise Refused("TYPE_CONFLICT", f"{one.name} exists with another structure")

    def hash(self, one):
        return fnv1a(self.signature(one))

    def hash_of(self, serial):
        return struct.pack("<Q", self.hash(self.by_serial[serial]) if serial else 0)

    def target(self, serial):
        if serial == 0:
            return b"\x02"
        one = self.by_serial[serial]
        return b"\x01" + text(one.name) if one.name else b"\x00" + self.hash_of(serial)

    def arm(self, arm):
        values = arm["values"]
        return (text(arm["name"]) + self.hash_of(arm["type"]) +
                struct.pack(f"<I{len(values)}i", len(values), *values))

    def signature(self, one):
        body, kind = one.body, xdr.ENUMS["type_kind"][one.kind]
        out = bytes([kind])
        if one.kind == "PRIMITIVE":
            out += bytes([one.serial])
        elif one.kind == "ENUM":
            out += struct.pack("<I", len(body["members"]))
            out += b"".join(text(m["name"]) + struct.pack("<i", m["value"]) for m in body["members"])
        elif one.kind == "STRING":
            out += struct.pack("<I", body["bound"])
        elif one.kind == "ARRAY":
            out += self.hash_of(body["array"]["element"]) + struct.pack("<I", body["array"]["count"])
        elif one.kind == "RECORD":
            out += struct.pack("<I", len(body["fields"]))
            out += b"".join(text(f["name"]) + self.hash_of(f["type"]) for f in body["fields"])
        elif one.kind == "UNION":
            choice = body["choice"]
            out += text(choice["discriminant"]) + self.hash_of(choice["discriminant_type"])
            out += struct.pack("<I", len(choice["arms"])) + b"".join(map(self.arm, choice["arms"]))
            other = choice["otherwise"]
            out += b"\x01" + self.arm(other) if other else b"\x00"
        elif one.kind == "POINTER":
            out += self.target(body["target"])
        elif one.kind == "SEQUENCE":
            out += struct.pack("<I", body["sequence"]["bound"])
            out += self.target(body["sequence"]["element"])
        else:
            out += struct.pack("<I", body["text_bound"])
        return out


def distinct(things):
    require(len(set(things)) == len(things), "a member, field or case value occurs twice")
