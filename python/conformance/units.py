"""Units as the conformance runner names and writes them (conformance/README.md)."""

from __future__ import annotations

import itertools
import math
import struct
from functools import lru_cache
from typing import Any, Iterable, Iterator, List, Union as Either

import numpy as np

from interweave import BadPointer, BadValue, _core
from interweave._core import Place
from interweave.layouts import (ArrayLayout, EnumLayout, Layout, PointerLayout, PrimitiveLayout,
                                RecordLayout, SequenceLayout, StringLayout, TextLayout, UnionLayout,
                                layout_of)
from interweave.segment import Block, Segment

CHAR, UCHAR, FLOAT, DOUBLE, BOOL = 1, 2, 9, 10, 11


class Values:
    """`count` values of one type in a row, from a place on."""

    def __init__(self, segment: Segment, place: Place, offset: int, layout: Layout,
                 count: int) -> None:
        self.segment, self.place, self.offset = segment, place, offset
        self.layout, self.count = layout, count

    @staticmethod
    def of(block: Block) -> "Values":
        return Values(block.segment, block._place, 0, block.layout, block.count)

    def unit(self, number: int) -> "Unit":
        layout, offset = self.layout, self.offset
        if not 0 <= number < self.count * units_in(layout):
            raise ValueError(f"the value has no unit {number}")
        index, number = divmod(number, units_in(layout))
        offset += index * layout.size
        while isinstance(layout, (ArrayLayout, RecordLayout)):
            if isinstance(layout, ArrayLayout):
                layout = layout.element
                index, number = divmod(number, units_in(layout))
                offset += index * layout.size
                continue
            for field in layout.fields.values():
                if number < units_in(field.layout):
                    break
                number -= units_in(field.layout)
            layout, offset = field.layout, offset + field.offset
        return Unit(self.segment, self.place, offset, layout)

    def listed(self) -> List[Any]:
        found: List[Any] = []
        for index in range(self.count):
            self._list(self.layout, self.offset + index * self.layout.size, found)
        return found

    def _list(self, layout: Layout, offset: int, found: List[Any]) -> None:
        if isinstance(layout, ArrayLayout):
            if is_bytes(layout.element):
                found.append(layout.load(self.segment, self.place, offset).tobytes().hex())
                return
            for index in range(layout.count):
                self._list(layout.element, offset + index * layout.element.size, found)
        elif isinstance(layout, RecordLayout):
            for field in layout.fields.values():
                self._list(field.layout, offset + field.offset, found)
        else:
            found.append(Unit(self.segment, self.place, offset, layout).value())


class Unit:
    def __init__(self, segment: Segment, place: Place, offset: int, layout: Layout) -> None:
        self.segment, self.place, self.offset, self.layout = segment, place, offset, layout

    def mip(self) -> str:
        self.place.check()
        return _core.mip_of(self.place.at(self.offset).address)

    def inside(self) -> Values:
        """The units inside: a sequence's elements, a text's characters, a union's active arm."""
        layout, place = self.layout, self.place
        if isinstance(layout, UnionLayout):
            arm = layout.active(place.at(self.offset))
            if arm.layout is None:
                raise ValueError("the active arm is void")
            return Values(self.segment, place, self.offset + arm.offset, arm.layout, 1)
        if isinstance(layout, SequenceLayout):
            count, address = place.load_sequence(self.offset)
            element = layout.element
        elif isinstance(layout, TextLayout):
            count, address = len(place.load_text(self.offset)), place.load_pointer(self.offset)
            element = layout_of(_core.primitives()[CHAR - 1])
        else:
            raise ValueError("the unit holds nothing")
        if count == 0:
            raise ValueError("the unit holds none")
        return Values(self.segment, self.segment._place_at(address), 0, element, count)

    # ---- as JSON ----

    def value(self) -> Any:
        layout = self.layout
        if isinstance(layout, PointerLayout):
            return self._pointer()
        if isinstance(layout, UnionLayout):
            return self._union(layout)
        if isinstance(layout, SequenceLayout):
            return self._sequence(layout)
        loaded = layout.load(self.segment, self.place, self.offset)
        if isinstance(layout, (StringLayout, TextLayout)):
            return loaded.encode("utf-8", "surrogateescape").decode("latin-1")
        if isinstance(layout, PrimitiveLayout):
            return number_json(layout.primitive, loaded)
        return int(loaded)

    def _pointer(self) -> Any:
        try:
            return self.layout.snapshot(self.segment, self.place, self.offset)
        except BadPointer:
            return "dangling"

    def _union(self, layout: UnionLayout) -> Any:
        case = int(layout.load_case(self.segment, self.place.at(self.offset)))
        try:
            arm = layout.active(self.place.at(self.offset))
        except BadValue:
            return {"case": case, "units": []}
        at = self.offset + arm.offset
        held = arm.layout and Values(self.segment, self.place, at, arm.layout, 1)
        return {"case": case, "units": held.listed() if held else []}

    def _sequence(self, layout: SequenceLayout) -> Any:
        if is_bytes(layout.element):
            return layout.load(self.segment, self.place, self.offset).tobytes().hex()
        count, _ = self.place.load_sequence(self.offset)
        return self.inside().listed() if count else []

    # ---- from JSON ----

    def put(self, value: Any) -> None:
        self.place.check_writable()
        try:
            given = from_json(self.layout, iter([value]))
            self.layout.store(self.segment, self.place, self.offset, given)
        except BadValue:
            if not self._put_bits(value):
                raise

    def _put_bits(self, value: Any) -> bool:
        """Stores bits that the type gives no meaning, and that the package therefore does not
        store."""
        if isinstance(self.layout, UnionLayout):
            self.place.clear(self.offset, self.layout.size)
            on = self.layout.discriminant
            unit = Unit(self.segment, self.place, self.offset + on.offset, on.layout)
            return unit._put_bits(value["case"])
        if not isinstance(self.layout, (EnumLayout, PrimitiveLayout)):
            return False
        self.layout.row(self.segment, self.place.at(self.offset), 1)[0] = value
        return True


def is_bytes(layout: Layout) -> bool:
    return isinstance(layout, PrimitiveLayout) and layout.primitive == UCHAR


@lru_cache(maxsize=None)
def units_in(layout: Layout) -> int:
    if isinstance(layout, ArrayLayout):
        return layout.count * units_in(layout.element)
    if isinstance(layout, RecordLayout):
        return sum(units_in(field.layout) for field in layout.fields.values())
    return 1


def number_json(primitive: int, value: Any) -> Either[int, str]:
    if primitive == FLOAT:
        return f"0x{float_bits(value):08x}"
    if primitive == DOUBLE:
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016x}"
    number = int(value) & 0xff if primitive == CHAR else int(value)
    return number if abs(number) < 2**53 else str(number)


def float_bits(value: float) -> int:
    """The bits of the float that the number came from. A conversion would quiet a signalling
    NaN."""
    if not math.isnan(value):
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    wide, = struct.unpack("<Q", struct.pack("<d", value))
    return int(wide >> 32 & 0x80000000 | 0x7f800000 | wide >> 29 & 0x7fffff)


def float_of(bits: int) -> float:
    if bits & 0x7f800000 != 0x7f800000 or not bits & 0x7fffff:
        return float(struct.unpack("<f", struct.pack("<I", bits))[0])
    wide = (bits & 0x80000000) << 32 | 0x7ff << 52 | (bits & 0x7fffff) << 29
    return float(struct.unpack("<d", struct.pack("<Q", wide))[0])


def number_from_json(primitive: int, value: Any) -> Any:
    if primitive == FLOAT:
        return float_of(int(value, 16))
    if primitive == DOUBLE:
        return struct.unpack("<d", struct.pack("<Q", int(value, 16)))[0]
    number = int(value)
    if primitive == BOOL and number not in (0, 1):
        raise BadValue(f"{number} is not a bool")
    return number - 256 if primitive == CHAR and number > 127 else number


def floats_from_json(dtype: "np.dtype[Any]", items: Iterable[str]) -> "np.ndarray[Any, Any]":
    """Makes an array, because numpy would convert a list of Python's floats and change NaNs."""
    return np.array([int(item, 16) for item in items], f"u{dtype.itemsize}").view(dtype)


def from_json(layout: Layout, items: Iterator[Any]) -> Any:
    """Returns the value that the layout stores, from as many units of the list as the value has."""
    if isinstance(layout, RecordLayout):
        return {field.name: from_json(field.layout, items) for field in layout.fields.values()}
    numbers = layout.numbers if isinstance(layout, ArrayLayout) else None
    if numbers is not None and numbers[0].kind == "f":
        dtype, shape = numbers
        return floats_from_json(dtype, itertools.islice(items, math.prod(shape))).reshape(shape)
    if isinstance(layout, ArrayLayout) and not is_bytes(layout.element):
        return [from_json(layout.element, items) for _ in range(layout.count)]
    try:
        value = next(items)
    except StopIteration:
        raise ValueError("the list of units is too short") from None
    if isinstance(layout, ArrayLayout):
        return exactly(bytes.fromhex(value), layout.count)
    if isinstance(layout, PrimitiveLayout):
        return number_from_json(layout.primitive, value)
    if isinstance(layout, (StringLayout, TextLayout)):
        data = value.encode("latin-1")
        if isinstance(layout, TextLayout):
            return data
        return exactly(data, layout.size - 1, at_most=True)
    if isinstance(layout, SequenceLayout):
        return sequence_from_json(layout, value)
    if isinstance(layout, UnionLayout):
        return union_from_json(layout, value)
    return value


def exactly(data: bytes, count: int, at_most: bool = False) -> bytes:
    if len(data) > count or not at_most and len(data) < count:
        raise ValueError(f"{len(data)} bytes, not {count}")
    return data


def sequence_from_json(layout: SequenceLayout, value: Any) -> Any:
    if is_bytes(layout.element):
        return bytes.fromhex(value)
    if layout.element.numbers is not None and layout.element.numbers[0].kind == "f":
        return floats_from_json(layout.element.numbers[0], value)
    items = iter(value)
    found = []
    left = len(value)
    while left:
        found.append(from_json(layout.element, items))
        left = items.__length_hint__()
    return found


def union_from_json(layout: UnionLayout, value: Any) -> Any:
    case = value["case"]
    arm = layout._chosen(case)
    if arm.layout is None:
        return {"case": case}
    return {"case": case, arm.name: from_json(arm.layout, iter(value["units"]))}
