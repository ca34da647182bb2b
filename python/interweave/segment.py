"""Segments: open them by URL, lock them, find their blocks, and hear of changes."""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
import time
import weakref
from dataclasses import dataclass
from operator import index
from types import TracebackType
from typing import (Any, AsyncIterator, Callable, Dict, Iterator, List, Optional, Set, Tuple, Type,
                    Union as Either)

import numpy as np

from . import _core, interface
from ._core import Place
from .coherence import FULL, Coherence, Model
from .declare import table_of
from .errors import (BadArgument, BadName, BadPointer, Error, NoBlock, NoLock, NotOpen, ReadOnly,
                     SegmentLost, UnknownType, WouldDeadlock)
from .interface import CopyState, Stats
from .layouts import EnumLayout, Layout, PrimitiveLayout, address_of, layout_of
from .objects import Reference
from .views import end_writing

PathLike = Either[str, "os.PathLike[str]"]

CONNECTION_STATES = {state.value: state.name.lower() for state in interface.Connection}
DURABILITY: Dict[Optional[str], int] = {
    None: 0, **{durability.name.lower(): durability.value for durability in interface.Durability}}


@dataclass(frozen=True)
class Block:
    """One block of a segment, as it was when the program asked for it."""

    segment: "Segment"
    name: Optional[str]
    serial: int
    count: int
    layout: Layout
    is_owned: bool
    _place: Place

    @property
    def type(self) -> str:
        return self.layout.spelled

    @property
    def mip(self) -> str:
        return _core.mip_of(self._place.address)

    @property
    def value(self) -> Any:
        """A struct, a union, a view of numbers, or an Array. A single number is a view of one."""
        if self.count > 1 or isinstance(self.layout, (PrimitiveLayout, EnumLayout)):
            return self.layout.row(self.segment, self._place, self.count)
        return self.layout.load(self.segment, self._place, 0)

    @value.setter
    def value(self, value: Any) -> None:
        is_number = isinstance(self.layout, (PrimitiveLayout, EnumLayout))
        if self.count > 1 or is_number and (isinstance(value, (bytes, bytearray))
                                            or np.ndim(value) > 0):
            self._place.check_writable()
            self.layout.store_row(self.segment, self._place, self.count, value)
        else:
            self.layout.store(self.segment, self._place, 0, value)

    def __repr__(self) -> str:
        name = f" '{self.name}'" if self.name else ""
        return f"<block {self.serial}{name}: {self.count} of {self.type}>"


class _WritingTasks(threading.local):
    """For the calling thread: by segment, the asyncio task that began the newest writer section."""

    def __init__(self) -> None:
        self.tasks: "weakref.WeakValueDictionary[int, asyncio.Task[Any]]"
        self.tasks = weakref.WeakValueDictionary()


_writing = _WritingTasks()


def _running_task() -> "Optional[asyncio.Task[Any]]":
    return None if asyncio._get_running_loop() is None else asyncio.current_task()


def _refuse_other_task(segment: "Segment") -> None:
    """Refuses a lock if another task of this thread has a writer section open. Locks of a thread
    nest, so the lock would otherwise become part of the other task's section."""
    if not segment._core.holds_writer_lock():
        return
    owner = _writing.tasks.get(segment.identity)
    if owner is not None and owner is not _running_task():
        raise WouldDeadlock("another asyncio task of this thread is inside a writer section of "
                            f"{segment.url}: nothing may await in one [WOULD_DEADLOCK]")


class ReadLock:
    """A reader lock, for a `with`. The same object may be used for several `with`."""

    def __init__(self, segment: "Segment", coherence: Optional[Model], timeout: Optional[float],
                 fresh: bool) -> None:
        self._segment, self._coherence = segment, coherence
        self._timeout, self._fresh = timeout, fresh

    def __enter__(self) -> "Segment":
        segment = self._segment
        model = self._coherence or segment.coherence
        _refuse_other_task(segment)
        segment._use(model)
        end = None if self._timeout is None else time.monotonic() + self._timeout
        state = segment._core.acquire_read(self._timeout, self._fresh)
        if state is not None and not isinstance(model, Coherence):
            self._judge(model, CopyState(*state), end)
        return segment

    def _judge(self, is_recent: Callable[[CopyState], bool], state: CopyState,
               end: Optional[float]) -> None:
        """Asks the program's own model under the lock. If the copy is too old, takes the lock anew
        with the newest version."""
        core = self._segment._core
        is_enough = False
        try:
            is_enough = is_recent(state)
        finally:
            if not is_enough:
                core.release_read()
        if not is_enough:
            core.acquire_read(None if end is None else max(0.0, end - time.monotonic()), True)

    def __exit__(self, *_: object) -> None:
        if not self._segment._core.is_closed:
            self._segment._core.release_read()


class WriteLock:
    """The writer lock, for a `with`. An exception inside undoes all changes."""

    def __init__(self, segment: "Segment", timeout: Optional[float]) -> None:
        self._segment, self._timeout = segment, timeout

    def __enter__(self) -> "Segment":
        segment = self._segment
        _refuse_other_task(segment)
        segment._core.acquire_write(self._timeout)
        task = _running_task()
        if task is None:
            _writing.tasks.pop(segment.identity, None)
        else:
            _writing.tasks[segment.identity] = task
        return segment

    def __exit__(self, kind: Optional[Type[BaseException]], raised: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        segment = self._segment
        if kind is not None:
            if segment.is_write_locked:
                segment.abort()
            return
        if not segment.is_write_locked:
            raise NoLock("the writer lock was given up inside the section: its changes were not "
                         "kept [NO_LOCK]")
        if segment._core.ends_writing_at_release():
            end_writing(segment.identity)
        try:
            segment._core.release_write()
        except BaseException:
            segment.abort()
            raise


class Segment:
    """An open segment: a heap of typed blocks, by name and by serial. See interweave.open."""

    def __init__(self, url: str, *, create: bool = True, read_only: bool = False,
                 timeout: float = 30.0, token: Optional[str] = None,
                 durability: Optional[str] = None, quota: int = 0, coherence: Model = FULL,
                 ca: Optional[PathLike] = None, cert: Optional[PathLike] = None,
                 key: Optional[PathLike] = None) -> None:
        if durability not in DURABILITY:
            raise ValueError(f"durability {durability!r} is not one of memory, written, synced")
        if not timeout > 0:
            raise ValueError("a timeout is more than 0 seconds")
        files = [None if one is None else os.fspath(one) for one in (ca, cert, key)]
        self._core = _core.Segment(url, create, read_only, DURABILITY[durability], timeout, quota,
                                   token, *files)
        self.url = url
        self.identity: int = self._core.identity
        self._coherence = coherence
        self._listeners: Dict[str, Dict[int, Callable[[int], None]]]
        self._listeners = {"change": {}, "connection": {}}
        self._followers: Set["Changes"] = set()

    # ---- opening and closing ----

    def close(self) -> None:
        """Closes the segment. Objects of it may be kept; their use fails. Arrays of it show old
        contents."""
        if not self._core.is_closed:
            for kind, listeners in self._listeners.items():
                listeners.clear()
                _tell(self, kind)
            for changes in list(self._followers):
                changes._end_soon()
            if self._core.ends_writing_at_close():
                end_writing(self.identity)
            self._core.close()

    def _need_open(self) -> None:
        if self._core.is_closed:
            raise NotOpen(f"{self.url} was closed [NOT_OPEN]")

    def __enter__(self) -> "Segment":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __eq__(self, other: object) -> bool:
        return self.identity == other.identity if isinstance(other, Segment) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.identity)

    def __repr__(self) -> str:
        return f"<segment {self.url}{' (closed)' if self._core.is_closed else ''}>"

    # ---- locks ----

    def read(self, *, coherence: Optional[Model] = None, timeout: Optional[float] = None,
             fresh: bool = False) -> ReadLock:
        """Returns a reader lock. Until the end of the `with` the copy is one whole version that is
        recent enough. With `fresh` it is the newest version, whatever the coherence model
        accepts."""
        return ReadLock(self, coherence, timeout, fresh)

    def write(self, *, timeout: Optional[float] = None) -> WriteLock:
        """Returns the writer lock. At the end of the `with` the changes become a version. An
        exception undoes them."""
        return WriteLock(self, timeout)

    def abort(self) -> None:
        """Undoes all changes since the writer lock was taken, and gives the lock back."""
        if self.is_write_locked:
            end_writing(self.identity)
        self._core.abort_write()

    @property
    def is_locked(self) -> bool:
        """Whether this thread holds a lock of the segment, for reading or writing."""
        return self._core.holds_lock()

    @property
    def is_write_locked(self) -> bool:
        return self._core.holds_writer_lock()

    @property
    def coherence(self) -> Model:
        """The model of reader locks that do not give one themselves."""
        return self._coherence

    @coherence.setter
    def coherence(self, coherence: Model) -> None:
        self._use(coherence)  # refuses a wrong bound, and announcements follow the model at once
        self._coherence = coherence

    def _use(self, model: Model) -> None:
        if (self._core.model or FULL) == model:
            return
        if isinstance(model, Coherence):
            self._core.set_coherence(model.model, model.bound)
        else:
            self._core.set_own_coherence()
        self._core.model = model

    def refresh(self) -> None:
        """Fetches the newest version now. NULL coherence never fetches by itself."""
        self._core.refresh()

    @property
    def version(self) -> int:
        """The version of the cached copy; 0 before the first lock."""
        return self._core.version()

    @property
    def staleness(self) -> Optional[float]:
        """Seconds since the copy was last known to be the newest version; None if it never was."""
        seconds = self._core.staleness()
        return seconds if seconds >= 0 else None

    @property
    def stats(self) -> Stats:
        known = self._core.stats()
        return Stats(**known)

    # ---- blocks ----

    def _place_at(self, address: int) -> Place:
        return _core.describe_block(self._core, address)[0]

    def _block_at(self, address: int) -> Block:
        place, _, table, count, serial, is_owned, is_reserved, name = _core.describe_block(
            self._core, address)
        if is_reserved:
            raise NoBlock(f"block {serial} is not in this version of {self.url} [NO_BLOCK]")
        return Block(self, name or None, serial, count, layout_of(table), is_owned, place)

    def block(self, key: Either[str, int, Reference, "np.ndarray[Any, Any]"]) -> Block:
        """Returns the block with a name or serial, or the block in which an object or view lies."""
        if isinstance(key, (Reference, np.ndarray)):
            _, begin, *_ = _core.describe_block(self._core, address_of(key))
            return self._block_at(begin)
        if isinstance(key, str) and ("#" in key or not key or key[0].isdigit()):
            raise BadName(f"'{key}' is not a block name [BAD_NAME]")
        self._need_open()
        if not self.is_locked:
            raise NoLock(f"looking into {self.url} needs a lock: with segment.read(): [NO_LOCK]")
        return self._block_at(_core.address_of_mip(f"{self.url}#{key}"))

    def __getitem__(self, key: Either[str, int]) -> Any:
        return self.block(key).value

    def __setitem__(self, key: Either[str, int], value: Any) -> None:
        Block.value.__set__(self.block(key), value)  # type: ignore[attr-defined]

    def __delitem__(self, key: Either[str, int]) -> None:
        _core.free_block(self._core, self.block(key)._place.address)

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, (str, int)):
            return False
        try:
            self.block(key)
        except NoBlock:
            return False
        return True

    def __iter__(self) -> Iterator[Block]:
        """The blocks in the order of their serials. Blocks that a field owns are left out."""
        address = _core.next_block(self._core, 0)
        while address:
            block = self._block_at(address)
            yield block
            address = _core.next_block(self._core, block._place.address)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def new(self, type: Any, *, name: Optional[str] = None, count: int = 1,
            value: Any = None) -> Any:
        """Makes a block, all zeros or with the given value, and returns its value. `type` is a
        declared class, a type (interweave.Double), int, float, str, a numpy dtype, the layout of
        another block, or the name of another block's type."""
        layout = self._layout_named(type) if isinstance(type, str) else type
        table = layout.table if isinstance(layout, Layout) else table_of(layout)
        if not 0 <= index(count) < 2**64:
            raise BadArgument(f"a block of {count} values: their number is from 0 to 2^64 - 1 "
                              "[BAD_ARGUMENT]")
        address = _core.allocate(self._core, table, count, name)
        block = self._block_at(address)
        if value is not None:
            Block.value.__set__(block, value)  # type: ignore[attr-defined]
        return block.value

    def _layout_named(self, name: str) -> Layout:
        """Returns the layout of the type with a name, from a block that has it. Thrown:
        UnknownType."""
        for block in self:
            if block.type == name:
                return block.layout
        raise UnknownType(f"no block of {self.url} has the type '{name}': give the declared class, "
                          "a type such as interweave.Double or a numpy dtype (np.dtype('f8')) "
                          "[UNKNOWN_TYPE]")

    def free(self, value: Either[Reference, "np.ndarray[Any, Any]", Block]) -> None:
        """Frees the block in which the object or view lies."""
        block = value if isinstance(value, Block) else self.block(value)
        _core.free_block(self._core, block._place.address)

    # ---- pointers ----

    def _follow(self, address: int, target: Optional[Layout]) -> Any:
        try:
            place, begin, table, count, _, _, _, _ = _core.describe_block(self._core, address)
        except BadPointer:
            return _foreign(address, target)
        held = layout_of(table)
        offset = address - begin
        if target is None:
            target = held.at_offset(offset % held.size)
        if target.numbers is not None and not target.numbers[1]:
            is_row = held.numbers is not None and held.numbers[0] == target.numbers[0]
            return target.row(self, place,
                              (count * held.size - offset) // target.size if is_row else 1)
        return target.reference(self, place)

    # ---- changes ----

    def on_change(self, call: Callable[[int], None]) -> Callable[[], None]:
        """Calls `call(version)` when the server announces a version that makes the copy not recent
        enough. The library makes the call on a thread of its own that holds no lock. Returns a
        function that ends the calls. Versions announced before are not announced again: look at the
        segment once after on_change, then wait."""
        return self._listen("change", call)

    def on_connection(self, call: Callable[[str], None]) -> Callable[[], None]:
        """Calls `call(state)`, on the thread that on_change uses, when the connection to the
        segment's server changes. The states are "disconnected", "connected" (again), and "lost"
        (the server came back without the segment). Returns a function that ends the calls. While a
        program listens, the library reconnects by itself."""
        return self._listen("connection", lambda state: call(CONNECTION_STATES[state]))

    def _listen(self, kind: str, call: Callable[[int], None]) -> Callable[[], None]:
        self._need_open()
        listeners = self._listeners[kind]
        number = next(_numbers)
        listeners[number] = call
        _tell(self, kind)

        def end() -> None:
            if listeners.pop(number, None) is not None and not self._core.is_closed:
                _tell(self, kind)
        return end

    def changes(self) -> "Changes":
        """For asyncio: `async for version in segment.changes():`. Gives versions newer than the
        copy, also those made while the connection was lost. If versions come faster than the
        program takes them, it gets the newest. Raises SegmentLost when the server came back without
        the segment."""
        return Changes(self)


class Changes(AsyncIterator[int]):
    """Gives the newest versions as they are announced, until aclose() or the end of the segment."""

    def __init__(self, segment: Segment) -> None:
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()  # stays set after the end
        self._newest = 0
        self._segment = segment
        self._is_lost = False
        self._end: Optional[Callable[[], None]] = segment.on_change(self._tell)
        self._end_connection = segment.on_connection(self._tell_connection)
        segment._followers.add(self)
        known = segment.stats
        if known.newest_known > known.version:  # was announced before, and is not announced again
            self._take(known.newest_known)

    def _tell(self, version: int) -> None:
        self._soon(lambda: self._take(version))

    def _tell_connection(self, state: str) -> None:
        if state == "lost":
            self._soon(self._lose)

    def _lose(self) -> None:
        self._is_lost = True
        self._finish()

    def _end_soon(self) -> None:
        self._soon(self._finish)

    def _soon(self, call: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # the loop was closed
            pass

    def _take(self, version: int) -> None:
        if version == 0:  # the empty segment, at which every copy begins
            return
        self._newest = version
        self._news.set()

    def _finish(self) -> None:
        if self._end is not None:
            self._end()
            self._end_connection()
            self._end = None
            self._segment._followers.discard(self)
            self._news.set()

    def __aiter__(self) -> "Changes":
        return self

    async def __anext__(self) -> int:
        await self._news.wait()
        if self._is_lost:
            self._is_lost = False
            raise SegmentLost(f"{self._segment.url}: the server came back without what this "
                              "process had of the segment; close it and open it again "
                              "[SEGMENT_LOST]")
        if self._end is None:
            raise StopAsyncIteration
        self._news.clear()
        return self._newest

    async def aclose(self) -> None:
        self._finish()


# By kind of call and segment, because all openings of a URL share one copy and its callbacks.
_hearers: Dict[Tuple[str, int], List[Segment]] = {}
_numbers = itertools.count()


def _tell(segment: Segment, kind: str) -> None:
    """Begins or ends the library's calls of a kind. REQUIRES: the segment's listeners just
    changed."""
    key = (kind, segment.identity)
    hearers = [one for one in _hearers.get(key, []) if one is not segment]
    if segment._listeners[kind]:
        hearers.append(segment)
    was_heard = bool(_hearers.get(key))
    _hearers[key] = hearers
    if bool(hearers) == was_heard:
        return

    def call(what: int) -> None:
        for hearer in list(_hearers.get(key, [])):
            for listener in list(hearer._listeners[kind].values()):
                listener(what)
    begin = segment._core.set_on_change if kind == "change" else segment._core.set_on_connection
    begin(call if hearers else None)


def _opened(url: str) -> Segment:
    """Opens the segment to which a pointer or MIP leads, but does not make it. If this process has
    it open read-only, this opening is read-only too."""
    try:
        return Segment(url, create=False)
    except ReadOnly:
        return Segment(url, create=False, read_only=True)


def _place_of_mip(mip: str) -> Tuple[Segment, int]:
    segment = _opened(mip.partition("#")[0])
    return segment, _core.address_of_mip(mip)


def _foreign(address: int, target: Optional[Layout]) -> Any:
    """Returns the target of a pointer into another segment, which may not be locked."""
    mip = _core.mip_of(address)
    try:
        segment, real = _place_of_mip(mip)
    except Error as failure:
        failure.args = (f"a pointer to {mip} cannot be followed: {failure}",)
        raise
    if target is None:
        return _value_at(segment, real)
    place = _core.place_at(segment._core, real, int(mip.split("#")[1]))
    if target.numbers is not None and not target.numbers[1]:
        return segment._follow(real, target)
    return target.reference(segment, place)


def _value_at(segment: Segment, address: int) -> Any:
    place, begin, table, count, _, _, is_reserved, _ = _core.describe_block(segment._core, address)
    if is_reserved:
        raise NoBlock(f"it is in no version of {segment.url} that is here [NO_BLOCK]")
    if address == begin:
        return segment._block_at(address).value
    layout = layout_of(table)
    return layout.at_offset((address - begin) % layout.size).reference(segment, place)


def at(mip: str) -> Any:
    """Returns the value at a MIP. Without a block in the MIP it is the value of the segment's first
    block. Opens the segment if it is not open, and takes a reader lock for a moment if this thread
    holds no lock. Read the value under a lock of `interweave.segment_of(value)`."""
    segment, address = _place_of_mip(mip)
    if segment.is_locked:
        return _value_at(segment, address)
    with segment.read():
        return _value_at(segment, address)
