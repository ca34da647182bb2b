"""Diffs (spec/format/diff.md): their sections, and what they do to a copy of a segment.

`role` is "release" (a writer's diff, as the server receives it [DIFF-5]) or "update" (the server's
diff, as a client receives it).
"""

import copy

from . import mips
from .errors import Refused, require
from .types import Types
from .values import read_block, unit_types, Units
from .varint import Cursor

METADATA_ONLY = 1
SECTIONS = {1: "types", 2: "slots", 3: "freed", 4: "live", 5: "blocks", 6: "changes"}


class Segment:
    """One version of a segment: blocks are serial -> dict(type, count, name, slots)."""

    def __init__(self):
        self.version, self.types, self.slots, self.blocks = 0, Types(), [], {}

    def new_block(self, serial, kind, count, name):
        size = self.types.by_serial[kind].slot_bytes * count
        self.blocks[serial] = dict(type=kind, count=count, name=name, slots=bytes(size))


def sections_of(data):
    """The head, and the bytes of each section by its name."""
    r = Cursor(data)
    require(r.take(4) == b"IWD1", "the magic is not IWD1")
    flags = r.take(1)[0]
    require(flags & ~METADATA_ONLY == 0, "an unknown flag")
    head = dict(metadata_only=bool(flags), **{"from": r.varint(), "to": r.varint()})
    bodies, last = {}, 0
    while not r.empty():
        tag = r.take(1)[0]
        require(tag in SECTIONS, f"an unknown section {tag}")
        require(tag > last, "sections out of order")
        last = tag
        bodies[SECTIONS[tag]] = r.take(r.varint())
    require(not (flags and "changes" in bodies), "CHANGES in a diff of metadata only")
    require(not ("freed" in bodies and "live" in bodies), "FREED and LIVE together")
    return head, bodies


def apply(segment, data, role):
    """(the segment afterwards, the meaning of the diff); the segment itself is not changed."""
    head, bodies = sections_of(data)
    meaning = dict(head)
    after = copy.deepcopy(segment)
    if role == "release":
        require(head["from"] == segment.version and head["to"] == head["from"] + 1,
                "a writer's diff is from its base to base + 1")
        require("live" not in bodies, "a writer's diff carries no LIVE")
        require(not head["metadata_only"], "a writer's diff is not metadata only")
    elif not head["metadata_only"]:
        require(head["from"] in (0, segment.version), "the diff is from another version")
    base = segment
    if role == "update" and head["from"] == 0:
        base, after = Segment(), Segment()
    after.version = head["to"]
    for name in SECTIONS.values():
        if name in bodies:
            meaning[name] = APPLY[name](after, bodies[name], base)
    return after, meaning


def apply_types(after, body, _before):
    new = after.types.add(body)
    return [{"serial": one["serial"], "name": one["name"]} for one in new]


def apply_slots(after, body, _before):
    r = Cursor(body)
    first, texts = r.varint(), []
    require(first == len(after.slots) + 1, "slots do not continue the table")
    while not r.empty():
        text = r.take(r.varint()).decode()
        require(mips.is_slot(text), f"'{text}' is no path and no URL")
        texts.append(text)
    after.slots += texts
    return {"first": first, "texts": texts}


def apply_freed(after, body, _before):
    r, serial, freed = Cursor(body), 0, []
    while not r.empty():
        serial = r.serial_after(serial)
        require(serial in after.blocks, f"block {serial} is freed and does not exist")
        del after.blocks[serial]
        freed.append(serial)
    return freed


def apply_live(after, body, _before):
    r, end, ranges = Cursor(body), 0, []
    while not r.empty():
        first = end + r.varint()
        count = r.varint()
        require(count >= 1, "a range of no serials")
        end = first + count
        require(end <= 1 << 48, "a serial beyond 48 bits")
        ranges.append([first, count])
    live = {serial for first, count in ranges for serial in range(first, first + count)}
    after.blocks = {serial: one for serial, one in after.blocks.items() if serial in live}
    return ranges


def apply_blocks(after, body, before):
    r, serial, blocks = Cursor(body), 0, []
    names = {one["name"] for one in after.blocks.values()}
    while not r.empty():
        serial = r.serial_after(serial)
        kind, count = r.varint(), r.varint()
        raw = r.take(r.varint())
        require(serial not in before.blocks and serial not in after.blocks,
                f"block {serial} exists already, or its serial is used again")
        require(kind in after.types.by_serial, f"type {kind} does not exist")
        require(count >= 1, "a block of no elements")
        if raw and (not mips.is_block_name_bytes(raw) or raw.decode() in names):
            raise Refused("BAD_NAME", "the name is taken or is not a name")
        after.new_block(serial, kind, count, raw.decode())
        names.add(raw.decode())
        blocks.append(dict(serial=serial, type=kind, count=count, name=raw.decode()))
    return blocks


def apply_changes(after, body, _before):
    r, serial, changes, seen = Cursor(body), 0, [], set()
    while not r.empty():
        serial = r.serial_after(serial)
        require(serial in after.blocks, f"block {serial} is changed and does not exist")
        require(serial not in seen, f"block {serial} occurs twice")
        seen.add(serial)
        runs = Cursor(r.take(r.varint()))
        block = after.blocks[serial]
        changes.append({"serial": serial, "runs": apply_runs(after, block, runs)})
    return changes


def apply_runs(after, block, r):
    units = unit_types(after.types, after.types.by_serial[block["type"]]) * block["count"]
    starts = [0]
    for one in units:
        starts.append(starts[-1] + one.slot_bytes)
    slots, at, runs = bytearray(block["slots"]), 0, []
    while not r.empty():
        first = at + r.varint()
        count = r.varint()
        at = first + count
        require(count >= 1, "a run of no units")
        require(at <= len(units), "a run goes beyond the block's units")
        data = Units(after.types, len(after.slots), r.data[r.at:])
        values = []
        for unit in range(first, at):
            readable, form = data.unit(units[unit])
            slots[starts[unit]:starts[unit + 1]] = form
            values.append(readable)
        r.at += data.at
        runs.append({"unit": first, "values": values})
    block["slots"] = bytes(slots)
    return runs


APPLY = dict(types=apply_types, slots=apply_slots, freed=apply_freed, live=apply_live,
             blocks=apply_blocks, changes=apply_changes)


def blocks_shown(segment):
    return [dict(serial=serial, **dict(one, slots=one["slots"].hex()))
            for serial, one in sorted(segment.blocks.items())]
