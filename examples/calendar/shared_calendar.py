#!/usr/bin/env python3
"""shared_calendar.py: the calendar of shared-calendar (C++) for the same commands, in Python.

Each change is one writer section: it happens whole or, when the program is refused, interrupted or
killed in it, not at all.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Callable, Dict, Iterator, List, Tuple

import interweave

PERSON_NAME_MAX, ROOM_MAX, TITLE_MAX = 15, 3, 255
HOURS_MAX = 1000
SHORT_WAIT_S, LOCK_WAIT_S = 0.5, 30
READ_WAIT_S = 2
LOOK_S = 2  # the feed looks whether the server is still there
INTERRUPTED = 130
EPOCH = datetime(1970, 1, 1)
# Where a writer section can be looked at, stopped and killed.
POINTS = ("locked", "halfway", "done")

EXAMPLES = """\
examples:
  interweave serve --store memory                                      one terminal
  shared_calendar.py watch                                             another
  shared_calendar.py add 2026-11-21T10:00 1.5 'Review' --room B12 --who Ann
  shared-calendar move 1 2026-11-21T14:00
  shared_calendar.py --hold halfway remove 1
"""


# The types of calendar.x, in the names that it has.
@interweave.struct
class person:
    name: interweave.String[PERSON_NAME_MAX]
    next: interweave.Pointer["person"]


@interweave.struct
class appointment:
    number: interweave.UInt
    starts_min: interweave.Hyper
    hours: interweave.Double
    room: interweave.String[ROOM_MAX]
    title: interweave.String[TITLE_MAX]
    notes: interweave.Text
    who: interweave.Pointer["person"]
    next: interweave.Pointer["appointment"]


@interweave.struct
class calendar:
    last_number: interweave.UInt
    count: interweave.UInt
    first: interweave.Pointer["appointment"]
    people: interweave.Pointer["person"]


class Refused(Exception):
    """What was asked cannot be done; the text says why, and what can."""


def minutes_of(text: str) -> int:
    try:
        moment = datetime.strptime(text, "%Y-%m-%dT%H:%M")
    except ValueError:
        moment = datetime.min
    if moment < EPOCH:
        raise Refused(f"'{text}' is not a time like 2026-11-21T10:00")
    return (moment - EPOCH) // timedelta(minutes=1)


def moment_text(minutes: int) -> str:
    try:
        return (EPOCH + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M")
    except OverflowError:  # another program's, or the end of what begins in 9999
        return f"minute {minutes}"


def end_of(starts_min: int, hours: float) -> int:
    return starts_min + int(hours * 60 + 0.5)


@dataclass(frozen=True)
class Entry:
    """An appointment as it was under a lock."""

    number: int
    starts_min: int
    hours: float
    room: str
    who: str
    title: str
    notes: str

    def __str__(self) -> str:
        """As `list` and `watch` show it, in every language."""
        line = (f"{self.number} {moment_text(self.starts_min)} {self.hours:g}h {self.room or '-'} "
                f"{self.who}: {self.title}")
        return f"{line} ({self.notes})" if self.notes else line


def entry_of(one: Any) -> Entry:
    who = one.who.name if one.who is not None else ""
    return Entry(one.number, one.starts_min, one.hours, one.room, who, one.title, one.notes)


class SharedCalendar:
    """The calendar in its segment. `at` is called at each point of each writer section."""

    def __init__(self, url: str, at: Callable[[str], None]) -> None:
        self.segment = interweave.open(url)
        self._at = at

    @contextmanager
    def _section(self) -> Iterator[None]:
        """The writer lock; an exception inside undoes everything."""
        with ExitStack() as section:
            try:
                section.enter_context(self.segment.write(timeout=SHORT_WAIT_S))
            except interweave.TimedOut:
                complain("waiting for another program that is writing; Ctrl-C gives up")
                section.enter_context(self.segment.write(timeout=LOCK_WAIT_S))
            self._at("locked")
            yield

    def add(self, wanted: Entry) -> Entry:
        """Under a number that it is given."""
        with self._section():
            shared = self._find()
            if shared is None:
                shared = self.segment.new(calendar, name="calendar")
            self._check_room(shared, wanted)
            shared.last_number += 1
            made = self.segment.new(
                appointment, value={
                    "number": shared.last_number, "starts_min": wanted.starts_min,
                    "hours": wanted.hours, "room": wanted.room, "title": wanted.title,
                    "notes": wanted.notes
                })
            made.who = self._person_named(shared, wanted.who)
            self._link_in(shared, made)
            self._at("halfway")  # it is in the list and not yet counted
            shared.count += 1
            added = entry_of(made)
            self._at("done")
        return added

    def move(self, number: int, starts_min: int) -> Entry:
        with self._section():
            shared, before, moved = self._find_appointment(number)
            wanted = replace(entry_of(moved), starts_min=starts_min)
            self._check_room(shared, wanted)
            self._take_out(shared, before, moved)
            moved.starts_min = starts_min
            self._at("halfway")  # it is in no list
            self._link_in(shared, moved)
            self._at("done")
        return wanted

    def remove(self, number: int) -> Entry:
        """Gives what it was."""
        with self._section():
            shared, before, removed = self._find_appointment(number)
            was = entry_of(removed)
            self._take_out(shared, before, removed)
            self._at("halfway")  # it is out of the list and still counted
            shared.count -= 1
            self.segment.free(removed)
            self._at("done")
        return was

    def entries(self) -> List[Entry]:
        """By their starts."""
        with self.segment.read(timeout=READ_WAIT_S):
            shared = self._find()
            all_entries = []
            one = shared.first if shared is not None else None
            while one is not None:
                all_entries.append(entry_of(one))
                one = one.next
            return all_entries

    def _find(self) -> Any:
        if "calendar" not in self.segment:
            return None
        if self.segment.block("calendar").type != "calendar":
            raise Refused(f"{self.segment.url} holds something else than a calendar; choose "
                          "another segment with --url")
        return self.segment["calendar"]

    def _find_appointment(self, number: int) -> Tuple[Any, Any, Any]:
        """The calendar, the appointment before (or None), and the one of that number."""
        shared = self._find()
        before, one = None, shared.first if shared is not None else None
        while one is not None and one.number != number:
            before, one = one, one.next
        if one is None:
            raise Refused(f"the calendar has no appointment {number}; `list` shows the numbers")
        return shared, before, one

    @staticmethod
    def _take_out(shared: Any, before: Any, one: Any) -> None:
        if before is None:
            shared.first = one.next
        else:
            before.next = one.next

    @staticmethod
    def _link_in(shared: Any, one: Any) -> None:
        before, after = None, shared.first
        while after is not None and (after.starts_min, after.number) < (one.starts_min, one.number):
            before, after = after, after.next
        one.next = after
        if before is None:
            shared.first = one
        else:
            before.next = one

    def _person_named(self, shared: Any, name: str) -> Any:
        one = shared.people
        while one is not None and one.name != name:
            one = one.next
        if one is None:
            one = self.segment.new(person, value={"name": name})
            one.next = shared.people
            shared.people = one
        return one

    @staticmethod
    def _check_room(shared: Any, wanted: Entry) -> None:
        """A room is for one appointment at a time; that one itself does not count."""
        one = shared.first if wanted.room else None
        while one is not None:
            end = end_of(one.starts_min, one.hours)
            wanted_end = end_of(wanted.starts_min, wanted.hours)
            if (one.number != wanted.number and one.room == wanted.room
                    and one.starts_min < wanted_end and wanted.starts_min < end):
                raise Refused(f"room {wanted.room} is taken until {moment_text(end)} "
                              f"by {one.number} '{one.title}'; "
                              "choose another time or another --room")
            one = one.next


def say(line: str) -> None:
    print(line, flush=True)


def complain(line: str) -> None:
    print(f"shared_calendar.py: {line}", file=sys.stderr, flush=True)


def hold(point: str) -> None:
    """Waits for a line of the input, or its end."""
    say(f"held at {point}: kill -9 {os.getpid()}, or Enter to continue, or Ctrl-C to undo")
    sys.stdin.readline()


def differences(before: List[Entry], after: List[Entry]) -> List[str]:
    """`+` and `-` before an appointment that came and went, `~` before one that was changed."""
    was: Dict[int, Entry] = {one.number: one for one in before}
    now: Dict[int, Entry] = {one.number: one for one in after}
    lines = []
    for number in sorted(was.keys() | now.keys()):
        if number not in was:
            lines.append(f"+ {now[number]}")
        elif number not in now:
            lines.append(f"- {was[number]}")
        elif was[number] != now[number]:
            lines.append(f"~ {now[number]}")
    return lines


def watch(shared: SharedCalendar) -> None:
    news = threading.Event()
    shared.segment.on_change(lambda version: news.set())
    known = shared.entries()
    say(f"watching {shared.segment.url}: {len(known)} appointments")
    could_before = True
    while True:
        news.clear()
        try:
            now = shared.entries()
            for line in differences(known, now):
                say(line)
            known, could_before = now, True
        except interweave.Error as failure:
            if could_before:
                complain(f"{failure}; still trying")
            could_before = False
        news.wait(LOOK_S)


def entry_to_add(start: str, hours: str, title: str, options: argparse.Namespace) -> Entry:
    try:
        number = float(hours)
    except ValueError:
        number = 0
    if not 0 < number <= HOURS_MAX:
        raise Refused(f"'{hours}' is not a number of hours from 0 to {HOURS_MAX}, like 1.5")
    for what, text, size_max in (("--room", options.room, ROOM_MAX),
                                 ("--who", options.who, PERSON_NAME_MAX),
                                 ("the title", title, TITLE_MAX), ("--notes", options.notes, None)):
        if size_max is not None and len(os.fsencode(text)) > size_max:
            raise Refused(f"{what} '{text}' is longer than {size_max} bytes")
        # Lists and feeds are lines, which go to terminals.
        if any(c < " " or c == "\x7f" for c in text):
            raise Refused(f"{what} has a control character; write it in one line")
    return Entry(0, minutes_of(start), number, options.room, options.who, title, options.notes)


def add_lines(shared: SharedCalendar, options: argparse.Namespace) -> int:
    status = 0
    try:
        for line in sys.stdin:
            try:
                start, hours, title = (*line.strip().split(None, 2), "", "", "")[:3]
                say(f"+ {shared.add(entry_to_add(start, hours, title, options))}")
            except Refused as refused:
                complain(str(refused))
                status = 1
    except KeyboardInterrupt:
        complain("interrupted; what it said it added stays")
        return INTERRUPTED
    return status


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=
        "A calendar that several programs write to, in C++ (shared-calendar, the same commands) "
        "and Python.",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="127.0.0.1:7747/calendar",
                        help="another segment than %(default)s")
    parser.add_argument(
        "--hold", choices=POINTS,
        help="add, move, remove: stops in the middle of the writer section, "
        "to be killed with kill -9: no program sees half of a change")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    add = commands.add_parser("add", help="START HOURS TITLE, or - for one a line of the input")
    add.add_argument("start", help="like 2026-11-21T10:00, or -")
    add.add_argument("hours", nargs="?")
    add.add_argument("title", nargs="?")
    add.add_argument("--room", default="")
    add.add_argument("--who", default=os.environ.get("USER", "nobody")[:PERSON_NAME_MAX])
    add.add_argument("--notes", default="")
    move = commands.add_parser("move", help="NUMBER START")
    move.add_argument("number", type=int)
    move.add_argument("start")
    remove = commands.add_parser("remove", help="NUMBER")
    remove.add_argument("number", type=int)
    commands.add_parser("list", help="all appointments")
    commands.add_parser(
        "watch", help="what changes, as it changes: + added, ~ changed, - removed; until Ctrl-C")
    options = parser.parse_args()
    if options.command == "add" and (options.title is None) != (options.start == "-"):
        parser.error("add wants START HOURS TITLE, or - alone")
    if options.command == "add" and options.start == "-" and options.hold:
        parser.error("--hold goes with a single appointment")
    return options


def obey(options: argparse.Namespace) -> int:
    shared = SharedCalendar(options.url,
                            lambda point: hold(point) if point == options.hold else None)
    try:
        if options.command == "add" and options.start == "-":
            return add_lines(shared, options)
        if options.command == "add":
            wanted = entry_to_add(options.start, options.hours, options.title, options)
            say(f"+ {shared.add(wanted)}")
        elif options.command == "move":
            say(f"~ {shared.move(options.number, minutes_of(options.start))}")
        elif options.command == "remove":
            say(f"- {shared.remove(options.number)}")
        elif options.command == "list":
            for one in shared.entries():
                say(str(one))
        else:
            watch(shared)
    except interweave.TimedOut as failure:
        raise Refused(f"{failure}; `interweave ls` shows which program holds the lock") from failure
    return 0


def main() -> int:
    options = arguments()
    # Strings need not be UTF-8; they pass unchanged.
    for channel in (sys.stdin, sys.stdout, sys.stderr):
        channel.reconfigure(errors="surrogateescape")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return obey(options)
    except KeyboardInterrupt:
        if options.command == "watch":
            return 0
        complain("interrupted; nothing was changed")
        return INTERRUPTED
    except (Refused, interweave.Error) as failure:
        complain(str(failure))
        return 1


if __name__ == "__main__":
    sys.exit(main())
