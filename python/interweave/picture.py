"""A segment as HTML, as notebooks show it in the last line of a cell.

The blocks are shown as they were at one version. A cell must not wait for a writer, so the lock
waits as long as the server needs to send a version, and no longer. If it cannot be had, the last
picture is shown with its age. The first picture has nothing to fall back on, and waits longer.
"""

from __future__ import annotations

import html
import time
from typing import TYPE_CHECKING, Any, Iterator, List, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from .errors import Error, NotOpen, TimedOut
from .objects import Array, Struct, Union

if TYPE_CHECKING:
    from .segment import Block, Segment

MOST_BLOCKS = 50
MOST_FIELDS = 20
LONGEST_TEXT = 60
FIRST_WAIT_S = 5.0
NEXT_WAIT_S = 0.2


class _Picture(NamedTuple):
    rows: str
    version: int
    taken_s: float


_last: "WeakKeyDictionary[Segment, _Picture]" = WeakKeyDictionary()


def html_of(segment: "Segment") -> str:
    """The segment's picture. Raises nothing: what cannot be shown is said in it."""
    title = f"<b>{html.escape(segment.url)}</b>"
    try:
        picture = _last[segment] = _taken(segment)
    except NotOpen:
        return f"<div>{title} (closed)</div>"
    except Error as failure:
        old = _last.get(segment)
        if old is None:
            return f"<div>{title}: {html.escape(str(failure))}</div>"
        age_s = time.monotonic() - old.taken_s
        why = "a writer is at work" if isinstance(failure, TimedOut) else html.escape(str(failure))
        return f"<div>{title}, version {old.version}, {age_s:.0f} s old: {why}{old.rows}</div>"
    return f"<div>{title}, version {picture.version}{picture.rows}</div>"


def _taken(segment: "Segment") -> _Picture:
    if segment.is_locked:
        return _Picture(_table(segment), segment.version, time.monotonic())
    with segment.read(timeout=NEXT_WAIT_S if segment in _last else FIRST_WAIT_S):
        return _Picture(_table(segment), segment.version, time.monotonic())


def _table(segment: "Segment") -> str:
    blocks: List["Block"] = []
    left_out = 0
    for block in segment:
        if len(blocks) < MOST_BLOCKS:
            blocks.append(block)
        else:
            left_out += 1
    rows = "".join(f"<tr>{_cells(block)}</tr>" for block in blocks)
    more = f"<div>and {left_out:,} blocks more</div>" if left_out else ""
    head = "<tr><th>block</th><th>type</th><th>value</th></tr>"
    return f"<table>{head}{rows}</table>{more}" if blocks else "<div>no blocks</div>"


def _cells(block: "Block") -> str:
    name = html.escape(block.name or f"#{block.serial}")
    count = f" &times; {block.count:,}" if block.count != 1 else ""
    kind = f"{html.escape(block.type)}{count}"
    return (f"<td style='text-align:left'>{name}</td><td style='text-align:left'>{kind}</td>"
            f"<td style='text-align:left'>{_shown(block.value)}</td>")


def _shown(value: Any) -> str:
    if isinstance(value, Struct):
        lines = "".join(f"<div>{line}</div>" for line in _fields(value))
        return f"<details><summary>{len(value._layout.fields)} fields</summary>{lines}</details>"
    return html.escape(_line(value))


def _fields(value: Struct) -> Iterator[str]:
    for number, name in enumerate(value):
        if number == MOST_FIELDS:
            yield "&hellip;"
            return
        yield f"{html.escape(name)}: {html.escape(_line(value[name]))}"


def _line(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return _numbers(value)
    if isinstance(value, (Struct, Union)):
        return f"<{value._layout.spelled}>"
    if isinstance(value, Array):
        return f"{len(value):,} of {value._layout.spelled}"
    text = repr(value)
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "\N{HORIZONTAL ELLIPSIS}"


def _numbers(array: "np.ndarray[Any, Any]") -> str:
    if array.size == 1:
        return str(array.reshape(-1)[0])
    if array.size <= 8:
        return np.array2string(array, precision=4, separator=", ").replace("\n", "")
    shape = " \N{MULTIPLICATION SIGN} ".join(str(length) for length in array.shape)
    return f"{shape}, {array.min():.6g} to {array.max():.6g}"
