"""numpy arrays on the cached copy.

A view shows the copy itself. Under a reader lock the view is read-only. Under the writer lock it
may be written to. When the lock is given back, the arrays handed out become read-only again.

An array derived from a view (a slice, a reshape) keeps a flag of its own in numpy. A store through
it after the section is a store without a lock. The library undoes and reports such a store at the
next writer lock or fetch, unless a writer section of this process is open at that time.
Whatever happens, the memory stays mapped as long as an array lives.
"""

from __future__ import annotations

import weakref
from typing import Any, Dict, Optional, Tuple

import numpy as np

from ._core import Memory, Place

# The arrays handed out under the writer lock: by segment, then by reference.
_written: Dict[int, Dict[int, "weakref.ref[np.ndarray[Any, Any]]"]] = {}


def view(identity: int, place: Place, offset: int, dtype: "np.dtype[Any]", shape: Tuple[int, ...],
         strides: Optional[Tuple[int, ...]] = None) -> "np.ndarray[Any, Any]":
    """Returns an array on the copy. `offset` counts from the place."""
    if 0 in shape:
        return np.empty(shape, dtype)
    if strides is None:
        extent = dtype.itemsize
        for length in shape:
            extent *= length
    else:
        extent = dtype.itemsize + sum((length - 1) * step for length, step in zip(shape, strides))
    memory: Any = place.memory(offset, extent)
    array: "np.ndarray[Any, Any]" = np.ndarray(shape, dtype, buffer=memory, strides=strides)
    if array.flags.writeable:
        live = _written.setdefault(identity, {})
        reference = weakref.ref(array, lambda dead: live.pop(id(dead), None) and None)
        live[id(reference)] = reference
    return array


def end_writing(identity: int) -> None:
    """Makes the views of a writer section read-only. REQUIRES: the calling thread still holds the
    writer lock, because later the views may be those of another thread's section."""
    for reference in list(_written.pop(identity, {}).values()):
        array = reference()
        if array is not None:
            memory = array.base
            assert isinstance(memory, Memory)
            memory.end_writing()
            array.flags.writeable = False


def address_of_view(array: "np.ndarray[Any, Any]") -> Optional[int]:
    """The address of an array in a segment; None if the array is not a view of a segment."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return int(array.__array_interface__["data"][0]) if isinstance(base, Memory) else None
