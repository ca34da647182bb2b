"""Layouts: how the values of each type lie in memory, and how they become Python values and back.

Each type table (interweave/type_table.h) has one Layout, which is found by the table's address.
Tables live as long as the program. A layout does not belong to one value: every call gets the
segment, a place and an offset from the place.
"""

from __future__ import annotations

import enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Type

import numpy as np

from . import _core
from ._core import Place
from .casting import numbers_for, require_row
from .errors import BadPointer, BadValue
from .objects import Array, Reference, Struct, Union, snapshot
from .views import address_of_view, view

if TYPE_CHECKING:
    from .segment import Segment

Numbers = Tuple["np.dtype[Any]", Tuple[int, ...]]


class Layout:
    """The layout of one type."""

    def __init__(self, table: int, parts: Dict[str, Any]) -> None:
        self.table = table
        self.name: str = parts["name"]
        self.size: int = parts["size"]
        self.align: int = parts["align"]
        self._parts = parts

    @property
    def spelled(self) -> str:
        return self.name or "unnamed type"

    @property
    def numbers(self) -> Optional[Numbers]:
        """numpy's type and shape, if the value is a number or an array of numbers."""
        return None

    @property
    def record_dtype(self) -> Optional["np.dtype[Any]"]:
        """numpy's type of the whole value, if there is one."""
        return None if self.numbers is None else np.dtype(self.numbers)

    def require_numbers(self) -> Numbers:
        if self.numbers is None:
            raise BadValue(f"{self.spelled} is not a number or an array of numbers")
        return self.numbers

    def load(self, segment: "Segment", place: Place, offset: int) -> Any:
        raise NotImplementedError

    def store(self, segment: "Segment", place: Place, offset: int, value: Any) -> None:
        raise NotImplementedError

    def snapshot(self, segment: "Segment", place: Place, offset: int) -> Any:
        return snapshot(self.load(segment, place, offset))

    def column(self, name: str) -> Tuple["Layout", int]:
        raise KeyError(f"{self.spelled} has no fields")

    def is_like(self, other: "Layout") -> bool:
        """Whether it is the same type, though another program or table described it."""
        return _are_like(self.table, other.table, set())

    def at_offset(self, offset: int) -> "Layout":
        """The outermost type of a value that begins `offset` bytes into a value of this type."""
        if offset == 0:
            return self
        raise BadPointer(f"no value begins {offset} bytes into {self.spelled}")

    def reference(self, segment: "Segment", place: Place) -> Any:
        """The value that a program gets for a pointer to it. Numbers become a view, so that the
        program can store to them."""
        if self.numbers is None:
            return self.load(segment, place, 0)
        dtype, shape = self.numbers
        return view(segment.identity, place, 0, dtype, shape)

    def row(self, segment: "Segment", place: Place, count: int) -> Any:
        """`count` values in a row: a view of numbers, or an Array."""
        if self.numbers is None:
            return Array._of(segment, place, self, count)
        dtype, shape = self.numbers
        return view(segment.identity, place, 0, dtype, (count, *shape))

    def store_row(self, segment: "Segment", place: Place, count: int, values: Any) -> None:
        if self.numbers is not None:
            dtype, shape = self.numbers
            numbers = numbers_for(dtype, values)
            require_row(numbers, self.spelled)
            if numbers.shape != (count, *shape):
                raise ValueError(f"numbers of shape {numbers.shape} for {(count, *shape)}")
            self.row(segment, place, count)[...] = numbers
            return
        given = list(values)
        if len(given) != count:
            raise ValueError(f"{len(given)} values for {count} elements")
        for index, value in enumerate(given):
            self.store(segment, place, index * self.size, value)


class PrimitiveLayout(Layout):
    """A number. A bool is four bytes, so that arrays of it are numpy's int32."""

    DTYPES = {
        1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "i8", 8: "u8", 9: "f4", 10: "f8",
        11: "i4"
    }
    NAMES = {
        1: "char", 2: "uchar", 3: "short", 4: "ushort", 5: "int", 6: "uint", 7: "hyper",
        8: "uhyper", 9: "float", 10: "double", 11: "bool"
    }

    def __init__(self, table: int, parts: Dict[str, Any]) -> None:
        super().__init__(table, parts)
        self.primitive: int = parts["primitive"]
        self._numbers: Numbers = (np.dtype(self.DTYPES[self.primitive]), ())

    @property
    def spelled(self) -> str:
        return self.name or self.NAMES[self.primitive]

    @property
    def numbers(self) -> Optional[Numbers]:
        return self._numbers

    def load(self, segment: "Segment", place: Place, offset: int) -> Any:
        return place.load(offset, self.primitive)

    def store(self, segment: "Segment", place: Place, offset: int, value: Any) -> None:
        place.store(offset, self.primitive, value)


INT = 5


class EnumLayout(Layout):
    """An enum. Its members are an IntEnum's: the program's own if it declared one. Arrays are
    numpy's int32."""

    @cached_property
    def members(self) -> Type[enum.IntEnum]:
        declared: Optional[Type[enum.IntEnum]] = class_for(self.table)
        if declared is not None:
            return declared
        name = self.name.rpartition("::")[2] or "Unnamed"
        make: Any = enum.IntEnum
        made: Type[enum.IntEnum] = make(name, self._parts["members"])
        return made

    @property
    def numbers(self) -> Optional[Numbers]:
        return np.dtype("i4"), ()

    def load(self, segment: "Segment", place: Place, offset: int) -> Any:
        return self.member(place.load(offset, INT))

    def member(self, value: int) -> Any:
        try:
            return self.members(value)
        except ValueError:
            return value

    def number(self, value: Any) -> int:
        try:
            return int(self.members[value] if isinstance(value, str) else self.members(value))
        except (KeyError, ValueError):
            known = ", ".join(self.members.__members__)
            raise BadValue(f"{value!r} is not a member of {self.spelled}; use {known}") from None

    def store(self, segment: "Segment", place: Place, offset: int, value: Any) -> None:
        place.store(offset, INT, self.number(value))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _data(text: Any) -> bytes:
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise TypeError(f"a string was expected, not {type(text).__name__}")
    return text.encode("utf-8", "surrogateescape")


class StringLayout(Layout):
    """A string of at most so many bytes, kept in the value itself."""

    @property
    def record_dtype(self) -> Optional["np.dtype[Any]"]:
        return np.dtype(f"S{self.size}")

    def load(self, segment: "Segment", place: Place, offset: int) -> Any:
        return _text(place.load_string(offset, self.size))

    def store(self, segment: "Segment", place: Place, offset: int, value: Any) -> None:
        place.store_string(offset, self.size, _data(value))


class TextLayout(Layout):
    """A string of any length, in a block that the field owns."""

    def load(self, segment: "Segment", place: Place, offset: int) -> Any:
        return _text(place.load_text(offset))

    def store(self, segment: "Segment", place: Place, offset: int, value: Any) -> None:
        data = _data(value)
        place.assign(offset, data, len(data))


class ArrayLayout(Layout):
    """A fixed number of elements."""

    def __init__(self, table: int, parts: Dict[str, Any]) -> None:
        super().__init__(table, parts)
        self.count: int = parts["count"]

    @cached_property
    def element(self) -> Layout:
        return layout_of(self._parts["element"])

    @property
    def spelled(self) -> str:
        return self.name or f"{self.element.spelled}[{self.count}]"

    @cached_property
    def _numbers(self) -> Optional[Numbers]:
        inner = self.element.numbers
        return None if inner is None else (inner[0], (self.count, *inner[1]))

    @property
    def numbers(self) -> Optional[Numbers]:
        return self._numbers

    @property
    def record_dtype(self) -> Optional["np.dtype[Any]"]:
        inner = self.element.record_dtype
        return None if inner is None else np.dtype((inner, (self.count,)))

    def at_offset(self, offset: int) -> Layout:
        return self if offset == 0 else self.element.at_offset(offset % self.element.size)

    def load(self, segment: "Segment", place: Place, offset: int) -> Any:
        return self.element.row(segment, place.at(offset), self.count)

    def store(self, segment: "Segment", place: Place, offset: int, value: Any) -> None:
        self.element.store_row(segment, place.at(offset), self.count, value)


class Field(NamedTuple):
    name: str
    layout: Layout
    offset: int


class RecordLayout(Layout):
    """A struct."""

    @cached_property
    def fields(self) -> Dict[str, Field]:
        return {
            name: Field(name, layout_of(table), offset)
            for name, table, offset in self._parts["fields"]
        }

    @property
    def field_names(self) -> List[str]:
        return [name for name, _, _ in self._parts["fields"]]

    @cached_property
    def python_class(self) -> Type[Struct]:
        declared: Optional[Type[Struct]] = class_for(self.table)
        if declared is not None:
            return declared
        return struct_class(self.name.rpartition("::")[2] or "unnamed", self.field_names, {})

    @cached_property
    def _record_dtype(self) -> Optional["np.dtype[Any]"]:
        types = [field.layout.record_dtype for field in self.fields.values()]
        if any(one is None for one in types):
            return None
        offsets = [field.offset for field in self.fields.values()]
        return np.dtype({
            "names": list(self.fields), "formats": types, "offsets": offsets, "itemsize": self.size
        })

    @property
    def record_dtype(self) -> Optional["np.dtype[Any]"]:
        return self._record_dtype

    def _field(self, name: str) -> Field:
        try:
            return self.fields[name]
        except KeyError:
            raise KeyError(f"{self.spelled} has no field '{name}'; it has "
                           f"{', '.join(self.fields)}") from None

    def column(self, name: str) -> Tuple[Layout, int]:
        field = self._field(name)
        return field.layout, field.offset

    def at_offset(self, offset: int) -> Layout:
        if offset == 0:
            return self
        field = max((one for one in self.fields.values() if one.offset <= offset),
                    key=lambda one: one.offset)
        return field.layout.at_offset(offset - field.offset)

    def load(self, segment: "Segment", place: Place, offset: int) -> Any:
        place.check()
        return self.python_class._make(segment, place.at(offset), self)

    def reference(self, segment: "Segment", place: Place) -> Any:
        return self.python_class._make(segment, place, self)

    def load_field(self, segment: "Segment", place: Place, name: str) -> Any:
        field = self._field(name)
        return field.layout.load(segment, place, field.offset)

    def store_field(self, segment: "Segment", place: Place, name: str, value: Any) -> None:
        field = self._field(name)
        field.layout.store(segment, place, field.offset, value)

    def snapshot_field(self, segment: "Segment", place: Place, name: str) -> Any:
        field = self._field(name)
        return field.layout.snapshot(segment, place, field.offset)

    def store(self, segment: "Segment", place: Place, offset: int, value: Any) -> None:
        """Stores all fields of another struct of the type, or the fields that a dict has."""
        inner = place.at(offset)
        if isinstance(value, Struct):
            if value._layout is not self:
                raise TypeError(f"a {value._layout.spelled} was stored where a {self.spelled} is")
            value = {name: value[name] for name in self.fields}
        for name, one in dict(value).items():
            self.store_field(segment, inner, name, one)


class Arm(NamedTuple):
    name: str
    layout: Optional[Layout]
    offset: int
    values: List[int]


class UnionLayout(Layout):
    """A union. It is cleared whenever its case changes."""

    @cached_property
    def arm_names(self) -> List[str]:
        arms = [
            *self._parts["arms"], *([self._parts["otherwise"]] if self._parts["otherwise"] else [])
        ]
        return [name for name, _, _, _ in arms if name]

    @cached_property
    def discriminant(self) -> Field:
        name, table, offset = self._parts["fields"][0]
        return Field(name, layout_of(table), offset)

    @cached_property
    def arms(self) -> List[Arm]:
        return [_arm(one) for one in self._parts["arms"]]

    @cached_property
    def otherwise(self) -> Optional[Arm]:
        return _arm(self._parts["otherwise"]) if self._parts["otherwise"] else None

    def _chosen(self, case: int) -> Arm:
        bits = case - 2**32 if case >= 2**31 else case
        for arm in self.arms:
            if bits in arm.values:
                return arm
        if self.otherwise is None:
            raise BadValue(f"{case} is not a case of {self.spelled}")
        return self.otherwise

    def _number(self, place: Place) -> int:
        primitive = getattr(self.discriminant.layout, "primitive", INT)
        return int(place.load(self.discriminant.offset, primitive))

    def active(self, place: Place) -> Arm:
        return self._chosen(self._number(place))

    def load(self, segment: "Segment", place: Place, offset: int) -> Any:
        place.check()
        return Union._make(segment, place.at(offset), self)

    def reference(self, segment: "Segment", place: Place) -> Any:
        return Union._make(segment, place, self)

    def load_case(self, segment: "Segment", place: Place) -> Any:
        return self.discriminant.layout.load(segment, place, self.discriminant.offset)

    def store_case(self, place: Place, case: Any) -> None:
        layout = self.discriminant.layout
        number = layout.number(case) if isinstance(layout, EnumLayout) else int(case)
        self._chosen(number)
        if number != self._number(place):
            place.clear(0, self.size)
            place.store(self.discriminant.offset, getattr(layout, "primitive", INT), number)

    def load_arm(self, segment: "Segment", place: Place, name: str) -> Any:
        arm = self.active(place)
        if arm.name != name or arm.layout is None:
            raise BadValue(f"case {self._number(place)} of {self.spelled} chooses "
                           f"{arm.name or 'void'}, not {name}")
        return arm.layout.load(segment, place, arm.offset)

    def store_arm(self, segment: "Segment", place: Place, name: str, value: Any) -> None:
        """Stores to an arm. If the arm is not active, its first case makes it active."""
        arm = self.active(place) if self._is_set(place) else None
        if arm is None or arm.name != name:
            arm = next((one for one in self.arms if one.name == name), None)
            if arm is None:
                raise BadValue(f"set the case first: {name} is the default arm of {self.spelled}, "
                               "or not an arm")
            self._choose(place, arm.values[0])
        assert arm.layout is not None
        arm.layout.store(segment, place, arm.offset, value)

    def _choose(self, place: Place, bits: int) -> None:
        """Clears the union and sets its discriminant to a case of the table."""
        layout = self.discriminant.layout
        primitive = getattr(layout, "primitive", INT)
        is_unsigned = primitive in (2, 4, 6)
        place.clear(0, self.size)
        place.store(self.discriminant.offset, primitive, bits % 2**32 if is_unsigned else bits)

    def _is_set(self, place: Place) -> bool:
        """Whether the discriminant is a valid case. In new memory it is 0, which may not be one."""
        try:
            self.active(place)
        except BadValue:
            return False
        return True

    def store(self, segment: "Segment", place: Place, offset: int, value: Any) -> None:
        """Stores the value of another union of the type, or of a dict as snapshot() returns it."""
        inner = place.at(offset)
        given = snapshot(value) if isinstance(value, Union) else dict(value)
        if "case" in given:
            self.store_case(inner, given.pop("case"))
        for name, one in given.items():
            if name != "void":
                self.store_arm(segment, inner, name, one)


def _arm(parts: Tuple[str, int, int, List[int]]) -> Arm:
    name, table, offset, values = parts
    return Arm(name, layout_of(table) if table else None, offset, values)


class PointerLayout(Layout):
    """A pointer: None, or its target in this or another segment. A MIP may be stored in place of
    the target."""

    @cached_property
    def target(self) -> Optional[Layout]:
        return layout_of(self._parts["element"]) if self._parts["element"] else None

    @property
    def spelled(self) -> str:
        return self.name or f"{self.target.spelled if self.target else 'void'} *"

    def load(self, segment: "Segment", place: Place, offset: int) -> Any:
        address = place.load_pointer(offset)
        return segment._follow(address, self.target) if address else None

    def snapshot(self, segment: "Segment", place: Place, offset: int) -> Any:
        address = place.load_pointer(offset)
        return _core.mip_of(address) if address else None

    def store(self, segment: "Segment", place: Place, offset: int, value: Any) -> None:
        if value is not None and self.target is not None and isinstance(value, Reference):
            if value._layout is not self.target:
                raise TypeError(f"a {self.spelled} cannot point to {value._layout.spelled}")
        if isinstance(value, str):
            place.check_writable()
            place.store_pointer(offset, _core.address_of_mip(value))
        else:
            place.store_pointer(offset, 0 if value is None else address_of(value))


class SequenceLayout(Layout):
    """Any number of elements, in a block that the field owns; assigning replaces them."""

    @cached_property
    def element(self) -> Layout:
        return layout_of(self._parts["element"])

    @property
    def spelled(self) -> str:
        return self.name or f"{self.element.spelled}<>"

    def load(self, segment: "Segment", place: Place, offset: int) -> Any:
        count, address = place.load_sequence(offset)
        owned = segment._place_at(address) if count else place
        return self.element.row(segment, owned, count)

    def store(self, segment: "Segment", place: Place, offset: int, value: Any) -> None:
        if self.element.numbers is not None:
            dtype, shape = self.element.numbers
            numbers = numbers_for(dtype, value)
            require_row(numbers, self.element.spelled)
            array = np.ascontiguousarray(numbers, dtype).reshape((-1, *shape))
            place.assign(offset, array if array.size else None, len(array))
            return
        values = [self.element_value(one) for one in value]
        place.assign(offset, None, len(values))
        if values:
            _, address = place.load_sequence(offset)
            self.element.store_row(segment, segment._place_at(address), len(values), values)

    def element_value(self, value: Any) -> Any:
        """Copies a value that may lie in the elements that the store replaces."""
        is_pointer = isinstance(self.element, PointerLayout)
        if is_pointer or not isinstance(value, (Struct, Union, Array)):
            return value
        return snapshot_for_store(value)


def snapshot_for_store(value: Any) -> Any:
    """A copy whose pointers stay pointers."""
    if isinstance(value, Struct):
        fields = value._layout.fields.values()
        return {
            field.name: snapshot_for_store(
                field.layout.load(value._segment, value._place, field.offset))
                        if not isinstance(field.layout, PointerLayout) else value[field.name]
            for field in fields
        }
    if isinstance(value, Union):
        return snapshot(value)
    if isinstance(value, Array):
        if isinstance(value._layout, PointerLayout):
            return list(value)
        return [snapshot_for_store(one) for one in value]
    return value.copy() if isinstance(value, np.ndarray) else value


def address_of(value: Any) -> int:
    """The address of an object, or of a view's first element. Thrown: BadPointer if the value is
    not in a segment."""
    if isinstance(value, Reference):
        return value._place.address
    found = address_of_view(value) if isinstance(value, np.ndarray) else None
    if found is None:
        raise BadPointer(f"{value!r} is not in a segment: pointers lead to structs, unions, arrays "
                         "and views of one")
    return found


def struct_class(name: str, fields: List[str], namespace: Dict[str, Any]) -> Type[Struct]:
    """Makes a class with a property for each field. Names that Struct itself has are reached as
    items."""
    members: Dict[str, Any] = {"__slots__": (), **namespace}
    for field in fields:
        if not hasattr(Struct, field):
            members[field] = _property(field)
    return type(name, (Struct,), members)


def _property(name: str) -> property:
    return property(lambda self: self[name], lambda self, value: self.__setitem__(name, value))


_KINDS: Dict[int, Callable[[int, Dict[str, Any]], Layout]] = {
    1: PrimitiveLayout, 2: EnumLayout, 3: StringLayout, 4: ArrayLayout, 5: RecordLayout,
    6: UnionLayout, 7: PointerLayout, 8: SequenceLayout, 9: TextLayout
}
_layouts: Dict[int, Layout] = {}
_classes: Dict[int, type] = {}


def layout_of(table: int) -> Layout:
    """Returns the layout of a type table."""
    found = _layouts.get(table)
    if found is None:
        parts = _core.parts_of(table)
        found = _layouts.setdefault(table, _KINDS[parts["kind"]](table, parts))
    return found


def _are_like(one: int, other: int, seen: "set[Tuple[int, int]]") -> bool:
    """Compares two types part by part. Types may lead back to themselves."""
    if one == other or (one, other) in seen:
        return True
    if 0 in (one, other):
        return False
    seen.add((one, other))
    mine, theirs = _core.parts_of(one), _core.parts_of(other)
    if mine.keys() != theirs.keys():
        return False
    return all(_parts_are_like(mine[key], theirs[key], key, seen) for key in mine)


def _parts_are_like(mine: Any, theirs: Any, key: str, seen: "set[Tuple[int, int]]") -> bool:
    if key == "element":
        return _are_like(mine, theirs, seen)
    if key == "fields":
        return len(mine) == len(theirs) and all(
            a[0] == b[0] and a[2] == b[2] and _are_like(a[1], b[1], seen)
            for a, b in zip(mine, theirs))
    if key in ("arms", "otherwise"):
        return _arms_are_like(mine, theirs, seen)
    return bool(mine == theirs)


def _arms_are_like(mine: Any, theirs: Any, seen: "set[Tuple[int, int]]") -> bool:
    """Of named parts of a union, alone or in a list: (name, table, ...)."""
    if not mine or not theirs:
        return bool(mine) == bool(theirs)
    if isinstance(mine, list):
        return len(mine) == len(theirs) and all(
            _arms_are_like(a, b, seen) for a, b in zip(mine, theirs))
    return (mine[0] == theirs[0] and list(mine[2:]) == list(theirs[2:])
            and _are_like(mine[1], theirs[1], seen))


def class_for(table: int) -> Any:
    """Sets the class by which the program declared the type."""
    return _classes.get(table)


def set_class(table: int, declared: type) -> None:
    _classes[table] = declared
