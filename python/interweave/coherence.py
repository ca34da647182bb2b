"""How recent is recent enough: the coherence models (rules COH-* of spec/coherence.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Union

from . import interface
from .interface import CopyState


@dataclass(frozen=True)
class Coherence:
    """One of the models below, as the C interface numbers it, with its bound."""

    model: int
    bound: float = 0.0


FULL = Coherence(interface.Coherence.FULL.value)
"""The newest version at some moment during the acquire: the default."""
STRICT = Coherence(interface.Coherence.STRICT.value)
"""The newest, and no writer anywhere while the reader reads."""
NULL = Coherence(interface.Coherence.NULL.value)
"""Any version; Segment.refresh() fetches."""


def Delta(versions: float) -> Coherence:
    """At most so many versions old."""
    return Coherence(interface.Coherence.DELTA.value, float(versions))


def Temporal(seconds: float) -> Coherence:
    """The newest at some time not longer ago than that."""
    return Coherence(interface.Coherence.TEMPORAL.value, float(seconds))


def Diff(percent: float) -> Coherence:
    """At most so many per cent of the units changed since."""
    return Coherence(interface.Coherence.DIFF.value, float(percent))


Model = Union[Coherence, Callable[[CopyState], bool]]
"""A Coherence, or a function that says whether a copy is recent enough."""
