"""examples/calendar: programs in C++ and Python write to one calendar. Killing one harms no other.

The programs are killed with SIGKILL where they stand: held in the middle of a writer section, or
anywhere between two appointments that they have said they added.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import interweave
from conftest import REPOSITORY, Server

EXAMPLES = Path(os.environ.get("IW_TEST_EXAMPLES") or REPOSITORY / "build/release/examples")
PROGRAMS = {
    "cpp": [str(EXAMPLES / "calendar/shared-calendar")],
    "python": [sys.executable, "-B", str(REPOSITORY / "examples/calendar/shared_calendar.py")],
}
OTHER = {"cpp": "python", "python": "cpp"}


@pytest.fixture(scope="module")
def quick_server():
    """A server with a short lease, so that a dead program soon loses its lock."""
    server = Server("--lease", "1")
    yield server
    server.kill()


@pytest.fixture
def book(quick_server):
    one = Book(f"{quick_server.address}/calendars/{os.urandom(8).hex()}")
    yield one
    one.end()


def heed_ctrl_c():
    """Runs in the child, because a shell that starts the tests with & has the signal ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Book:
    """A calendar, and the programs that use it."""

    def __init__(self, url):
        self.url = url
        self.running = []

    def start(self, language, *words, stdin=subprocess.PIPE):
        command = [*PROGRAMS[language], "--url", self.url, *map(str, words)]
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="surrogateescape",
                                   preexec_fn=heed_ctrl_c)
        self.running.append(process)
        return process

    def run(self, language, *words, status=0):
        """Returns the program's output, or its stderr if the program must fail."""
        out, err = self.start(language, *words).communicate(timeout=60)
        assert self.running.pop().returncode == status, f"{language} {words}: {out}{err}"
        return (err if status else out).splitlines()

    def add(self, language, start, title, *options):
        return self.run(language, "add", start, 1, title, "--who", "Ann", *options)[0]

    def watch(self, language):
        feed = self.start(language, "watch")
        assert feed.stdout.readline().startswith(f"watching {self.url}: ")
        return feed

    def list(self):
        """Returns the calendar, after checking that it is whole and the same in both languages."""
        shown = self.run("cpp", "list")
        assert shown == self.run("python", "list")
        self.check_whole()
        return shown

    def check_whole(self):
        """Checks what a torn section would break: the order, the count, the pointers."""
        with interweave.open(self.url) as segment, segment.read(fresh=True):
            shared = segment["calendar"]
            found, people = [], set()
            one = shared.first
            while one is not None:
                found.append((one.starts_min, one.number))
                people.add(one.who.name)
                one = one.next
            assert found == sorted(found) and len(found) == shared.count
            assert all(number <= shared.last_number for _, number in found)
            kinds = [block.type for block in segment if not block.is_owned]
            assert kinds.count("appointment") == len(found), "an appointment is in no list"
            assert kinds.count("person") >= len(people)

    def end(self):
        for process in self.running:
            process.kill()
            process.communicate()


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL


def test_two_languages_have_one_calendar_and_one_feed(book):
    feeds = [book.watch(language) for language in PROGRAMS]
    commands = [
        ("python", ["add", "2026-11-21T10:00", 1.5, "Review", "--room", "B12", "--who", "Ann"]),
        ("cpp",
         ["add", "2026-11-21T08:15", 0.25, "Käffchen ☕", "--who", "Zoë", "--notes", "n" * 5000]),
        ("cpp", ["move", 1, "2026-11-20T23:59"]),
        ("python", ["move", 2, "2026-12-01T00:00"]),
        ("python", ["add", "2026-11-21T10:00", 2, "t" * 255, "--who", "p" * 15, "--room", "..."]),
        ("cpp", ["remove", 1]),
        ("python", ["remove", 3]),
    ]
    for language, words in commands:
        said = book.run(language, *words)
        assert [feed.stdout.readline().rstrip("\n") for feed in feeds] == said * 2
    assert book.list() == [f"2 2026-12-01T00:00 0.25h - Zoë: Käffchen ☕ ({'n' * 5000})"]
    for feed in feeds:
        feed.send_signal(signal.SIGINT)
        assert feed.communicate(timeout=30)[0] == "" and feed.returncode == 0


@pytest.mark.parametrize("language", PROGRAMS)
def test_what_cannot_be_done_is_said_with_what_can(book, language):
    book.add(language, "2026-11-21T10:00", "Review", "--room", "B12")
    taken = book.run(language, "add", "2026-11-21T10:59", 1, "Lunch", "--room", "B12", status=1)
    assert "taken until 2026-11-21T11:00 by 1 'Review'; choose another time" in taken[0]
    refused = book.run(language, "move", 7, "2026-11-21T10:00", status=1)[0]
    assert "`list` shows the numbers" in refused
    assert "`list` shows the numbers" in book.run(language, "remove", 7, status=1)[0]
    book.run(language, "move", 1, "2026-11-21T10:30")  # its own place is not taken by itself
    assert book.list() == ["1 2026-11-21T10:30 1h B12 Ann: Review"]
    for words in (["add", "tomorrow", 1, "x"],
                  ["add", "2026-02-29T10:00", 1, "x"],
                  ["add", "2026-11-21T10:00", 0, "x"],
                  ["add", "2026-11-21T10:00", 1, "x" * 256],
                  ["add", "2026-11-21T10:00", 1, "x", "--room", "B123"],
                  ["add", "2026-11-21T10:00", 1, "two\nlines"],
                  ["add", "2026-11-21T10:00", 1, "x", "--notes", "\x1b[2J"],
                  ["move", "one", "2026-11-21T10:00"], ["dance"], []):
        process = book.start(language, *words)
        _, complaint = process.communicate(timeout=30)
        assert process.returncode in (1, 2) and complaint != "" and "Traceback" not in complaint
    assert "examples:" in "".join(book.run(language, "--help")).lower()
    nowhere = subprocess.run([*PROGRAMS[language], "--url", "127.0.0.1:1/none", "list"],
                             capture_output=True, text=True)
    assert nowhere.returncode == 1 and "interweave serve" in nowhere.stderr


def test_a_room_is_given_to_one_of_many_who_want_it_at_once(book):
    wanting = [
        book.start(language, "add", "2026-11-21T10:00", 1, f"{language} {i}", "--room", "B12",
                   "--who", "Ann") for i in range(3) for language in PROGRAMS
    ]
    ended = [(process.communicate(timeout=60), process.returncode) for process in wanting]
    assert sorted(status for _, status in ended) == [0, 1, 1, 1, 1, 1]
    assert len(book.list()) == 1


@pytest.mark.parametrize("command", ["add", "move", "remove"])
@pytest.mark.parametrize("victim", PROGRAMS)
def test_a_program_killed_in_its_writer_section_harms_nobody(book, victim, command):
    book.add("cpp", "2026-11-21T10:00", "Review")
    book.add("python", "2026-11-21T12:00", "Lunch", "--notes", "with cake")
    words = {
        "add": ["2026-11-21T11:00", 1, "never"], "move": [1, "2027-01-01T00:00"], "remove": [2]
    }[command]
    feeds = [book.watch(language) for language in PROGRAMS]
    for number, point in enumerate(["locked", "halfway", "done"], 3):
        before = book.run("cpp", "list")
        held = book.start(victim, "--hold", point, command, *words)
        assert held.stdout.readline().startswith(f"held at {point}: kill -9 {held.pid}")
        kill(held)
        assert book.run("cpp", "list") == before, "readers do not wait and see nothing of it"
        # Waits until the lock is taken away.
        added = book.add(OTHER[victim], "2026-11-21T11:00", "Coffee")
        assert added == f"+ {number} 2026-11-21T11:00 1h - Ann: Coffee"
        assert [feed.stdout.readline().rstrip("\n") for feed in feeds] == [added] * 2
        assert book.run("cpp", "list") == [*before[:-1], added[2:], before[-1]]
        book.check_whole()
    book.add(victim, "2026-11-21T13:00", "Tea")
    assert len(book.list()) == 6


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_held_section_goes_on_or_is_undone_by_ctrl_c(book, language):
    book.add(language, "2026-11-21T10:00", "Review")
    held = book.start(language, "--hold", "halfway", "remove", 1)
    assert held.stdout.readline().startswith("held at halfway")
    held.send_signal(signal.SIGINT)
    _, said = held.communicate(timeout=30)
    assert held.returncode == 130 and "nothing was changed" in said
    assert book.list() == ["1 2026-11-21T10:00 1h - Ann: Review"]
    held = book.start(language, "--hold", "done", "remove", 1)
    assert held.stdout.readline().startswith("held at done")
    out, _ = held.communicate("\n", timeout=30)
    assert held.returncode == 0 and out == "- 1 2026-11-21T10:00 1h - Ann: Review\n"
    assert book.list() == []


@pytest.mark.parametrize("language", PROGRAMS)
def test_ctrl_c_among_lines_keeps_those_that_were_added(book, language):
    adding = book.start(language, "add", "-")
    adding.stdin.write("2026-11-21T10:00 1 Review\n")
    adding.stdin.flush()
    said = adding.stdout.readline()
    adding.send_signal(signal.SIGINT)
    adding.wait(timeout=30)  # its input does not end
    assert adding.returncode == 130 and "what it said it added stays" in adding.stderr.read()
    assert book.list() == [said[2:].rstrip("\n")]


@pytest.mark.parametrize("language", PROGRAMS)
def test_appointments_at_the_end_of_time_are_those_of_any_day(book, language):
    book.add(language, "9999-12-31T23:59", "Party", "--room", "B12")
    taken = book.run(language, "add", "9999-12-31T23:59", 1, "Another", "--room", "B12", status=1)
    assert "room B12 is taken until" in taken[0] and "by 1 'Party'" in taken[0]


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_program_that_waits_for_the_lock_leaves_at_ctrl_c(book, language):
    holder = book.start(OTHER[language], "--hold", "locked", "add", "2026-11-21T10:00", 1, "Review",
                        "--who", "Ann")
    assert holder.stdout.readline().startswith("held at locked")
    waiting = book.start(language, "add", "2026-11-21T11:00", 1, "Later")
    assert "waiting for another program" in waiting.stderr.readline()
    waiting.send_signal(signal.SIGINT)
    _, said = waiting.communicate(timeout=30)
    assert waiting.returncode == 130 and "nothing was changed" in said
    out, _ = holder.communicate("\n", timeout=30)
    assert out.startswith("+ 1 ") and len(book.list()) == 1


@pytest.mark.parametrize("acknowledged", [1, 7, 30])
@pytest.mark.parametrize("victim", PROGRAMS)
def test_a_program_killed_anywhere_loses_nothing_that_it_said_it_did(book, tmp_path, victim,
                                                                     acknowledged):
    """Another program continues to write. A section is always under way when the kill arrives."""
    processes = []
    for language, title, count in ((victim, "victim", 20_000), (OTHER[victim], "other", 60)):
        lines = tmp_path / title
        lines.write_text("".join(
            f"2026-11-{1 + i % 30:02}T{i % 24:02}:00 0.5 {title} {i}\n" for i in range(count)))
        with lines.open() as stdin:
            processes.append(book.start(language, "add", "-", stdin=stdin))
    killed, other = processes
    said = [killed.stdout.readline() for _ in range(acknowledged)]
    kill(killed)
    said += killed.stdout.readlines()
    if not said[-1].endswith("\n"):
        said.pop()
    said += other.communicate(timeout=60)[0].splitlines(keepends=True)
    assert other.returncode == 0
    listed = book.list()
    assert {line[2:].rstrip("\n") for line in said} <= set(listed)
    assert len(listed) - len(said) in (0, 1), "at most the section whose answer was under way"
    assert sum("other" in line for line in listed) == 60


def test_an_appointment_of_nobody_is_listed(book):
    """A program with the types can write values that neither of the two programs would write."""
    book.add("python", "2026-11-21T10:00", "Review")
    with interweave.open(book.url) as segment, segment.write():
        segment["calendar"].first.who = None
    for language in PROGRAMS:
        assert book.run(language, "list") == ["1 2026-11-21T10:00 1h - : Review"]


def test_killed_feeds_are_missed_by_nobody(book):
    feeds = [book.watch(language) for language in PROGRAMS]
    for feed in feeds:
        kill(feed)
    for language in PROGRAMS:
        book.add(language, "2026-11-21T10:00", "Review")
    assert len(book.list()) == 2


def test_a_title_that_is_no_text_passes_as_it_is(book):
    title = os.fsdecode(b"r\xe9sum\xe9")
    for language in PROGRAMS:
        book.add(language, "2026-11-21T10:00", title)
    assert book.list() == [f"{number} 2026-11-21T10:00 1h - Ann: {title}" for number in (1, 2)]


def test_a_killed_server_comes_back_with_all_that_was_said(tmp_path):
    server = Server(store=str(tmp_path / "store"))
    book = Book(f"{server.address}/calendar")
    try:
        book.add("cpp", "2026-11-21T10:00", "Review")
        feeds = [book.watch(language) for language in PROGRAMS]
        server.kill()
        for feed in feeds:
            assert "still trying" in feed.stderr.readline()
        server = Server(store=str(tmp_path / "store"), instead_of=server)
        for language, start in (("python", "2026-11-21T11:00"), ("cpp", "2026-11-21T12:00")):
            added = book.add(language, start, "Lunch")
            assert [feed.stdout.readline().rstrip("\n") for feed in feeds] == [added] * 2
        assert [line.split()[0] for line in book.list()] == ["1", "2", "3"]
    finally:
        book.end()
        server.kill()
