"""What programs call, but for the exceptions: these are generated (errors.py)."""

from __future__ import annotations

import atexit
import os
import threading
from typing import TYPE_CHECKING, Any, Optional

from . import _core
from .coherence import FULL, NULL, STRICT, Coherence, Delta, Diff, Model, Temporal
from .declare import ANY_POINTER as AnyPointer
from .declare import DEFAULT as Default
from .declare import Case, named, struct, union
from .errors import BY_CODE, Error
from .interface import CopyState, Stats
from .layouts import address_of
from .objects import Array as ArrayOf
from .objects import Reference, Struct, Union, snapshot
from .segment import Block, PathLike, Segment, at
from .server import Server, serve
from .xfile import load_types

if TYPE_CHECKING:
    from .annotations import (
        Array, Bool, Char, Double, Float, Hyper, Int, Pointer, Sequence, Short, String, Text, UChar,
        UHyper, UInt, UShort)
else:
    from .declare import ARRAY as Array
    from .declare import POINTER as Pointer
    from .declare import PRIMITIVES as _primitives
    from .declare import SEQUENCE as Sequence
    from .declare import STRING as String
    from .declare import TEXT as Text
    globals().update(_primitives)


def _error_of(code: int, text: str) -> Error:
    """The exception for a failure of the C interface."""
    made = BY_CODE.get(code, Error)(text)
    made.code = code
    return made


_core.set_exception_maker(_error_of)
if threading.current_thread() is threading.main_thread():
    _core.this_is_main_thread()
os.register_at_fork(after_in_child=_core.forget_holds)
atexit.register(_core.end_callbacks)


def open(url: str, *, create: bool = True, read_only: bool = False, timeout: float = 30.0,
         token: Optional[str] = None, durability: Optional[str] = None, quota: int = 0,
         coherence: Model = FULL, ca: Optional[PathLike] = None, cert: Optional[PathLike] = None,
         key: Optional[PathLike] = None) -> Segment:
    """Opens a segment, `[iw://|iws://]host[:port]/path` or `unix:FILE:/path`, or makes it.

    Servers that share a store stand in one URL, with commas between them: `a,b:7750/path`.

    `timeout`: seconds that a lock waits if its call gives no time. `coherence`: the model of reader
    locks whose call gives none. `durability` (memory, written, synced) and `quota` (bytes) count
    when the segment is made. `token`, and the PEM files `ca`, `cert` and `key`, go before the
    environment's IW_TOKEN, IW_CA, IW_CERT and IW_KEY; all segments of a server share them.
    """
    return Segment(url, create=create, read_only=read_only, timeout=timeout, token=token,
                   durability=durability, quota=quota, coherence=coherence, ca=ca, cert=cert,
                   key=key)


def mip(value: Any) -> str:
    """The machine-independent pointer to a struct, union, array, block, or first element."""
    return value.mip if isinstance(value, Block) else _core.mip_of(address_of(value))


def segment_of(value: Reference) -> Segment:
    """The segment that an object lies in: the one to lock before looking at it."""
    return value._segment


__all__ = [
    "AnyPointer", "Array", "ArrayOf", "Block", "Bool", "Case", "Char", "Coherence", "CopyState",
    "Default", "Delta", "Diff", "Double", "FULL", "Float", "Hyper", "Int", "Model", "NULL",
    "Pointer", "STRICT", "Segment", "Sequence", "Server", "Short", "Stats", "String", "Struct",
    "Temporal", "Text", "UChar", "UHyper", "UInt", "UShort", "Union", "at", "load_types", "mip",
    "named", "open", "segment_of", "serve", "snapshot", "struct", "union"]
