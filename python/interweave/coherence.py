"""How recent is recent enough: the coherence models (rules COH-* of spec/coherence.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Union


@dataclass(frozen=True)
class Coherence:
    """One of the models below, as the C interface numbers it, with its bound."""

    model: int
    bound: float = 0.0


FULL = Coherence(1)
"""The newest version at some moment during the acquire: the default."""
STRICT = Coherence(2)
"""The newest, and no writer anywhere while the reader reads."""
NULL = Coherence(3)
"""Any version; Segment.refresh() fetches."""


def Delta(versions: float) -> Coherence:
    """At most so many versions old."""
    return Coherence(4, float(versions))


def Temporal(seconds: float) -> Coherence:
    """The newest at some time not longer ago than that."""
    return Coherence(5, float(seconds))


def Diff(percent: float) -> Coherence:
    """At most so many per cent of the units changed since."""
    return Coherence(6, float(percent))


@dataclass(frozen=True)
class CopyState:
    """What a model of the program's own may look at."""

    version: int
    """Of the copy."""
    newest_known: int
    """The newest version that this process has heard of."""
    seconds_confirmed: float
    """How long ago the copy was last known to be the newest version; very large if it never was."""
    subscribed: bool
    """Whether the server tells of newer versions."""


Model = Union[Coherence, Callable[[CopyState], bool]]
"""A Coherence, or a function that says whether a copy is recent enough."""
