"""Numbers that are stored in rows keep to their type, as single ones do.

numpy's own assignment cuts a fraction off and wraps what is too large. Here an integer takes integers alone (TypeError)
and only those that fit (OverflowError); a float takes every number, as in C.
"""

from __future__ import annotations

import array
from typing import Any

import numpy as np


def numbers_for(dtype: "np.dtype[Any]", values: Any) -> "np.ndarray[Any, Any]":
    """`values` as an array whose numbers numpy may store as `dtype` without loss of meaning."""
    values = _with_bytes_as_numbers(values, dtype)
    given = np.asarray(values)
    if given.dtype == dtype:
        return given
    if given.dtype.kind in "biu" or given.dtype.kind == "f" and dtype.kind == "f":
        if dtype.kind != "f" and given.size:
            _check_range(given, dtype)
        return given
    # Integers that no dtype of numpy's holds together come here, too: it makes floats or objects of them.
    objects = np.asarray(values, object)
    checked = array.array(dtype.char, objects.ravel().tolist())  # TypeError, OverflowError: each number as a single one
    return np.frombuffer(checked, dtype).reshape(objects.shape)


def require_row(given: "np.ndarray[Any, Any]", spelled: str) -> None:
    """One number is no row of them, though numpy would repeat it."""
    if given.ndim == 0:
        raise TypeError(f"a row of {spelled} takes a sequence of numbers, not a single one; to set all: x[:] = ...")


def _check_range(given: "np.ndarray[Any, Any]", dtype: "np.dtype[Any]") -> None:
    limits = np.iinfo(dtype)
    for number in (int(given.min()), int(given.max())):
        if not limits.min <= number <= limits.max:
            unsigned = "unsigned " if dtype.kind == "u" else ""
            raise OverflowError(f"{number} does not fit into {unsigned}{limits.bits} bits")


def _with_bytes_as_numbers(values: Any, dtype: "np.dtype[Any]") -> Any:
    """Bytes are numbers for an array of bytes (XDR's opaque), alone and in lists."""
    if dtype.itemsize != 1:
        return values
    if isinstance(values, (bytes, bytearray)):
        return np.frombuffer(values, dtype)
    return [_with_bytes_as_numbers(one, dtype) for one in values] if isinstance(values, (list, tuple)) else values
