"""Checks numbers that are stored in rows as strictly as single numbers.

numpy's own assignment cuts off fractions and wraps numbers that are too large. Here an integer
takes only integers (TypeError) that fit (OverflowError). A float takes every number, as in C.
"""

from __future__ import annotations

import array
from typing import Any

import numpy as np


def numbers_for(dtype: "np.dtype[Any]", values: Any) -> "np.ndarray[Any, Any]":
    """Returns `values` as an array that numpy may store as `dtype`. Thrown: TypeError,
    OverflowError."""
    values = _with_bytes_as_numbers(values, dtype)
    given = np.asarray(values)
    if given.dtype == dtype:
        return given
    if given.dtype.kind in "biu" or given.dtype.kind == "f" and dtype.kind == "f":
        if dtype.kind != "f" and given.size:
            _check_range(given, dtype)
        return given
    # Integers that fit no single dtype come here too, because numpy makes them floats or objects.
    objects = np.asarray(values, object)
    # Checks each number as a single one: TypeError, OverflowError.
    checked = array.array(dtype.char, objects.ravel().tolist())
    return np.frombuffer(checked, dtype).reshape(objects.shape)


def require_row(given: "np.ndarray[Any, Any]", spelled: str) -> None:
    """Refuses a single number, which numpy would repeat, where a row is expected."""
    if given.ndim == 0:
        raise TypeError(f"a row of {spelled} takes a sequence of numbers, not a single one; to set "
                        "all: x[:] = ...")


def _check_range(given: "np.ndarray[Any, Any]", dtype: "np.dtype[Any]") -> None:
    limits = np.iinfo(dtype)
    for number in (int(given.min()), int(given.max())):
        if not limits.min <= number <= limits.max:
            unsigned = "unsigned " if dtype.kind == "u" else ""
            raise OverflowError(f"{number} does not fit into {unsigned}{limits.bits} bits")


def _with_bytes_as_numbers(values: Any, dtype: "np.dtype[Any]") -> Any:
    """Turns bytes, alone or in lists, into numbers for an array of bytes (XDR's opaque)."""
    if dtype.itemsize != 1:
        return values
    if isinstance(values, (bytes, bytearray)):
        return np.frombuffer(values, dtype)
    if not isinstance(values, (list, tuple)):
        return values
    return [_with_bytes_as_numbers(one, dtype) for one in values]
