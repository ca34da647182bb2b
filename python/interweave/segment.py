"""Segments: open them by URL, lock them, find their blocks, and hear of changes."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import threading
import time
import weakref
from contextlib import nullcontext
from dataclasses import dataclass
from operator import index
from types import TracebackType
from typing import (Any, AsyncIterator, Callable, ContextManager, Dict, Iterator, List, Optional,
                    Set, Tuple, Type, TypeVar, Union as Either, overload)

import numpy as np

from . import _core, interface, options
from ._core import Place
from .coherence import FULL, Coherence, Model
from .declare import dtype_type, table_of
from .errors import (BadArgument, BadName, BadPointer, BadValue, Error, NoBlock, NoLock, NotOpen,
                     ReadOnly, SegmentLost, TypeConflict, UnknownType, WouldDeadlock)
from .forms import Form, assign, complex_of, form_of, shaped
from .interface import CopyState, Stats
from .layouts import ArrayLayout, EnumLayout, Layout, PrimitiveLayout, address_of, layout_of
from .objects import Reference, Struct, snapshot
from .picture import html_of
from .views import end_writing, view

T = TypeVar("T")
Shape = Either[int, Tuple[int, ...]]
PathLike = Either[str, "os.PathLike[str]"]
# Their values are views, not numbers.
_NumberType = Either[Type[bool], Type[int], Type[float], Type[str], Type["np.generic"]]
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
        if isinstance(value, np.ndarray) and (value.dtype.names or value.dtype.kind == "c"):
            return self._store_records(value)
        is_number = isinstance(self.layout, (PrimitiveLayout, EnumLayout))
        if self.count > 1 or is_number and (isinstance(value, (bytes, bytearray))
                                            or np.ndim(value) > 0):
            self._place.check_writable()
            self.layout.store_row(self.segment, self._place, self.count, value)
        else:
            self.layout.store(self.segment, self._place, 0, value)

    def is_like(self, layout: Layout, count: int) -> bool:
        """Whether the block is `count` values of this type."""
        return self.count == count and self.layout.is_like(layout)

    def numpy(self) -> "np.ndarray[Any, Any]":
        """The whole block as a numpy view: numbers, or records of numbers and bounded strings.
        Thrown: BadValue for what numpy has no type for."""
        dtype = self.layout.record_dtype
        if dtype is None:
            raise BadValue(f"{self.layout.spelled} holds what numpy has no type for [BAD_VALUE]")
        shape = () if self.count == 1 else (self.count,)
        return view(self.segment.identity, self._place, 0, dtype, shape)

    def copy(self) -> Any:
        """A copy that does not need the segment, as `Segment.get` returns it."""
        if self.layout.record_dtype is None:
            return snapshot(self.value)
        if self.count == 1 and isinstance(self.layout, EnumLayout):
            return self.layout.member(int(self.value[0]))
        array = self.numpy().copy()
        if array.dtype.names:
            numbers = complex_of(array, self._element_name())
            if numbers is None:
                return snapshot(self.value) if array.ndim == 0 else array
            array = numbers
        return array.item() if array.ndim == 0 else array

    def _element_name(self) -> str:
        layout = self.layout
        while isinstance(layout, ArrayLayout):
            layout = layout.element
        return layout.name

    def _store_records(self, value: "np.ndarray[Any, Any]") -> None:
        self._place.check_writable()
        target = self.numpy()
        if target.shape != value.shape:
            raise ValueError(f"records of shape {value.shape} for {target.shape}")
        assign(target, value)

    def __repr__(self) -> str:
        name = f" '{self.name}'" if self.name else ""
        return f"<block {self.serial}{name}: {self.count} of {self.type}>"


def _store(block: Block, value: Any) -> None:
    Block.value.__set__(block, value)  # type: ignore[attr-defined]


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
        self.url = options.url_text(url)
        self._core = _core.Segment(
            self.url, options.flag("create", create), options.flag("read_only", read_only),
            DURABILITY[durability], options.seconds("timeout", timeout),
            options.count_of_bytes("quota", quota), options.secret("token", token),
            options.file_name("ca", ca), options.file_name("cert", cert),
            options.file_name("key", key))
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
        """Overwrites a block. Under a new name it makes one of the value's type, as put does."""
        try:
            block = self.block(key)
        except NoBlock:
            if not isinstance(key, str):
                raise
            self._make(key, form_of(value))
            return
        _store(block, value)

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

    @overload
    def new(self, type: _NumberType, *, name: Optional[str] = ..., count: int = ...,
            shape: Optional[Shape] = ..., value: Any = ...) -> Any: ...

    @overload
    def new(self, type: Type[T], *, name: Optional[str] = ..., value: Any = ...) -> T: ...

    @overload
    def new(self, type: Any, *, name: Optional[str] = ..., count: int = ...,
            shape: Optional[Shape] = ..., value: Any = ...) -> Any: ...

    def new(self, type: Any, *, name: Optional[str] = None, count: int = 1,
            shape: Optional[Shape] = None, value: Any = None) -> Any:
        """Makes a block, all zeros or with the given value, and returns its value. `type` is a
        declared class, a type (interweave.Double), int, float, str, a numpy dtype or its name
        ("f8"), the layout of another block, or the name of another block's type. With `shape` the
        block is an array of it. A numpy array in place of the type makes a block like it, with its
        numbers."""
        if isinstance(type, np.ndarray):
            form = form_of(type)
            if value is not None:
                form = Form(form.type, form.count, value)
            return self._make(name, form).value
        table, count = self._type_and_count(type, count, shape)
        block = self._allocate(table, count, name)
        if value is not None:
            _store(block, value)
        return block.value

    def _type_and_count(self, type: Any, count: int, shape: Optional[Shape]) -> Tuple[int, int]:
        """The type's table, and how many values of it a block has. Thrown: BadArgument,
        UnknownType."""
        if isinstance(count, tuple):
            raise BadArgument(f"count={count}: a block of an array takes shape={count} "
                              "[BAD_ARGUMENT]")
        found = self._layout_named(type) if isinstance(type, str) else type
        if shape is not None:
            if count != 1 or isinstance(found, Layout):
                raise BadArgument("shape stands in place of count, and beside a declared type or a "
                                  "dtype [BAD_ARGUMENT]")
            found, count = shaped(found, (shape,) if isinstance(shape, int) else tuple(shape))
        if not 0 <= index(count) < 2**64:
            raise BadArgument(f"a block of {count} values: their number is from 0 to 2^64 - 1 "
                              "[BAD_ARGUMENT]")
        return found.table if isinstance(found, Layout) else table_of(found), count

    def _allocate(self, table: int, count: int, name: Optional[str]) -> Block:
        return self._block_at(_core.allocate(self._core, table, count, name))

    def _make(self, name: Optional[str], form: Form) -> Block:
        block = self._allocate(table_of(form.type), form.count, name)
        _store(block, form.value)
        return block

    def ensure(self, name: str, type: Any, *, count: int = 1,
               shape: Optional[Shape] = None) -> Any:
        """Returns the value of the block with this name. Makes the block if it does not exist.
        Arguments are those of `new`. Needs the writer lock. Thrown: TypeConflict if the block has
        another type or number of values."""
        table, count = self._type_and_count(type, count, shape)
        if name not in self:
            return self._allocate(table, count, name).value
        block = self.block(name)
        wanted = layout_of(_core.laid_out(table))
        if not block.is_like(wanted, count):
            raise TypeConflict(f"block '{name}' is {block.count} of {block.type}, not {count} of "
                               f"{wanted.spelled} [TYPE_CONFLICT]")
        return block.value

    def put(self, name: str, value: Any, *, replace: bool = False) -> None:
        """Stores a value under a name, in a writer section of its own or in the present one. A new
        name makes a block of the value's type: a number, a string, bytes, a numpy array, a
        dataclass or a list of these. A block of another type or shape is refused (TypeConflict),
        or freed and made anew with `replace`."""
        form = form_of(value)
        if not self.is_write_locked:
            with self.write():
                self._put(name, form, replace)
        else:
            self._put(name, form, replace)

    def _put(self, name: str, form: Form, replace: bool) -> None:
        if name in self:
            block = self.block(name)
            made = layout_of(_core.laid_out(table_of(form.type)))
            if block.is_like(made, form.count):
                return _store(block, form.value)
            if not replace:
                raise TypeConflict(f"block '{name}' is {block.count} of {block.type}, and the "
                                   f"value is {form.count} of {made.spelled}: to make the block "
                                   "anew, use put(..., replace=True) [TYPE_CONFLICT]")
            del self[name]
        self._make(name, form)

    def get(self, name: Either[str, int], *default: Any) -> Any:
        """Returns a copy of a block's value, read under a reader lock of its own or the present
        lock: a number, a string, a numpy array, a dict for a struct, a list. Without such a block
        it returns the default, if one is given. Thrown: NoBlock."""
        with self._looking():
            try:
                return self.block(name).copy()
            except NoBlock:
                if default:
                    return default[0]
                raise

    def keys(self) -> List[str]:
        """The names of the blocks that have one, in the order of their serials."""
        with self._looking():
            return [block.name for block in self if block.name]

    def _looking(self) -> ContextManager[Any]:
        """A reader lock, if this thread holds no lock."""
        return nullcontext() if self.is_locked else self.read()

    def _ipython_key_completions_(self) -> List[str]:
        return self.keys()

    def _repr_html_(self) -> str:
        """The segment as a table for notebooks: at one version, and hardly waiting for writers."""
        return html_of(self)

    def _layout_named(self, name: str) -> Any:
        """Returns the layout of the type with a name, from a block that has it, or the type of a
        numpy dtype with a size ("f8", "int32"). Thrown: UnknownType."""
        for block in self:
            if block.type == name:
                return block.layout
        if re.fullmatch(r"[<>=]?[iufb][1248]|(u?int|float)(8|16|32|64)", name):
            number = dtype_type(np.dtype(name))
            if number is not None:
                return number
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

    async def changed(self, timeout: Optional[float] = None) -> int:
        """For asyncio: waits for a version newer than the copy, and returns its number. Thrown:
        TimeoutError after so many seconds, SegmentLost."""
        changes = self.changes()
        try:
            return await asyncio.wait_for(changes.__anext__(), timeout)
        finally:
            await changes.aclose()

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
