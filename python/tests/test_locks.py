"""Locks: what they guard, what ends them, who waits."""

import asyncio
import threading

import numpy as np
import pytest

import interweave
from conftest import Script


def test_an_exception_undoes_the_section(segment):
    with segment.write():
        numbers = segment.new(interweave.Int, name="numbers", count=3)
    with pytest.raises(ZeroDivisionError):
        with segment.write():
            segment["numbers"][:] = 7
            segment.new(interweave.Int, name="more")
            1 / 0
    with segment.read():
        assert segment["numbers"].tolist() == [0, 0, 0] and "more" not in segment
    assert segment.version == 1 and numbers.tolist() == [0, 0, 0]


def test_an_abort_undoes_and_the_end_of_the_section_says_so(segment):
    with pytest.raises(interweave.NoLock, match="given up inside"):
        with segment.write():
            segment.new(interweave.Int, name="x")
            segment.abort()
    with segment.read():
        assert len(segment) == 0


def test_nothing_is_seen_or_changed_without_a_lock(segment):
    with segment.write():
        numbers = segment.new(interweave.Int, name="numbers", count=3)
        pair = segment.new(interweave.Array[interweave.Int, 2], name="pair", count=2)
    for look in (lambda: segment["numbers"], lambda: list(segment), lambda: segment.block("pair"),
                 lambda: segment.new(interweave.Int)):
        with pytest.raises(interweave.NoLock):
            look()
    with segment.read():
        with pytest.raises(ValueError):
            segment["numbers"][0] = 1
        with pytest.raises(ValueError):
            segment["numbers"].flags.writeable = True
        with pytest.raises(interweave.NoLock):
            segment["numbers"] = [1, 2, 3]
        with pytest.raises(interweave.NoLock):
            del segment["pair"]
    with pytest.raises(ValueError):
        numbers[0] = 1
    with pytest.raises(ValueError):
        pair.flags.writeable = True


def test_locks_nest(segment):
    with segment.write():
        with segment.write(), segment.read():
            segment.new(interweave.Int, name="x")
        assert segment.is_write_locked and segment.version == 0
        view = segment["x"]
        view[0] = 3
    assert segment.version == 1 and not segment.is_locked
    with segment.read(), segment.read():
        assert segment["x"][0] == 3
        with pytest.raises(interweave.WouldDeadlock):
            with segment.write():
                pass
    assert not segment.is_locked


def test_a_lock_that_another_process_holds_is_waited_for_as_long_as_asked(segment, agent):
    agent.do("wl")
    with pytest.raises(TimeoutError):
        with segment.write(timeout=0.3):
            pass
    with pytest.raises(interweave.TimedOut):
        with segment.write(timeout=0):
            pass
    agent.do("make block 3")
    agent.do("release")
    with segment.write(timeout=10):
        assert segment["block"].shape == (3,)


def test_control_c_ends_a_wait(url, agent):
    agent.do("wl")
    # The signal comes when the request has been sent, that is, in the wait.
    script = Script(
        """
        import os, signal, sys, threading, interweave
        # A shell that starts this with & ignores the signal.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        segment = interweave.open(sys.argv[1], timeout=600)
        before = segment.stats.messages_sent

        def interrupt():
            while segment.stats.messages_sent == before:
                pass
            os.kill(os.getpid(), signal.SIGINT)

        try:
            threading.Thread(target=interrupt).start()
            with segment.write():
                pass
        except KeyboardInterrupt:
            print("interrupted", segment.is_locked)
    """, url)
    assert script.end().strip() == "interrupted False"
    agent.do("release")


def test_threads_run_while_one_waits(segment, agent):
    agent.do("wl")
    got, ended = threading.Event(), []

    def wait_for_the_lock():
        with segment.write(timeout=60):
            got.set()
        ended.append(True)

    thread = threading.Thread(target=wait_for_the_lock)
    thread.start()
    assert segment.version == 0 and not got.is_set()
    agent.do("make block 1")
    agent.do("release")
    assert got.wait(60)
    thread.join()
    assert ended == [True]


def test_many_threads_add_and_nothing_is_lost(segment):
    with segment.write():
        segment.new(interweave.Hyper, name="sum")

    def add():
        for _ in range(50):
            with segment.write():
                segment["sum"] += 1
            with segment.read():
                assert segment["sum"][0] > 0

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with segment.read():
        assert segment["sum"][0] == 200


def test_a_lock_belongs_to_its_thread(segment):
    with segment.write():
        segment.new(interweave.Int, name="x")
    raised = []

    def look():
        try:
            segment["x"]
        except interweave.NoLock as failure:
            raised.append(failure.code)

    with segment.read():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert raised == [-12]


def test_a_child_process_must_open_again(url):
    script = Script("""
        import os, sys, interweave
        segment = interweave.open(sys.argv[1])
        with segment.write():
            number = segment.new(interweave.Int, name="x")
            record = segment.new(interweave.Array[interweave.Int, 4], name="y")
            child = os.fork()
            if child == 0:
                try:
                    segment["x"]
                except interweave.Error as failure:
                    print(type(failure).__name__, flush=True)
                try:
                    with segment.read():
                        pass
                except interweave.Forked:
                    print("forked", flush=True)
                number.sum()
                other = interweave.open(sys.argv[1])
                with other.read():
                    print(len(other), flush=True)
                os._exit(0)
            print(os.waitpid(child, 0)[1], flush=True)
        with segment.read():
            print(len(segment))
    """, url)
    assert script.end().split() == ["NoLock", "forked", "0", "0", "2"]


def test_a_refused_release_leaves_no_lock_and_no_change(server):
    with interweave.open(f"{server.address}/python/quota", quota=10_000) as segment:
        with pytest.raises(interweave.QuotaExceeded):
            with segment.write():
                segment.new(interweave.Double, name="big", count=10_000)
        assert not segment.is_locked
        with segment.write():
            segment.new(interweave.Double, name="small", count=10)
        with segment.read():
            assert len(segment) == 1


def test_read_only_segments_have_no_writer_lock(segment, server):
    with segment.write():
        segment.new(interweave.Int, name="x", count=4)
    script = Script("""
        import sys, interweave
        segment = interweave.open(sys.argv[1], read_only=True)
        with segment.read():
            print(segment["x"].sum(), segment["x"].flags.writeable)
        try:
            with segment.write():
                pass
        except interweave.ReadOnly as failure:
            print(failure.code)
    """, segment.url)
    assert script.end().split() == ["0", "False", "-27"]


def test_failures_are_exceptions_with_codes(server):
    with pytest.raises(interweave.NoSegment) as missing:
        interweave.open(f"{server.address}/python/none", create=False)
    assert missing.value.code == -7 and "NO_SEGMENT" in str(missing.value)
    with pytest.raises(ValueError):
        interweave.open("no url")
    with pytest.raises(ConnectionError):
        interweave.open("127.0.0.1:1/x", timeout=0.2)
    segment = interweave.open(f"{server.address}/python/closed")
    segment.close()
    segment.close()
    with pytest.raises(interweave.NotOpen):
        with segment.read():
            pass
    with pytest.raises(interweave.NotOpen):
        segment.version
    assert issubclass(interweave.NoBlock, KeyError) and interweave.Stale.code == -28


def test_coherence_is_the_locks_own(segment, agent):
    agent.do("wl")
    agent.do("make n 1")
    agent.do("release")
    with segment.read():
        assert segment["n"][0] == 0
    agent.do("add n 0 3")
    with segment.read(coherence=interweave.NULL):
        assert segment["n"][0] == 0
    with segment.read(coherence=interweave.Delta(5)):
        assert segment["n"][0] == 0
    with segment.read(coherence=interweave.NULL, fresh=True):
        assert segment["n"][0] == 3
    agent.do("add n 0 1")
    with segment.read():
        assert segment["n"][0] == 4
    assert segment.staleness < 60 and segment.stats.reader_locks == 5
    segment.coherence = interweave.Temporal(3600)
    agent.do("add n 0 1")
    with segment.read():
        assert segment["n"][0] == 4
    segment.refresh()
    with segment.read():
        assert segment["n"][0] == 5


def test_views_of_a_section_lose_the_right_to_write_with_it(segment):
    with segment.write():
        first = segment.new(interweave.Int, name="x", count=4)
        for _ in range(1000):
            segment["x"][0] += 1
    with segment.write():
        assert not first.flags.writeable
        second = segment["x"]
        second[1] = 5
        assert np.shares_memory(first, second)
    assert not second.flags.writeable and first[0] == 1000


def test_a_model_of_the_programs_own_judges_the_copy(segment, agent):
    asked = []

    def two_behind_will_do(copy):
        asked.append(copy)
        return copy.newest_known - copy.version <= 2

    def make_and_look(**how):
        agent.do("add n 0 1")
        with segment.read(**how):
            return segment["n"][0]

    agent.do("wl")
    agent.do("make n 1")
    agent.do("release")
    with segment.read():
        pass
    segment.coherence = two_behind_will_do
    assert make_and_look() == 0 and asked[-1].version == 1 and asked[-1].seconds_confirmed < 60
    with segment.read(), segment.read():
        assert len(asked) == 2  # a nested lock is not judged
    assert make_and_look(fresh=True) == 2 and len(asked) == 2
    assert make_and_look(coherence=lambda copy: False) == 3
    assert make_and_look(coherence=lambda copy: True) == 3
    with pytest.raises(ZeroDivisionError):
        make_and_look(coherence=lambda copy: 1 / 0)
    assert not segment.is_locked
    assert make_and_look(coherence=interweave.FULL) == 6


def test_a_model_ends_with_the_last_opening_and_begins_anew_with_the_next(url, agent):
    agent.do("wl")
    agent.do("make n 1")
    agent.do("release")
    for number in range(2):
        with interweave.open(url, coherence=interweave.NULL) as segment:
            with segment.read():
                assert segment["n"][0] == number
            agent.do("add n 0 1")
            with segment.read():
                assert segment["n"][0] == number


def test_a_bound_that_is_none_is_refused_when_it_is_set(segment):
    with pytest.raises(interweave.BadArgument):
        segment.coherence = interweave.Delta(-1)
    assert segment.coherence == interweave.FULL


def test_a_task_takes_no_lock_inside_of_anothers_writer_section(segment):
    async def ask(lock):
        with pytest.raises(interweave.WouldDeadlock, match="another asyncio task"):
            with lock:
                pass

    async def write():
        with segment.write(), segment.write(), segment.read():
            segment.new(interweave.Int, name="x")
            await asyncio.create_task(ask(segment.write()))
            await asyncio.create_task(ask(segment.read()))
        with segment.read():
            assert segment["x"][0] == 0

    asyncio.run(write())
    assert not segment.is_locked and segment.version == 1


class Handover:
    """A segment's core that, when a method has given the writer lock back, lets another thread
    begin a section and take a view before it returns; the section lasts until end()."""

    def __init__(self, segment, ending):
        self._core, self._ending, self._segment = segment._core, ending, segment
        self._has_view, self._may_end = threading.Event(), threading.Event()
        self._other = interweave.open(segment.url)
        self._thread = threading.Thread(target=self._write)
        self.is_writable = None
        segment._core = self

    def __getattr__(self, name):
        method = getattr(self._core, name)
        return self._hand_over if name == self._ending else method

    def _hand_over(self):
        getattr(self._core, self._ending)()
        self._segment._core = self._core
        self._thread.start()
        assert self._has_view.wait(20)

    def _write(self):
        with self._other.write():
            view = self._other["numbers"]
            self._has_view.set()
            assert self._may_end.wait(20)
            self.is_writable = view.flags.writeable
            if self.is_writable:
                view[0] = 5

    def end(self):
        self._may_end.set()
        self._thread.join()
        self._other.close()


@pytest.mark.parametrize("ending", ["release_write", "abort_write"])
def test_the_end_of_a_section_leaves_the_views_of_the_next_thread_writable(segment, ending):
    with segment.write():
        segment.new(interweave.Int, name="numbers", count=3)
    try:
        with segment.write():
            mine = segment["numbers"]
            handover = Handover(segment, ending)
            if ending == "abort_write":
                raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    handover.end()
    assert handover.is_writable and not mine.flags.writeable
    with segment.read():
        assert segment["numbers"][0] == 5


def test_nothing_that_another_thread_does_without_the_lock_ends_a_section(segment):
    refused = []

    def intrude():
        interweave.open(segment.url).close()
        with pytest.raises(interweave.NoLock):
            segment.abort()
        refused.append(True)

    with segment.write():
        numbers = segment.new(interweave.Int, name="numbers", count=3)
        intruder = threading.Thread(target=intrude)
        intruder.start()
        intruder.join()
        numbers[0] = 3
    assert refused
    with segment.read():
        assert segment["numbers"].tolist() == [3, 0, 0]
