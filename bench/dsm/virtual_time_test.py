"""The replay in virtual time against times that are computed by hand, and against a real job:

    virtual_time_test.py [INTERWEAVE PROGRAM ARGUMENT...]
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import virtual_time
from virtual_time import HEAD_BYTES, ORIG, Link, Malformed, RankTrace, Way, replay

LINK = Link(latency_s=1e-3, bits_per_s=8e6, overhead_s=1e-4)  # a byte takes a microsecond
HEAD_S = HEAD_BYTES * 1e-6
JOB = sys.argv[1:]


def traces(*texts, page_bytes=4096):
    return [
        RankTrace(f"test.{rank}", iter([f"interweave-dsm-trace 1 {rank} {len(texts)} {page_bytes}"]
                                       + text.split("\n")))
        for rank, text in enumerate(texts)
    ]


def handling(size):
    return LINK.overhead_s + size / virtual_time.COPY_BYTES_PER_S


def way_of(size):
    return size * 1e-6 + LINK.latency_s + handling(size)


class Replay(unittest.TestCase):
    def seconds(self, world):
        return round(world.seconds, 9)

    def test_a_barrier_waits_for_the_last_rank(self):
        idle, busy = "0 B 0\n0 B 1\n0 end", "0 B 0\n5000000 B 1\n0 end"
        world = replay(traces(idle, busy), LINK, ORIG)
        # Rank 1 is let go, computes, arrives, and is let go again.
        let_go = LINK.overhead_s + way_of(HEAD_BYTES)
        expected = let_go + 5e-3 + way_of(HEAD_BYTES) + let_go
        self.assertEqual(self.seconds(world), round(expected, 9))
        self.assertEqual(sum(machine.messages for machine in world.machines), 4)

    def test_a_miss_costs_a_question_and_a_page(self):
        home = "0 B 0\n0 B 1\n0 end"
        asker = "0 B 0\n0 p 0 7\n0 M 7\n0 E\n0 B 1\n0 end"
        with_miss = replay(traces(home, asker), LINK, ORIG).seconds
        without = replay(traces(home, "0 B 0\n0 B 1\n0 end"), LINK, ORIG).seconds
        miss = way_of(HEAD_BYTES) + LINK.overhead_s + way_of(HEAD_BYTES + 4096)
        self.assertAlmostEqual(with_miss - without, miss, places=9)

    def test_orig_sends_each_diff_and_pipe_buffers(self):
        diffs = "\n".join(f"0 D 0 {page} 1 1000" for page in range(10))
        writer = f"0 B 0\n{diffs}\n0 F\n0 B 1\n0 end"
        both = traces("0 B 0\n0 B 1\n0 end", writer)
        self.assertEqual(replay(both, LINK, ORIG).machines[1].buffers, 10)
        self.assertEqual(replay(both, LINK, Way(32 << 10, 2)).machines[1].buffers, 1)
        small = replay(both, LINK, Way(4096, 1)).machines[1]
        self.assertEqual((small.buffers, small.stalls), (4, 3))
        self.assertEqual(replay(both, LINK, Way(4096, 8)).machines[1].stalls, 0)

    def test_a_page_waits_for_the_diffs_that_its_asker_knows_of(self):
        home = "0 B 0\n0 B 1\n0 B 2\n0 end"
        writer = "0 B 0\n0 D 0 7 1 4000\n0 F\n0 B 1\n0 B 2\n0 end"
        reader = "0 B 0\n0 B 1\n0 p 0 7\n0 M 7\n0 E\n0 B 2\n0 end"
        world = replay(traces(home, writer, reader), LINK, ORIG)
        self.assertEqual(world.machines[0].arrived, {(7, 1): 1})
        slow = virtual_time.World(traces(home, writer, reader), LINK, ORIG)
        heard = slow.take_diffs
        slow.take_diffs = lambda *values: slow.call_at(slow.now + 1, heard, *values)
        self.assertGreater(slow.run().machines[2].wait_s["miss"], 0.9)
        self.assertLess(world.machines[2].wait_s["miss"], 0.1)

    def test_a_lock_comes_when_its_owner_has_released_it(self):
        # Rank 0 is the lock's home and has it for 50 ms.
        owner = "0 B 0\n0 L 5\n50000000 R 5\n- F\n- G 1 5\n0 B 1\n0 end"
        asker = "0 B 0\n0 L 5\n0 K 0 5\n0 A 5\n0 R 5\n0 B 1\n0 end"
        world = replay(traces(owner, asker), LINK, ORIG)
        self.assertGreater(world.machines[1].wait_s["lock"], 0.045)
        early = replay(traces(owner.replace("50000000", "0"), asker), LINK, ORIG)
        self.assertLess(early.machines[1].wait_s["lock"], 0.01)

    def test_a_thread_that_has_waited_for_long_takes_time_to_wake(self):
        idle, busy = "0 B 0\n0 B 1\n0 end", "0 B 0\n5000000 B 1\n0 end"
        polls = Link(latency_s=1e-6, bits_per_s=8e9, overhead_s=1e-7)
        wakes = polls._replace(wake_s=1e-2)
        # Rank 0 sleeps when rank 1 arrives, and by then rank 1 sleeps, too.
        early = replay(traces(idle, busy), polls, ORIG).seconds
        late = replay(traces(idle, busy), wakes, ORIG).seconds
        self.assertAlmostEqual(late - early, 2e-2, places=9)
        at_once = replay(traces(idle, idle), wakes, ORIG).seconds
        self.assertLess(at_once, virtual_time.SPIN_S)

    def test_what_the_service_does_is_lost_to_the_application_that_has_its_processor(self):
        home = "0 B 0\n50000000 B 1\n0 end"
        asker = "0 B 0\n0 p 0 7\n0 M 7\n0 E\n0 B 1\n0 end"
        alone = replay(traces(home, asker), LINK, ORIG)
        shared = replay(traces(home, asker), LINK._replace(wake_s=1e-9), ORIG)
        # The question, its answer and the arrival at the barrier.
        lost = 2 * handling(HEAD_BYTES) + LINK.overhead_s
        self.assertAlmostEqual(shared.seconds - alone.seconds, lost, delta=1e-7)

    def test_the_time_of_the_run_is_without_the_lines_of_the_trace(self):
        (one,) = traces("0 B 0\n0 T 1000000 200000\n0 B 1\n0 T 9000000 700000\n0 end")
        self.assertAlmostEqual(one.real_s(), 7.5e-3)
        (early,) = traces("0 B 0\n0 T 1000000 200000\n0 B 1\n0 end")
        with self.assertRaisesRegex(Malformed, "times of two barriers"):
            early.real_s()

    def test_what_is_not_a_whole_trace_is_refused(self):
        whole = "0 B 0\n0 end"
        for text, why in [
            ("0 B 0", "cut off"),
            ("0 B 0\ncut", "not an event"),
            ("0 B 0\n0 Z 1\n0 end", "not an event"),
            ("0 B 0\n0 D 1 2\n0 end", "not an event"),
            ("0 B 0\n- M 3\n0 end", "another thread"),
            ("0 B 0\n0 S\n0 B 1\n0 end", "collectives"),
            ("0 end", "no barrier"),
        ]:
            with self.assertRaisesRegex(Malformed, why):
                traces(text, whole)
        with self.assertRaisesRegex(Malformed, "version 1"):
            RankTrace("test.0", iter(["something else"]))
        with self.assertRaisesRegex(Malformed, "wait for events"):
            replay(traces("0 B 0\n0 B 1\n0 end", whole), LINK, ORIG)


@unittest.skipUnless(JOB, "no program was named")
class OfAJob(unittest.TestCase):
    def test_counts_what_dsm_stats_counts(self):
        program = [JOB[0], "run", "-n", "3", "--", *JOB[1:]]
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace")
            environment = dict(os.environ, IW_DSM_TRACE=trace, IW_DSM_BUFFER="4K")
            ran = subprocess.run(program, env=environment, capture_output=True, text=True,
                                 timeout=60, check=True)
            recorded = virtual_time.read_traces(trace)
            link = virtual_time.LINKS["5us-10G"]
            pipe = replay(recorded, link, Way(4096, 2))
            orig = replay(recorded, link, ORIG)
        real = max(trace.real_s() for trace in recorded)
        said = float(re.search(r"processes, ([\d.]+) s", ran.stderr)[1])
        # The program also counts its first barrier and the lines of the trace.
        self.assertGreater(real, 0)
        self.assertLess(real, said + 1e-3)
        counted = re.search(r"(\d+) diffs of ([\d.]+) bytes in (\d+) messages", ran.stderr)
        self.assertIsNotNone(counted, ran.stderr)
        diffs = sum(trace.diffs for trace in recorded)
        self.assertGreater(diffs, 100)
        self.assertAlmostEqual(diffs / 3, int(counted[1]), delta=0.51)
        self.assertAlmostEqual(virtual_time.mean(pipe, "buffers"), int(counted[3]), delta=1.01)
        self.assertEqual(virtual_time.mean(orig, "buffers"), diffs / 3)
        self.assertLess(pipe.seconds, orig.seconds)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
