"""The conformance agent of the Python client. It obeys the commands of conformance/README.md.

Values are looked at and stored as programs do it, by the layouts of interweave's objects; where a
command wants what those refuse (a discriminant without an arm), it is stored as bits, for the
release to refuse.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from typing import Any, Callable, Dict, Iterator, Optional

import interweave
from interweave import _core
from interweave.segment import Block
from interweave.views import end_writing

import units
from declarations import Declarations, described
from listening import Listening

# The releases that give the lock up although they fail (IW_wl_release of interweave.h).
LOST = (interweave.Fenced, interweave.RolledBack)

MODELS: Dict[str, Callable[[float], interweave.Coherence]] = {
    "full": lambda _: interweave.FULL, "strict": lambda _: interweave.STRICT,
    "null": lambda _: interweave.NULL, "delta": interweave.Delta, "temporal": interweave.Temporal,
    "diff": interweave.Diff
}

CONTROLS = {"b": "\\u0008", "f": "\\u000c", "n": "\\u000a", "r": "\\u000d", "t": "\\u0009"}


class Agent:
    def __init__(self) -> None:
        self.segments: Dict[str, interweave.Segment] = {}
        self.listening: Dict[str, Listening] = {}
        self.types = Declarations()

    def obey(self, line: str) -> str:
        name, _, rest = line.partition(" ")
        command: Optional[Callable[[str], Any]] = getattr(self, f"do_{name}", None)
        if command is None:
            return "error UNIMPLEMENTED no such command"
        try:
            answer = command(rest)
            return "ok" if answer is None else f"ok {answer}"
        except interweave.Error as failure:
            return f"error {failure.code_name} {str(failure)}".replace("\n", " ")
        except (LookupError, TypeError, ValueError, OverflowError) as wrong:
            return f"error BAD_ARGUMENT {wrong}".replace("\n", " ")

    def do_hello(self, _: str) -> str:
        return json_text({
            "client": "python", "machine": platform.machine(), "byte_order": sys.byteorder,
            "pointer_bits": 64 if sys.maxsize > 2**32 else 32,
            "abilities": ["declare", "write", "owned", "pointers", "coherence", "messages"]
        })

    def do_types(self, text: str) -> None:
        self.types.declare(json.loads(text))

    def do_open(self, rest: str) -> None:
        name, url, *words = rest.split(" ")
        options: Dict[str, Any] = {"create": "create" in words, "read_only": "read_only" in words}
        for durability in ("memory", "written"):
            if durability in words:
                options["durability"] = durability
        for word in words:
            option, _, number = word.partition("=")
            if number:
                options[option] = {"timeout": float, "quota": int}[option](number)
        self.segments[name] = interweave.open(url, **options)

    def do_close(self, name: str) -> None:
        self.segments.pop(name).close()

    def do_reset(self, _: str) -> None:
        for segment in self.segments.values():
            segment.close()
        self.segments.clear()

    def do_rl(self, rest: str) -> None:
        name, *words = rest.split(" ")
        timeout = float(words[0]) if words else None
        self.segments[name].read(timeout=timeout, fresh="fresh" in words[1:]).__enter__()

    def do_rl_release(self, name: str) -> None:
        self.segments[name].read().__exit__()

    def do_wl(self, rest: str) -> None:
        name, *words = rest.split(" ")
        self.segments[name].write(timeout=float(words[0]) if words else None).__enter__()

    def do_wl_release(self, name: str) -> None:
        """Releases as the end of a `with segment.write()` does, but does not abort a refused
        release."""
        segment = self.segments[name]
        try:
            segment._core.release_write()
        except LOST:
            if segment.is_write_locked:
                segment.abort()
            raise
        if not segment.is_write_locked:
            end_writing(segment.identity)

    def do_wl_abort(self, name: str) -> None:
        self.segments[name].abort()

    def do_coherence(self, rest: str) -> None:
        name, model, *bound = rest.split(" ")
        self.segments[name].coherence = MODELS[model](float(bound[0]) if bound else 0)

    def do_version(self, name: str) -> int:
        return self.segments[name].version

    def do_staleness(self, name: str) -> Any:
        seconds = self.segments[name].staleness
        return "never" if seconds is None else seconds

    def do_refresh(self, name: str) -> None:
        self.segments[name].refresh()

    def do_messages(self, name: str) -> int:
        return self.segments[name].stats.messages_sent

    def do_listen(self, name: str) -> None:
        self.listening[name] = Listening(self.segments[name])

    def do_told(self, rest: str) -> Optional[int]:
        name, what, *words = rest.split(" ")
        return self.listening[name].told(what, float(words[0]) if words else 30)

    def do_make(self, rest: str) -> int:
        name, block, count, text = rest.split(" ", 3)
        kind = self.types.find(json.loads(text))
        segment = self.segments[name]
        return segment.block(
            segment.new(kind, name=None if block == "-" else block, count=int(count))).serial

    def do_free(self, rest: str) -> None:
        name, block = rest.split(" ")
        segment = self.segments[name]
        segment.free(found(segment, block))

    def do_get(self, rest: str) -> str:
        return json_text(self.unit(*rest.split(" ")).value())

    def do_put(self, rest: str) -> None:
        name, place, text = rest.split(" ", 2)
        self.unit(name, place).put(json.loads(text))

    def do_mip(self, rest: str) -> str:
        return self.unit(*rest.split(" ")).mip()

    def do_resolve(self, text: str) -> str:
        return _core.mip_of(_core.address_of_mip(text))  # as a pointer stored by its MIP

    def do_dump(self, name: str) -> str:
        return json_text([{
            "serial": block.serial, "name": block.name or "", "type": described(block.layout),
            "count": block.count, "units": units.Values.of(block).listed()
        } for block in self.segments[name]])

    def unit(self, name: str, text: str) -> units.Unit:
        """BLOCK["#"UNIT]("/"UNIT)*"""
        first, *steps = text.split("/")
        block, _, offset = first.partition("#")
        unit = units.Values.of(found(self.segments[name], block)).unit(int(offset or "0"))
        for step in steps:
            unit = unit.inside().unit(int(step))
        return unit


def found(segment: interweave.Segment, text: str) -> Block:
    """Finds a block by name or serial, also without a lock. Its use without a lock fails:
    NO_LOCK."""
    key = int(text) if text[0].isdigit() else text
    if segment.is_locked:
        return segment.block(key)
    with segment.read():
        return segment.block(key)


def json_text(value: Any) -> str:
    """JSON as every agent writes it. Control characters and bytes from 0x7f on are escaped by
    number."""
    text = json.dumps(value, separators=(",", ":")).replace("\x7f", "\\u007f")
    return re.sub(r"\\(.)", lambda found: CONTROLS.get(found[1], found[0]), text)


def lines() -> Iterator[str]:
    """The lines of standard input. Sends the answers when no further command is waiting."""
    pending = b""
    while True:
        *whole, pending = pending.split(b"\n")
        for line in whole:
            yield line.decode("ascii")
        sys.stdout.flush()
        some = os.read(0, 1 << 18)
        if not some:
            return
        pending += some


def main() -> None:
    agent = Agent()
    for line in lines():
        sys.stdout.write(agent.obey(line) + "\n")


if __name__ == "__main__":
    main()
