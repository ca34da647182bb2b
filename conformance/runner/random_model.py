"""What the segments of the random test must hold, edit by edit, and the commands that make it so.

Every edit is drawn here, done to the model, and told to the agent that writes; a dump by any agent
must then be the model. No pointer is left to a block that is freed: what such a pointer is then is
another matter (conformance/cases/pointers.json).
"""

import copy
import json
import re

from runner.random_types import PRIMITIVES, ValueMaker, zero

TARGET = re.compile(r"([^#]*)#([0-9]+)(?:#[0-9]+)?$")


class Block:
    def __init__(self, kind, count, name, serial):
        self.kind = kind
        self.count = count
        self.name = name
        self.serial = serial
        self.units = zero(kind) * count

    def items(self):
        """(first unit, type) of each item of `units`."""
        for index in range(self.count):
            for unit, item in self.kind.items:
                yield index * self.kind.units + unit, item

    def dumped(self):
        return {
            "serial": self.serial, "name": self.name, "type": self.kind.reference,
            "count": self.count, "units": self.units
        }


class Model:
    """Some segments: `urls` by their short names."""

    def __init__(self, random, kinds, urls):
        self.random = random
        self.kinds = kinds
        self.urls = urls
        self.blocks = {segment: {} for segment in urls}  # by serial
        self.values = ValueMaker(random, self.pick_target)
        self.name_count = 0
        self.kept = None

    def keep(self):
        """Remembers everything, for an abort."""
        self.kept = copy.deepcopy((self.blocks, self.name_count),
                                  {id(kind): kind for kind in self.all_kinds()})

    def restore(self):
        self.blocks, self.name_count = self.kept[0], self.kept[1]

    def all_kinds(self):
        return [block.kind for blocks in self.blocks.values() for block in blocks.values()]

    def dumped(self, segment):
        return dumped(self.blocks[segment])

    def dumped_before(self, segment):
        """As it was when the section began: what others see meanwhile."""
        return dumped(self.kept[0][segment])

    # ---- Drawing ----

    def any_block(self):
        segment = self.random.choice(list(self.urls))
        blocks = self.blocks[segment]
        return (segment, self.random.choice(list(blocks.values()))) if blocks else (segment, None)

    def mip(self, segment, serial, unit):
        return f"{self.urls[segment]}#{serial}" + (f"#{unit}" if unit else "")

    def pick_target(self, wanted):
        """The MIP of a unit where a value of the named type begins; None if a
        few draws find none."""
        for _ in range(4):
            segment, block = self.any_block()
            if block is None:
                continue
            first = self.random.randrange(block.count) * block.kind.units
            fits = [
                unit for unit, kind in block.kind.places() if wanted is None or kind.name == wanted
            ]
            if fits:
                return self.mip(segment, block.serial, first + self.random.choice(fits))
        return None

    def draw_block(self):
        """(segment, name or "", count, type) of a block to be made."""
        kind = self.random.choice([*self.kinds, *self.kinds, *PRIMITIVES.values()])
        self.name_count += 1
        name = f"b{self.name_count}" if self.random.random() < 0.5 else ""
        is_large = self.random.random() < 0.1
        count = self.random.randint(20, 150) if is_large else self.random.randint(1, 4)
        return self.random.choice(list(self.urls)), name, count, kind

    def add(self, segment, name, count, kind, serial):
        self.blocks[segment][serial] = Block(kind, count, name, serial)

    # ---- Edits: each gives the commands that do it ----

    def free_one(self):
        segment, block = self.any_block()
        if block is None:
            return []
        del self.blocks[segment][block.serial]
        commands = self.cut_pointers(self.urls[segment], block.serial)
        return [*commands, f"free {segment} {block.serial}"]

    def cut_pointers(self, url, serial):
        """All pointers to a block become NULL."""
        commands = []
        for segment, blocks in self.blocks.items():
            for block in blocks.values():
                for index, (unit, item) in enumerate(block.items()):
                    cut = without(block.units[index], item, url, str(serial))
                    if cut != block.units[index]:
                        block.units[index] = cut
                        commands.append(put(segment, f"{block.serial}#{unit}", cut))
        return commands

    def edit_one(self):
        segment, block = self.any_block()
        if block is None:
            return []
        items = list(block.items())
        index = self.random.randrange(len(items))
        unit, item = items[index]
        place = f"{block.name or block.serial}#{unit}"
        value, path, told = self.changed(item, block.units[index], place)
        block.units[index] = value
        return [put(segment, path, told)]

    def rewrite_largest(self, most_items):
        """Every unit of the largest block that has at most so many items: releases of
        such are sent whole."""
        fits = [(len(block.units), segment, serial) for segment, blocks in self.blocks.items()
                for serial, block in blocks.items() if len(block.units) <= most_items]
        if not fits:
            return []
        _, segment, serial = max(fits)
        block = self.blocks[segment][serial]
        commands = []
        for index, (unit, item) in enumerate(block.items()):
            if not item.is_bytes():
                block.units[index] = self.values.unit(item)
                commands.append(put(segment, f"{serial}#{unit}", block.units[index]))
        return commands

    def changed(self, kind, old, place):
        """(the new value, where the change is put, what is put): the whole unit, or a part
        of what it holds."""
        random = self.random
        if kind.is_bytes():
            at = random.randrange(kind.count)
            byte = random.randrange(256)
            block, unit = place.rsplit("#", 1) if "/" not in place else place.rsplit("/", 1)
            mark = place[len(block)]
            return replaced_byte(old, at, byte), f"{block}{mark}{int(unit) + at}", byte
        if random.random() < 0.5:
            inside = self.changed_inside(kind, old, place)
            if inside:
                return inside
        value = self.values.unit(kind)
        return value, place, value

    def changed_inside(self, kind, old, place):
        if kind.kind == "text" and old:
            at = self.random.randrange(len(old))
            byte = self.random.randint(1, 255)
            return old[:at] + chr(byte) + old[at + 1:], f"{place}/{at}", byte
        if kind.kind == "sequence" and old:
            element = kind.parts[0]
            if element.name == "uchar":
                at = self.random.randrange(len(old) // 2)
                byte = self.random.randrange(256)
                return replaced_byte(old, at, byte), f"{place}/{at}", byte
            return self.changed_among(old, [element] * (len(old) // len(element.items)), place)
        if kind.kind == "union" and old["units"]:
            among = self.changed_among(old["units"], [dict(kind.cases)[old["case"]]], place)
            return {"case": old["case"], "units": among[0]}, among[1], among[2]
        return None

    def changed_among(self, units, kinds, place):
        """One of the units of some values in a row."""
        which = self.random.randrange(len(units))
        per_value = kinds[0].items
        unit, item = per_value[which % len(per_value)]
        unit += which // len(per_value) * kinds[0].units
        value, path, told = self.changed(item, units[which], f"{place}/{unit}")
        return [*units[:which], value, *units[which + 1:]], path, told


def dumped(blocks):
    return [blocks[serial].dumped() for serial in sorted(blocks)]


def put(segment, place, value):
    return f"put {segment} {place} {json.dumps(value)}"


def replaced_byte(text, at, byte):
    return f"{text[:2 * at]}{byte:02x}{text[2 * at + 2:]}"


def without(value, kind, url, serial):
    """The same unit, with NULL for every pointer to the block."""
    if kind.kind == "pointer" and value:
        target = TARGET.match(value)
        return None if (target.group(1), target.group(2)) == (url, serial) else value
    if kind.kind == "union":
        arm = dict(kind.cases)[value["case"]]
        if arm is None:
            return value
        return {"case": value["case"], "units": without_all(value["units"], arm.items, url, serial)}
    if kind.kind == "sequence" and isinstance(value, list):
        items = kind.parts[0].items
        return without_all(value, items * (len(value) // len(items)), url, serial)
    return value


def without_all(units, items, url, serial):
    return [without(unit, kind, url, serial) for unit, (_, kind) in zip(units, items)]
