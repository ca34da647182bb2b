"""What can go wrong: one hierarchy, one class for each code of the C interface (IW_E... in interweave.h).

An Error's text says what was asked, what was found and what to do; `code` is the negative number that programs in
other languages see.
"""

from __future__ import annotations

from typing import Dict, Type


class Error(Exception):
    """Whatever InterWeave could not do."""

    code: int = 0

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class Unimplemented(Error, NotImplementedError):
    """Not something this library or server can do."""


class Malformed(Error):
    """Bytes that are not a message, a diff or a descriptor."""


class VersionMismatch(Error):
    """No protocol version in common with the server."""


class NotOpen(Error):
    """The segment was closed."""


class Denied(Error, PermissionError):
    """No rule of the server allows it."""


class BadUrl(Error, ValueError):
    """Not of the form [iw://]host[:port]/path[#block[#offset]]."""


class NoSegment(Error, LookupError):
    """No such segment, and it was not to be made."""


class NoBlock(Error, KeyError):
    """No such block in the segment, or no longer."""


class UnknownType(Error):
    """The type is not declared in this program."""


class TypeConflict(Error):
    """A type of that name with another structure exists already."""


class BadName(Error, ValueError):
    """The block name is taken, or is not a name."""


class NoLock(Error):
    """It needs a lock that the calling thread does not hold."""


class WouldDeadlock(Error):
    """The writer lock was asked for while the thread reads the segment."""


class TimedOut(Error, TimeoutError):
    """The deadline passed."""


class Unreachable(Error, ConnectionError):
    """The server cannot be reached."""


class Fenced(Error):
    """The writer lock was lost before its release; the changes are undone."""


class RolledBack(Error):
    """The connection was lost; the changes are undone."""


class StoreFull(Error):
    """The server's disk is full."""


class QuotaExceeded(Error):
    """The segment's quota would be exceeded."""


class TooLarge(Error):
    """A bound of the protocol or of the server would be exceeded."""


class NoMemory(Error, MemoryError):
    """No memory or address space left in this process."""


class BadPointer(Error):
    """A pointer that leads to no value of a block, or to one of another type."""


class BadValue(Error, ValueError):
    """A discriminant, enum or string that its type does not have."""


class BadArgument(Error, ValueError):
    """An argument is outside what the call accepts."""


class Forked(Error):
    """The segment belongs to the parent of this forked process: open it again."""


class StrayWrite(Error):
    """A store without the writer lock was found, and undone."""


class ReadOnly(Error):
    """The segment was opened read-only."""


class Stale(Error):
    """The freshness bound could not be confirmed."""


class Stopping(Error):
    """The server is stopping."""


class Removed(Error):
    """The segment was removed."""


class Damaged(Error):
    """The server's store found damage; the segment is stopped."""


class Cancelled(Error):
    """The wait was given up."""


class Internal(Error):
    """A broken invariant of InterWeave's; please report it."""


class SegmentLost(Error):
    """The segment came back without what this process had of it: close it, and open it again."""


# In the order of their codes, from -1 on (spec/protocol/error.x).
_IN_ORDER = (
    Unimplemented, Malformed, VersionMismatch, NotOpen, Denied, BadUrl, NoSegment, NoBlock, UnknownType, TypeConflict,
    BadName, NoLock, WouldDeadlock, TimedOut, Unreachable, Fenced, RolledBack, StoreFull, QuotaExceeded, TooLarge,
    NoMemory, BadPointer, BadValue, BadArgument, Forked, StrayWrite, ReadOnly, Stale, Stopping, Removed, Damaged,
    Cancelled, Internal, SegmentLost)

_BY_CODE: Dict[int, Type[Error]] = {}
for _number, _class in enumerate(_IN_ORDER, 1):
    _class.code = -_number
    _BY_CODE[-_number] = _class


def error_of(code: int, text: str) -> Error:
    """The exception for a failure of the C interface."""
    known = _BY_CODE.get(code)
    if known is not None:
        return known(text)
    unknown = Error(text)
    unknown.code = code
    return unknown
