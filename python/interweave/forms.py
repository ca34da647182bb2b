"""Which type a Python value gets in a segment, when the program names none.

A number, a string, bytes, a numpy array, a dataclass, or a list of dataclasses has a *form*: the
type and the number of values of the block that holds it, and what to store. `Segment.put` and
`segment["new"] = value` make blocks of forms.
"""

from __future__ import annotations

import dataclasses
import typing
from typing import Any, Dict, List, Optional, Tuple
from zlib import crc32

import numpy as np

from .declare import (ARRAY, LONGEST_STRING, PRIMITIVES, SEQUENCE, TEXT, Declared, FixedString,
                      Record, Scope, as_declared, dtype_type)
from .errors import BadValue, UnknownType


@dataclasses.dataclass(frozen=True)
class Form:
    type: Any
    count: int
    value: Any


_ADVICE = {
    "O": "give numbers, or one dataclass for each record",
    "M": "store its numbers: array.astype('datetime64[ns]').astype('i8')",
    "m": "store its numbers: array.astype('timedelta64[ns]').astype('i8')",
    "f": "use array.astype('f4'), or 'f8'",
    "c": "use array.astype('c8'), or 'c16'"
}
# By dtype or dataclass, because a type is declared once.
_records: Dict[Any, Record] = {}


def form_of(value: Any) -> Form:
    """The form of a value. Thrown: BadValue, with what to do instead."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return Form(_dataclass_type(value), 1, plain(value))
    if isinstance(value, str):
        return Form(TEXT, 1, value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _of_array(np.frombuffer(value, "u1"))
    if isinstance(value, (bool, int, float)):
        return Form(as_declared(type(value)), 1, value)
    if isinstance(value, (list, tuple)) and value and all(map(dataclasses.is_dataclass, value)):
        return _of_dataclasses(value)
    if isinstance(value, (list, tuple, complex)) or hasattr(value, "__array__"):
        return _of_array(_as_array(value))
    raise BadValue(f"a {type(value).__name__} has no type in a segment: give a number, a string, "
                   "bytes, a numpy array or a dataclass, or declare a struct and use "
                   "segment.new(TheStruct, name=..., value=...) [BAD_VALUE]")


def _as_array(value: Any) -> "np.ndarray[Any, Any]":
    try:
        return np.asarray(value)
    except ValueError as ragged:
        raise BadValue(f"the list is not an array: {ragged} [BAD_VALUE]") from None


def _of_array(array: "np.ndarray[Any, Any]") -> Form:
    element = element_type(array.dtype)
    value = array.tolist() if array.dtype.kind == "U" else array
    return Form(*shaped(element, array.shape), value)


def shaped(element: Any, shape: Tuple[int, ...]) -> Tuple[Any, int]:
    """The type and count of a block that holds an array of this shape. A row is a block of so many
    values, and other shapes are one value, so that each shape is told apart."""
    if 0 in shape:
        raise BadValue(f"an array of shape {shape} is empty, and a block has at least one value "
                       "[BAD_VALUE]")
    if len(shape) == 1 and shape[0] != 1:
        return element, shape[0]
    return (ARRAY[(element, *shape)] if shape else element), 1


def element_type(dtype: "np.dtype[Any]") -> Declared:
    """The type of one element. Thrown: BadValue."""
    number = dtype_type(dtype)
    if number is not None:
        return number
    if dtype.kind == "U":
        return TEXT
    if dtype.kind == "S" and 0 < dtype.itemsize <= LONGEST_STRING:
        return FixedString(dtype.itemsize)
    if dtype.kind == "c" and dtype.itemsize in (8, 16):
        part = "Float" if dtype.itemsize == 8 else "Double"
        fields = {"real": PRIMITIVES[part], "imag": PRIMITIVES[part]}
        return _record(dtype, dtype.name, fields)
    if dtype.fields:
        return _structured(dtype)
    advice = _ADVICE.get(dtype.kind)
    raise BadValue(f"numpy's {dtype} has no type in a segment{': ' + advice if advice else ''} "
                   "[BAD_VALUE]")


def _structured(dtype: "np.dtype[Any]") -> Record:
    parts = {name: field[0] for name, field in (dtype.fields or {}).items()}
    fields: Dict[str, Any] = {}
    for name, part in parts.items():
        element = element_type(part.base)
        fields[name] = ARRAY[(element, *part.shape)] if part.shape else element
    # Equal in every process, because a block's type has the name that its maker gave.
    described = repr([(name, part.base.str, part.shape) for name, part in parts.items()])
    return _record(dtype, f"record_{crc32(described.encode()):08x}", fields)


def _record(key: Any, name: str, fields: Dict[str, Any]) -> Record:
    found = _records.get(key)
    if found is None:
        found = Record(name, fields, Scope({}))
        found.register()
        _records[key] = found
    return found


def _of_dataclasses(values: Any) -> Form:
    types = {_dataclass_type(one) for one in values}
    if len(types) != 1:
        raise BadValue("the dataclasses of a list are of one class, and their arrays of one shape "
                       "[BAD_VALUE]")
    return Form(*shaped(types.pop(), (len(values),)), [plain(one) for one in values])


def _dataclass_type(value: Any) -> Record:
    """The struct of a dataclass. A field's annotation gives its type. Where that is not a type of
    a segment, the value gives it."""
    hints = typing.get_type_hints(type(value), include_extras=True)
    fields = {one.name: _field_type(hints[one.name], getattr(value, one.name), one.name)
              for one in dataclasses.fields(value)}
    key = (type(value), tuple((name, _key_of(one)) for name, one in fields.items()))
    return _record(key, type(value).__name__, fields)


def _field_type(hint: Any, value: Any, name: str) -> Any:
    try:
        return as_declared(hint)
    except (UnknownType, TypeError):
        pass
    items = typing.get_args(hint)
    if typing.get_origin(hint) in (list, List) and items:
        sample = value[0] if value else None
        return SEQUENCE[_field_type(items[0], sample, name)]
    try:
        form = form_of(value)
    except BadValue as failure:
        failure.args = (f"field '{name}': {failure}",)
        raise
    return form.type if form.count == 1 else ARRAY[form.type, form.count]


def _key_of(declared: Any) -> Any:
    """Equal for equal type expressions."""
    parts = [getattr(declared, name, None) for name in ("kind", "count", "bound")]
    element = getattr(declared, "element", None)
    if isinstance(declared, (Record,)) or not any(one is not None for one in parts):
        return id(declared)
    return (*parts, None if element is None else _key_of(element))


def plain(value: Any) -> Any:
    """A dataclass as dicts, which structs take; its arrays are not copied."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def assign(target: "np.ndarray[Any, Any]", value: "np.ndarray[Any, Any]") -> None:
    """Stores an array of complex numbers or records into a view of records, field by field, because
    the two may be laid out differently."""
    if value.dtype.kind == "c":
        target["real"], target["imag"] = value.real, value.imag
        return
    for name in target.dtype.names or ():
        if target[name].dtype.names:
            assign(target[name], value[name])
        else:
            target[name] = value[name]


def complex_of(array: "np.ndarray[Any, Any]", name: str) -> Optional["np.ndarray[Any, Any]"]:
    """The complex numbers that records of this name and form are; None for other records."""
    if array.dtype.names != ("real", "imag") or name not in ("complex64", "complex128"):
        return None
    return array.view(np.dtype(name))
