"""Units in slot form and travelling form (spec/format/wire-format.md), and as readable JSON.

Readable: numbers and enums as numbers, bool as true and false, strings as text, a union as
{"case": discriminant, "units": [...]}, a pointer, sequence or text as null or [slot, serial, unit].
"""

import struct

from .errors import Refused, malformed, require
from .types import PRIMITIVE_FORMATS


def bad_value(why):
    return Refused("BAD_VALUE", why)


def unit_types(types, one):
    """The type of each unit of a (small) type, in order."""
    body = one.body
    if one.kind == "ARRAY":
        return unit_types(types, types.by_serial[body["array"]["element"]]) * body["array"]["count"]
    if one.kind == "RECORD":
        return [unit for field in body["fields"]
                for unit in unit_types(types, types.by_serial[field["type"]])]
    return [one]


def check_pointer(raw, slot_count):
    """[WIRE-5], [WIRE-6]: the readable form of 16 bytes."""
    slot, serial = int.from_bytes(raw[:2], "little"), int.from_bytes(raw[2:8], "little")
    unit = int.from_bytes(raw[8:], "little")
    if not any(raw):
        return None
    if slot > slot_count:
        raise Refused("BAD_POINTER", f"slot {slot} is not in the table")
    if serial == 0:
        raise Refused("BAD_POINTER", "serial 0 with other bits set")
    return [slot, serial, unit]


class Units:
    """Takes units in travelling form off the front of `data`."""

    def __init__(self, types, slot_count, data):
        self.types, self.slot_count, self.data, self.at = types, slot_count, data, 0

    def take(self, count):
        require(len(self.data) - self.at >= count, "data ends too early")
        self.at += count
        return self.data[self.at - count:self.at]

    def unit(self, one):
        """(readable, slot form) of the next unit, which is of this type."""
        if one.kind == "STRING":
            return self.string(one.body["bound"])
        if one.kind == "UNION":
            return self.union(one)
        raw = self.take(one.slot_bytes)
        if one.kind in ("POINTER", "SEQUENCE", "TEXT"):
            readable = check_pointer(raw, self.slot_count)
            if one.kind != "POINTER" and readable and (readable[0] or readable[2]):
                raise Refused("BAD_POINTER", "an owned block is in slot 0 at offset 0")
            return readable, raw
        if one.kind == "ENUM":
            value = struct.unpack("<i", raw)[0]
            if value and value not in [m["value"] for m in one.body["members"]]:
                raise bad_value(f"{value} is no member of the enum")
            return value, raw
        value = struct.unpack(PRIMITIVE_FORMATS[one.serial], raw)[0]
        if one.name == "bool":
            if value > 1:
                raise bad_value("a bool other than 0 or 1")
            value = bool(value)
        return value, raw

    def string(self, bound):
        if bound <= 16:
            raw = self.take(bound)
            used = raw.rstrip(b"\0")
        else:
            length = struct.unpack("<H", self.take(2))[0]
            if length > bound:
                raise bad_value("a string is longer than its bound")
            used = self.take(length)
            raw = used + b"\0" * (bound - length)
        if b"\0" in used:
            raise bad_value("a NUL inside a string")
        return used.decode("latin-1"), raw

    def union(self, one):
        raw = self.take(4)
        choice = one.body["choice"]
        signed = choice["discriminant_type"] != 6
        value = int.from_bytes(raw, "little", signed=signed)
        selector = self.types.by_serial[choice["discriminant_type"]]
        if selector.kind == "PRIMITIVE" and selector.name == "bool" and value not in (0, 1):
            raise bad_value("a discriminant that is no bool")
        if selector.kind == "ENUM" and value and \
                value not in [m["value"] for m in selector.body["members"]]:
            raise bad_value("a discriminant that is no member of its enum")
        pattern = int.from_bytes(raw, "little", signed=True)
        arm = next((a for a in choice["arms"] if pattern in a["values"]), choice["otherwise"])
        if arm is None and value != 0:
            raise bad_value(f"discriminant {value} selects no arm")
        units, slot = [], raw
        if arm is not None and arm["type"]:
            for inner in unit_types(self.types, self.types.by_serial[arm["type"]]):
                readable, form = self.unit(inner)
                units.append(readable)
                slot += form
        return {"case": value, "units": units}, slot + b"\0" * (one.slot_bytes - len(slot))


def travel(types, one, slot):
    """The travelling form of one unit from its slot form."""
    if one.kind == "STRING" and one.body["bound"] > 16:
        used = slot.rstrip(b"\0")
        return struct.pack("<H", len(used)) + used
    if one.kind != "UNION":
        return slot
    choice = one.body["choice"]
    value = int.from_bytes(slot[:4], "little", signed=True)
    arm = next((a for a in choice["arms"] if value in a["values"]), choice["otherwise"])
    out, at = slot[:4], 4
    if arm is not None and arm["type"]:
        for inner in unit_types(types, types.by_serial[arm["type"]]):
            out += travel(types, inner, slot[at:at + inner.slot_bytes])
            at += inner.slot_bytes
    return out


def read_block(types, slot_count, one, count, data):
    """(readable, slot form) of `count` values of a type in travelling form, all of `data`."""
    r = Units(types, slot_count, data)
    read = [r.unit(unit) for unit in unit_types(types, one) * count]
    if r.at != len(data):
        raise malformed("data goes on behind the last unit")
    return [readable for readable, _ in read], b"".join(form for _, form in read)


def travel_block(types, one, count, slots):
    out, at = b"", 0
    for unit in unit_types(types, one) * count:
        out += travel(types, unit, slots[at:at + unit.slot_bytes])
        at += unit.slot_bytes
    return out
