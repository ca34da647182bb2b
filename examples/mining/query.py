#!/usr/bin/env python3
"""query.py: the questions and answers of mining-query, in Python.

It needs no types of its own: the segment describes itself. The lattice is walked under a reader
lock by following pointers, as in C++; supports are looked up in two numpy arrays.
"""

from __future__ import annotations

import argparse
import sys
import threading
from typing import Any, Iterator, List, NamedTuple, Optional

import interweave

EXAMPLES = """\
examples:
  query.py 1 6                              who bought item 1, and item 6 later
  query.py 1,6                              who bought both together
  query.py --follow --coherence delta:4 1   a new answer after five versions or more
"""
LOOK_AGAIN_S = 1  # whatever the model, the wait for a change ends


def coherence_named(text: str) -> interweave.Coherence:
    name, _, bound = text.partition(":")
    bounded = {"delta": interweave.Delta, "temporal": interweave.Temporal, "diff": interweave.Diff}
    try:
        if text in ("full", "strict"):
            return {"full": interweave.FULL, "strict": interweave.STRICT}[text]
        return bounded[name](int(bound) if name == "delta" else float(bound))
    except (KeyError, ValueError):
        raise refused(
            text, "one of full, strict, delta:VERSIONS, temporal:SECONDS, diff:PERCENT") from None


def purchase(text: str) -> List[int]:
    """Items as the lattice spells them (lattice.x): -1 - ITEM is bought with the one before."""
    items = sorted({int(word) if word.isdecimal() else -1 for word in text.split(",")})
    if items[0] < 0:
        raise refused(text, "an item, or items with commas between")
    return items[:1] + [-1 - item for item in items[1:]]


def how_many(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise refused(text, "a whole number above 0")
    return int(text)


def refused(text: str, expected: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"'{text}' is not {expected}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=
        "Tells what customers who made these purchases, one after another, buy next; from the "
        "lattice "
        "that mining-builder keeps. A purchase is one item, or some that were bought together: "
        "ITEM,ITEM.",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("purchases", nargs="*", type=purchase, metavar="PURCHASE")
    parser.add_argument("--url", default="127.0.0.1:7747/mining")
    parser.add_argument(
        "--coherence", type=coherence_named, default=interweave.FULL,
        help="full, strict, delta:VERSIONS, temporal:SECONDS, or diff:PERCENT of the lattice (full)"
    )
    parser.add_argument("--follow", action="store_true",
                        help="answers again until the lattice is finished")
    parser.add_argument("--top", type=how_many, default=10,
                        help="so many answers, the most frequent first (10)")
    return parser.parse_args()


class Next(NamedTuple):
    customers: int
    step: int  # as lattice.x spells items


def support(lattice: Any, sequence: Any) -> int:
    row = sequence.row
    return int(lattice.support_base[row]) + int(lattice.support_gain[row])


def extensions(lattice: Any, sequence: Any) -> Iterator[Any]:
    """The frequent ones."""
    at = sequence.extended_by
    while at is not None:
        if support(lattice, at) >= lattice.minimum:
            yield at
        at = at.next


def find(lattice: Any, steps: List[int]) -> Optional[Any]:
    at = lattice.root
    for step in steps:
        at = next((one for one in extensions(lattice, at) if one.item == step), None)
        if at is None:
            return None
    return at


def next_after(lattice: Any, sequence: Any) -> List[Next]:
    found = [Next(support(lattice, one), one.item) for one in extensions(lattice, sequence)]
    return sorted(found, key=lambda one: -one.customers)


def spelled(steps: List[int]) -> str:
    text = ""
    for step in steps:
        text += (", later " if text else "") + str(step) if step >= 0 else f" with {-1 - step}"
    return text


def how_bought(step: int, is_first: bool) -> str:
    if step < 0:
        return f"{-1 - step} with it"
    return str(step) if is_first else f"{step} later"


def find_lattice(segment: interweave.Segment) -> Optional[Any]:
    if "lattice" not in segment or segment.block("lattice").type != "lattice_t":
        return None
    return segment["lattice"]


def answer(version: int, lattice: Any, steps: List[int], top: int) -> None:
    print(f"version {version}: {lattice.customers} customers, {lattice.sequences} sequences")
    found = find(lattice, steps)
    if found is None:
        print(f"fewer than {lattice.minimum} customers bought {spelled(steps)}", flush=True)
        return
    having = support(lattice, found) if steps else lattice.customers
    if steps:
        print(f"{having} customers bought {spelled(steps)}; next they buy")
    for one in next_after(lattice, found)[:top]:
        print(f"{one.customers:8} {one.customers / having * 100:5.1f} %  "
              f"{how_bought(one.step, not steps)}")
    sys.stdout.flush()


def main() -> int:
    options = arguments()
    steps = [step for one in options.purchases for step in one]
    answered = 0
    # One who follows may be there before the builder; others must not make a segment by a
    # slip of the pen.
    with interweave.open(options.url, coherence=options.coherence,
                         create=options.follow) as segment:
        changed = threading.Event()
        if options.follow:
            segment.on_change(lambda version: changed.set())
        while True:
            changed.clear()
            with segment.read():
                lattice = find_lattice(segment)
                if lattice is not None and segment.version != answered:
                    answered = segment.version
                    answer(answered, lattice, steps, options.top)
                is_finished = lattice is not None and lattice.finished
            if is_finished or not options.follow:
                break
            changed.wait(LOOK_AGAIN_S)
    if answered == 0:
        print(f"query.py: {options.url} holds no lattice; see mining-builder", file=sys.stderr)
    return 0 if answered else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except interweave.Error as failure:
        sys.exit(f"query.py: {failure}")
    except KeyboardInterrupt:
        sys.exit(0)
