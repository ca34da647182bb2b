"""Values of a segment as Python objects: structs, unions, and arrays of values that are not
numbers.

An object is a place in a block, not a copy. Each access reads the cached copy under a lock, and
checks that the block still exists. A program may therefore keep an object from one lock to the
next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple, Union as Either

import numpy as np

from ._core import Place
from .casting import numbers_for
from .errors import BadValue
from .views import view

if TYPE_CHECKING:
    from .layouts import Layout, RecordLayout, UnionLayout
    from .segment import Segment


class Reference:
    """The base of structs, unions and arrays: a segment, a place in it, and the layout of the
    value."""

    __slots__ = ("_segment", "_place", "_layout", "__weakref__")
    _segment: "Segment"
    _place: Place
    _layout: "Layout"

    @classmethod
    def _make(cls, segment: "Segment", place: Place, layout: "Layout") -> Any:
        made = cls.__new__(cls)
        object.__setattr__(made, "_segment", segment)
        object.__setattr__(made, "_place", place)
        object.__setattr__(made, "_layout", layout)
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reference):
            return NotImplemented
        return (self._place.address == other._place.address
                and self._place.serial == other._place.serial and self._layout is other._layout
                and self._segment == other._segment)

    def __hash__(self) -> int:
        return hash((self._place.address, self._place.serial))

    def __reduce__(self) -> Any:
        raise TypeError(f"{self._layout.spelled} lives in a segment: to copy or pickle it, use "
                        "interweave.snapshot(x)")

    def _described(self, values: str) -> str:
        return f"<{self._layout.spelled} {values}>" if values else f"<{self._layout.spelled}>"

    def _where(self) -> str:
        return f"<{self._layout.spelled} in block {self._place.serial}; take a lock to look>"


class Struct(Reference):
    """A struct. Its fields are attributes, and also items, because a name may be taken or not be an
    identifier."""

    __slots__ = ()
    _layout: "RecordLayout"

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("structs live in segments: segment.new(TheType, name=...) makes one")

    def __getitem__(self, name: str) -> Any:
        return self._layout.load_field(self._segment, self._place, name)

    def __setitem__(self, name: str, value: Any) -> None:
        self._layout.store_field(self._segment, self._place, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(type(self), name):
            raise AttributeError(f"{self._layout.spelled} has no field '{name}'")
        object.__setattr__(self, name, value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._layout.field_names)

    def __repr__(self) -> str:
        if not self._segment.is_locked:
            return self._where()
        return self._described(" ".join(f"{name}={_short(self[name])}" for name in self))


class Union(Reference):
    """A union. `case` is the discriminant, `arm` the name of the arm that it chooses, `value` the
    arm's value."""

    __slots__ = ()
    _layout: "UnionLayout"

    @property
    def case(self) -> Any:
        return self._layout.load_case(self._segment, self._place)

    @case.setter
    def case(self, case: Any) -> None:
        self._layout.store_case(self._place, case)

    @property
    def arm(self) -> Optional[str]:
        return self._layout.active(self._place).name or None

    @property
    def value(self) -> Any:
        arm = self._layout.active(self._place)
        if arm.layout is None:
            return None
        return arm.layout.load(self._segment, self._place, arm.offset)

    def __getitem__(self, name: str) -> Any:
        return self._layout.load_arm(self._segment, self._place, name)

    def __setitem__(self, name: str, value: Any) -> None:
        self._layout.store_arm(self._segment, self._place, name, value)

    def __getattr__(self, name: str) -> Any:
        if name in self._layout.arm_names:
            return self[name]
        raise AttributeError(f"{self._layout.spelled} has no arm '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "case":
            object.__setattr__(self, name, value)
        elif name in self._layout.arm_names:
            self[name] = value
        else:
            raise AttributeError(f"{self._layout.spelled} has no arm '{name}'")

    def __repr__(self) -> str:
        if not self._segment.is_locked:
            return self._where()
        return self._described(f"case={self.case!r} {self.arm or 'void'}={_short(self.value)}")


class Array(Reference):
    """Values in a row that are not numbers. `array["field"]` is one field of all records, as a
    numpy view."""

    __slots__ = ("_count",)
    _count: int

    @classmethod
    def _of(cls, segment: "Segment", place: Place, element: "Layout", count: int) -> "Array":
        made: Array = cls._make(segment, place, element)
        object.__setattr__(made, "_count", count)
        return made

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and isinstance(other, Array) and self._count == other._count

    __hash__ = Reference.__hash__

    def _offset(self, index: int) -> int:
        at = index + self._count if index < 0 else index
        if not 0 <= at < self._count:
            raise IndexError(f"index {index} of an array of {self._count}")
        return at * self._layout.size

    def __getitem__(self, index: Either[int, slice, str]) -> Any:
        if isinstance(index, str):
            return self._column(index)
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        return self._layout.load(self._segment, self._place, self._offset(index))

    def __setitem__(self, index: Either[int, slice, str], value: Any) -> None:
        if isinstance(index, str):
            column = self._column(index)
            column[...] = numbers_for(column.dtype, value)
        elif isinstance(index, slice):
            places = range(*index.indices(self._count))
            values = list(value)
            if len(values) != len(places):
                raise ValueError(f"{len(values)} values for {len(places)} elements")
            for i, one in zip(places, values):
                self[i] = one
        else:
            self._layout.store(self._segment, self._place, self._offset(index), value)

    def __iter__(self) -> Iterator[Any]:
        for index in range(self._count):
            yield self[index]

    def _column(self, name: str) -> "np.ndarray[Any, Any]":
        layout, offset = self._layout.column(name)
        dtype, shape = layout.require_numbers()
        inner: List[int] = []
        step = dtype.itemsize
        for length in reversed(shape):
            inner.insert(0, step)
            step *= length
        return view(self._segment.identity, self._place, offset, dtype, (self._count, *shape),
                    (self._layout.size, *inner))

    def numpy(self) -> "np.ndarray[Any, Any]":
        """The whole array as a structured numpy view. The records may consist of numbers, strings
        of bounded length, and arrays of these."""
        dtype = self._layout.record_dtype
        if dtype is None:
            raise BadValue(f"{self._layout.spelled} holds what numpy has no type for; take single "
                           "fields: array['x']")
        return view(self._segment.identity, self._place, 0, dtype, (self._count,))

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> "np.ndarray[Any, Any]":
        array = self.numpy()
        return array.copy() if copy else (array if dtype is None else array.astype(dtype))

    def __repr__(self) -> str:
        return f"<{self._count} of {self._layout.spelled} in block {self._place.serial}>"


def _short(value: Any) -> str:
    if isinstance(value, Struct):
        return f"<{value._layout.spelled}>"
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"<{value.dtype} {'x'.join(str(n) for n in value.shape)}>"
    return repr(value)


def snapshot(value: Any) -> Any:
    """Returns a copy that does not need the segment: dicts, lists and numpy arrays. A pointer
    becomes the text of its MIP."""
    if isinstance(value, Struct):
        return {
            name: value._layout.snapshot_field(value._segment, value._place, name)
            for name in value
        }
    if isinstance(value, Union):
        arm = value._layout.active(value._place)
        copied = None
        if arm.layout is not None:
            copied = arm.layout.snapshot(value._segment, value._place, arm.offset)
        return {"case": value.case, arm.name or "void": copied}
    if isinstance(value, Array):
        layout, step = value._layout, value._layout.size
        return [layout.snapshot(value._segment, value._place, i * step) for i in range(len(value))]
    if isinstance(value, np.ndarray):
        return value.copy()
    return value


Values = Either[Dict[str, Any], Tuple[Any, ...], List[Any]]
