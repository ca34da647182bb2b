"""Hearing of new versions."""

import asyncio
import queue
import threading

import pytest
from conftest import Server

import interweave


def test_a_function_is_told_until_it_is_ended(segment, agent):
    told, versions = threading.Semaphore(0), []

    def tell(version):
        versions.append(version)
        told.release()

    with segment.read():  # without a copy every version is news, the empty one, too
        pass
    end = segment.on_change(tell)
    agent.do("wl")
    agent.do("make n 1")
    agent.do("release")
    assert told.acquire(timeout=30)
    with segment.read():
        assert segment["n"][0] == 0
    agent.do("add n 0 1")
    assert told.acquire(timeout=30)
    end()
    end()
    before = list(versions)
    with segment.read():
        assert segment.version == 2
    agent.do("add n 0 1")
    with segment.read(fresh=True):
        assert segment["n"][0] == 2
    assert versions == before == sorted(before) and before[-1] == 2


def test_a_function_may_take_locks(segment, agent):
    told, sums = threading.Semaphore(0), []

    def tell(version):
        with segment.read():
            sums.append(int(segment["n"].sum()))
        told.release()

    with segment.read():
        pass
    segment.on_change(tell)
    agent.do("wl")
    agent.do("make n 2")
    agent.do("put n 1 5")
    agent.do("release")
    assert told.acquire(timeout=30)
    assert sums == [5]


def test_asyncio_waits_for_versions(segment, agent):
    with segment.write():
        segment.new(interweave.Int, name="n")

    async def follow():
        seen = []
        changes = segment.changes()
        loop = asyncio.get_running_loop()
        writing = loop.run_in_executor(None, agent.do, "add n 0 20")
        async for version in changes:
            with segment.read():
                assert segment.version >= version
                seen.append(int(segment["n"][0]))
            if seen[-1] == 20:
                break
        await writing
        await changes.aclose()
        return seen

    seen = asyncio.run(asyncio.wait_for(follow(), 60))
    assert seen == sorted(seen) and seen[-1] == 20


def test_two_loops_one_after_the_other_and_two_openings(segment, agent):
    agent.do("wl")
    agent.do("make n 1")
    agent.do("release")

    async def next_version(one):
        with one.read(fresh=True):
            pass
        changes = one.changes()
        await asyncio.get_running_loop().run_in_executor(None, agent.do, "add n 0 1")
        return await changes.__anext__()

    with interweave.open(segment.url) as other:
        first = asyncio.run(asyncio.wait_for(next_version(segment), 60))
        second = asyncio.run(asyncio.wait_for(next_version(other), 60))
    assert second > first


def test_what_was_announced_before_is_not_missed(segment, agent):
    agent.do("wl")
    agent.do("make n 1")
    agent.do("release")
    told = threading.Event()
    with segment.read():
        end = segment.on_change(lambda version: told.set())
        agent.do("add n 0 1")
        assert told.wait(30)
        end()

        async def first():
            return await segment.changes().__anext__()

        assert asyncio.run(asyncio.wait_for(first(), 30)) == 2 and segment.version == 1


def end_of_wait(segment, end):
    """What a task that waits for changes has at the end, which comes when it waits."""
    async def follow():
        changes = segment.changes()
        waiting = asyncio.ensure_future(anext(changes, "ended"))
        await asyncio.sleep(0)  # the task runs up to its wait
        await end(changes)
        return await waiting, await anext(changes, "ended")

    return asyncio.run(asyncio.wait_for(follow(), 30))


def test_aclose_ends_a_wait(segment):
    with segment.write():
        pass
    assert end_of_wait(segment, lambda changes: changes.aclose()) == ("ended", "ended")


def test_the_end_of_the_segment_ends_a_wait(segment):
    async def close(changes):
        await asyncio.get_running_loop().run_in_executor(None, segment.close)

    assert end_of_wait(segment, close) == ("ended", "ended")


def test_the_empty_segment_is_no_news(segment, agent):
    async def first():
        changes = segment.changes()
        changes._tell(0)  # as the library may, to whom has no copy yet
        waiting = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(0)  # the task runs up to its wait
        assert not waiting.done()
        agent.do("wl")
        agent.do("make n 1")
        agent.do("release")
        with segment.read():
            assert segment.version == 1
        agent.do("add n 0 1")
        return await waiting

    assert asyncio.run(asyncio.wait_for(first(), 30)) in (1, 2)


@pytest.fixture
def restarted(tmp_path, agent):
    """A segment with one block, its agent, and what restarts its server, by the kind of store."""
    class Restarted:
        def begin(self, store):
            self.store = str(tmp_path) if store == "disk" else store
            self.server = Server(store=self.store)
            self.url = f"{self.server.address}/kept"
            agent.do(f"open {self.url} 30")
            for command in ("wl", "make n 1", "release"):
                agent.do(command)
            self.segment = interweave.open(self.url)
            with self.segment.read():
                pass
            return self.segment

        def restart(self):
            self.server.kill()
            self.server = Server(store=self.store, instead_of=self.server)

    one = Restarted()
    yield one
    one.segment.close()
    one.server.kill()


def test_asyncio_hears_of_versions_made_after_a_restart(restarted, agent):
    """[CONN-1, CONN-2]"""
    segment = restarted.begin("disk")

    async def follow():
        changes = segment.changes()
        restarted.restart()
        agent.do("add n 0 3")
        async for version in changes:
            with segment.read():
                if segment["n"][0] == 3:
                    return version

    assert asyncio.run(asyncio.wait_for(follow(), 60)) == 4


def test_a_function_is_told_of_the_connection(restarted):
    """[CONN-3]"""
    segment = restarted.begin("disk")
    told = queue.Queue()
    segment.on_connection(told.put)
    restarted.server.kill()
    assert told.get(timeout=60) == "disconnected"
    restarted.restart()
    assert told.get(timeout=60) == "connected"


def test_a_lost_segment_ends_the_wait_and_every_lock_until_it_is_opened_again(restarted):
    """[LOST-4, LOST-6]"""
    segment = restarted.begin("memory")

    async def follow():
        changes = segment.changes()
        restarted.restart()
        await anext(changes)

    with pytest.raises(interweave.SegmentLost):
        asyncio.run(asyncio.wait_for(follow(), 60))
    with pytest.raises(interweave.SegmentLost), segment.read():
        pass
    with pytest.raises(interweave.SegmentLost), segment.write():
        pass
    with interweave.open(restarted.url) as again:
        with again.write():
            again.new(interweave.Int, name="n", value=5)
        with again.read():
            assert again["n"][0] == 5
    with pytest.raises(interweave.SegmentLost), segment.read():
        pass
