#!/usr/bin/env python3
"""Replays traces of the shared memory (IW_DSM_TRACE) in virtual time: what a run would take on a
cluster whose link has a given latency, bandwidth and overhead, with ORIG and with PIPE.

    virtual_time.py TRACE [--link NAME] [--buffer BYTES] [--depth N] [--curves]
    virtual_time.py TRACE... --calibrate --link NAME

TRACE is the value of IW_DSM_TRACE; TRACE.0, TRACE.1, ... are the files (cluster/dsm/node/trace.h).
--curves replays each size of buffer and each depth. --calibrate compares virtual time with the time
that the recorded runs took, without what it took to write the traces.

The model. Each rank is a machine with a processor for the application, one for the service, and an
adapter. The application computes as long as its thread did in the run. A message takes `overhead`
at both ends, its bytes at the link's bandwidth in the sender's adapter, and `latency`. The service
handles messages one after the other, in the order of their arrival. The home of a page answers when
it has the diffs that the asker knows of. Locks go through the ranks in the order of the run.

The links here-shm and here-tcp stand for the machine of bench/figures/dsm.md, on which two ranks
have two processors. The service has no processor of its own: what it does, the application loses.
A thread that has waited for SPIN_S sleeps, and takes `wake_s` to run again. Their numbers are those
of single operations.

What is not in the model: other traffic in a switch; the memory bus; first bytes of pages whose home
heard of them by another rank's question.
"""

import argparse
import heapq
import sys
from collections import defaultdict, deque
from typing import NamedTuple

HEAD_BYTES = 64  # of a message: the transport's and the protocol's
DIFF_HEAD_BYTES = 32
NOTICE_BYTES = 16
PIECE_ALIGNMENT = 8
COPY_BYTES_PER_S = 8e9
SPIN_S = 20e-6
BUFFERS = (4, 8, 16, 32, 64, 128, 256)  # KiB
DEPTHS = (1, 2, 4, 8)


class Link(NamedTuple):
    latency_s: float
    bits_per_s: float
    overhead_s: float
    wake_s: float = 0.0  # 0: each machine has a processor for its service, which polls


LINKS = {
    "5us-10G": Link(5e-6, 10e9, 1e-6),
    "1us-100G": Link(1e-6, 100e9, 0.3e-6),
    "here-shm": Link(0.05e-6, 100e9, 0.0, 25e-6),
    "here-tcp": Link(4.3e-6, 20e9, 1e-6, 25e-6),
}
CLUSTERS = ("5us-10G", "1us-100G")


class Malformed(Exception):
    """The files are not a whole trace that can be replayed."""


class Step(NamedTuple):
    """What the application does next, after `compute_s` of its own."""

    compute_s: float
    kind: str  # interval, miss, lock, unlock, grant, barrier
    values: tuple


class Grant:
    """A rank's gift of a lock to another rank."""

    def __init__(self, owner, to, lock, diffs, releases):
        self.owner, self.to = owner, to
        # Those of the interval that ends here; None: the application did it when it released.
        self.diffs = diffs
        self.lock = lock
        self.releases = releases  # that the owner had made of the lock until then
        self.known = None  # at the owner, once it has released the lock
        self.asked_s = None  # when the other rank asked, once the question is here


class RankTrace:
    """The steps of one rank's application, and what its handlers did for other ranks."""

    def __init__(self, name, lines):
        self.name = name
        self.steps = []
        self.grants = defaultdict(list)  # of each lock, in their order
        self.homes = {}  # of locks that were asked for
        self._releases = defaultdict(int)
        self.diffs = 0
        self.diff_bytes = 0
        self.clocks = []  # behind each barrier: seconds on the wall, and of these for lines
        head = next(lines, "").split()
        if len(head) != 5 or head[:2] != ["interweave-dsm-trace", "1"]:
            raise Malformed(f"{name}: not a trace of version 1")
        self.rank, self.ranks, self.page_bytes = (int(each) for each in head[2:])
        self._carried_s = 0.0
        self._own, self._foreign = [], []  # diffs of the interval that has not ended yet
        self._has_ended = False  # the interval that a handler ended
        self._asked = []
        self._missing = {}
        is_whole = False
        for number, line in enumerate(lines, 2):
            try:
                is_whole = self._take(line.split())
            except (ValueError, IndexError, KeyError) as error:
                raise Malformed(f"{name}:{number}: not an event: {line.strip()}") from error
            if is_whole:
                break
        if not is_whole:
            raise Malformed(f"{name}: the trace was cut off")
        self._end_at_the_last_barrier()

    def _step(self, kind, *values):
        self.steps.append(Step(self._carried_s, kind, values))
        self._carried_s = 0.0

    def _take(self, words):
        is_own = words[0] != "-"
        if is_own:
            self._carried_s += int(words[0]) * 1e-9
        event, numbers = words[1], tuple(int(each) for each in words[2:])
        if self._has_ended and (is_own or event != "G"):
            self._end_for_a_notice()
        if event in "DFG":
            self._take_diffs(event, numbers, is_own)
        elif event in "hip":
            to, page = numbers
            if page in self._missing:
                self._missing[page].append((event, to))
            elif is_own:
                self._asked.append((event, to, page))
        elif is_own:
            return self._take_own(event, numbers)
        elif event == "K":
            raise Malformed(f"{self.name}: locks that threads of a rank queue for cannot be "
                            "replayed")
        elif event != "S":
            raise Malformed(f"{self.name}: another thread of the program made event {event}; "
                            "a replay knows one thread a rank")
        return False

    def _take_diffs(self, event, numbers, is_own):
        pending = self._own if is_own else self._foreign
        if event == "D":
            home, page, sequence, size = numbers
            pending.append((home, page, sequence, size))
            self.diffs += 1
            self.diff_bytes += size
        elif event == "F":
            if is_own:
                self._step("interval", tuple(pending))
                pending.clear()
            else:
                self._has_ended = True
        else:
            to, lock = numbers
            diffs = None if is_own else tuple(pending)
            grant = Grant(self.rank, to, lock, diffs, self._releases[lock])
            self.grants[lock].append(grant)
            if is_own:
                self._step("grant", grant)
            else:
                pending.clear()
                self._has_ended = False

    def _end_for_a_notice(self):
        """A handler learned of another rank's store to a page that is written here."""
        step = Step(0.0, "interval", (tuple(self._foreign),))
        self._foreign.clear()
        self._has_ended = False
        is_in_lock = self.steps and self.steps[-1].kind == "lock"
        self.steps.insert(len(self.steps) - 1 if is_in_lock else len(self.steps), step)

    def _take_own(self, event, numbers):
        if event == "M":
            (page,) = numbers
            self._missing[page] = [(kind, to) for kind, to, of in self._asked if of == page]
            self._asked.clear()
        elif event == "E":
            misses = tuple((page, tuple(asked)) for page, asked in self._missing.items())
            self._step("miss", misses)
            self._missing.clear()
        elif event == "L":
            self._step("lock", numbers[0])
        elif event in "AN":
            self._close_lock(event, numbers[0])
        elif event == "K":
            to, lock = numbers
            self.homes[lock] = to
        elif event == "R":
            self._releases[numbers[0]] += 1
            self._step("unlock", *numbers)
        elif event == "B":
            self._step("barrier", *numbers)
        elif event == "T":
            passed_ns, lines_ns = numbers
            self.clocks.append((passed_ns * 1e-9, lines_ns * 1e-9))
        elif event == "S":
            self._step("service")
        elif event == "end":
            return True
        else:
            raise KeyError(event)
        return False

    def _close_lock(self, event, lock):
        if event == "N":
            raise Malformed(f"{self.name}: dsm_try_lock was refused; this cannot be replayed")
        if self.steps[-1].kind != "lock" or self.steps[-1].values[0] != lock:
            raise KeyError(lock)
        self._step("acquired", lock)

    def real_s(self):
        """From the first barrier to the last one, without the lines of the trace."""
        if len(self.clocks) < 2:
            raise Malformed(f"{self.name}: the trace has no times of two barriers")
        (begin, lines_before), (end, lines) = self.clocks[0], self.clocks[-1]
        return end - begin - (lines - lines_before)

    def _end_at_the_last_barrier(self):
        last = max((i for i, step in enumerate(self.steps) if step.kind == "barrier"), default=-1)
        if last < 0:
            raise Malformed(f"{self.name}: the trace has no barrier")
        del self.steps[last + 1 :]
        if any(step.kind == "service" for step in self.steps):
            raise Malformed(f"{self.name}: conditions, counters, semaphores and collectives "
                            "before the last barrier cannot be replayed")


def read_traces(path):
    with open(f"{path}.0", encoding="ascii") as file:
        first = RankTrace(f"{path}.0", iter(file))
    traces = [first]
    for rank in range(1, first.ranks):
        with open(f"{path}.{rank}", encoding="ascii") as file:
            traces.append(RankTrace(f"{path}.{rank}", iter(file)))
    for rank, trace in enumerate(traces):
        if (trace.rank, trace.ranks) != (rank, first.ranks):
            raise Malformed(f"{trace.name}: is rank {trace.rank} of {trace.ranks}")
    return traces


class Way(NamedTuple):
    """How diffs travel. ORIG: buffer_bytes 0."""

    buffer_bytes: int = 32 << 10
    depth: int = 2


ORIG = Way(0, 0)


class Ring:
    """The buffers of one rank for one destination."""

    def __init__(self):
        self.filling = []
        self.filled_bytes = 0
        self.under_way = 0
        self.waiting = deque()


class Machine:
    """A rank in virtual time."""

    def __init__(self, trace):
        self.trace = trace
        self.at = 0  # the next step
        self.adapter_free = 0.0
        self.service_free = 0.0
        self.awake_until = 0.0
        self.lost_s = 0.0  # of the application's processor, to the service
        self.is_computing = False
        self.known = [0] * trace.ranks
        self.own_sequence = 0
        self.rings = [Ring() for _ in range(trace.ranks)]
        self.releases = defaultdict(int)  # of each lock
        self.arrived = {}  # page, writer: the last sequence that has come
        self.waiting = []  # for diffs at this home: (page, needed, call)
        self.wait_s = defaultdict(float)
        self.messages = self.bytes = self.buffers = self.stalls = 0
        self.notices = 0  # since the last barrier
        self.end_s = None


class World:
    def __init__(self, traces, link, way):
        self.link, self.way = link, way
        self.page_bytes = traces[0].page_bytes
        self.machines = [Machine(trace) for trace in traces]
        self.events, self.count, self.now = [], 0, 0.0
        self.last_diff = defaultdict(list)  # page: (writer, sequence)s that were sent
        self.homes = {lock: home for trace in traces for lock, home in trace.homes.items()}
        self.grants = defaultdict(deque)  # of a lock to a rank, in their order
        self.of_application = {}  # those that it gives itself when it releases the lock
        self.unreleased = defaultdict(deque)  # of a lock by a rank
        for lock in self.homes:
            self._follow(lock, traces)
        self.at_barrier = []
        self.start_s = 0.0

    def _follow(self, lock, traces):
        """A lock's way from its home through its owners."""
        left = [deque(trace.grants[lock]) for trace in traces]
        rank = self.homes[lock]
        while left[rank]:
            given = left[rank].popleft()
            grant = Grant(rank, given.to, lock, given.diffs, given.releases)
            if grant.releases == 0 and grant.diffs is not None:
                grant.known = [0] * len(traces)
            elif grant.diffs is not None:
                self.unreleased[lock, rank].append(grant)
            self.of_application[given] = grant
            self.grants[lock, given.to].append(grant)
            rank = given.to

    def run(self):
        for machine in self.machines:
            self.call_at(0.0, self.advance, machine)
        while self.events:
            self.now, _, call, values = heapq.heappop(self.events)
            call(*values)
        stuck = [machine.trace.rank for machine in self.machines if machine.end_s is None]
        if stuck:
            raise Malformed(f"ranks {stuck} wait for events that are in no trace")
        return self

    @property
    def seconds(self):
        return max(machine.end_s for machine in self.machines) - self.start_s

    def call_at(self, time, call, *values):
        self.count += 1
        heapq.heappush(self.events, (time, self.count, call, values))

    # Messages.

    def post(self, machine, to, size, call, *values, is_polled=False):
        """From now on. `call` runs when the receiver has handled the message."""
        machine.messages += 1
        machine.bytes += size
        start = max(self.now, machine.adapter_free)
        machine.adapter_free = start + size * 8 / self.link.bits_per_s
        arrival = machine.adapter_free + self.link.latency_s
        handling = self.link.overhead_s + size / COPY_BYTES_PER_S
        if is_polled:
            self.call_at(arrival, self.poll, self.machines[to], handling, call, values)
        else:
            self.call_at(arrival, self.serve, self.machines[to], handling, call, values)

    def poll(self, machine, handling, call, values):
        self.call_at(self.now + self.waking_s(machine) + handling, call, *values)

    def serve(self, machine, handling, call, values):
        waking = self.waking_s(machine)
        self.occupy_service(machine, self.now + waking, handling)
        self.call_at(machine.service_free, call, *values)

    def occupy_service(self, machine, since, seconds):
        machine.service_free = max(since, machine.service_free) + seconds
        if self.link.wake_s and machine.is_computing:
            machine.lost_s += seconds

    def waking_s(self, machine):
        """Until the thread runs for which something has arrived."""
        waking = self.link.wake_s if self.now > machine.awake_until else 0.0
        machine.awake_until = max(machine.awake_until, self.now + waking + SPIN_S)
        return waking

    def answer(self, machine, to, size, call, *values, is_polled=False):
        """A message of the service: it takes the service's time."""
        self.occupy_service(machine, self.now, self.link.overhead_s)
        self.call_at(machine.service_free, self._post_later, machine, to, size, call, values,
                     is_polled)

    def _post_later(self, machine, to, size, call, values, is_polled):
        self.post(machine, to, size, call, *values, is_polled=is_polled)

    # The application.

    def advance(self, machine):
        """At its next step: computes, then does the step."""
        if machine.at == len(machine.trace.steps):
            machine.end_s = self.now
            return
        step = machine.trace.steps[machine.at]
        machine.at += 1
        # The time before the first barrier is not part of the run.
        compute = 0.0 if machine.at == 1 else step.compute_s
        machine.is_computing = True
        self.call_at(self.now + compute, self._do, machine, step)

    def _do(self, machine, step):
        if machine.lost_s:
            lost, machine.lost_s = machine.lost_s, 0.0
            return self.call_at(self.now + lost, self._do, machine, step)
        machine.is_computing = False
        machine.awake_until = self.now + SPIN_S
        return getattr(self, f"_{step.kind}")(machine, *step.values)

    def resume(self, machine, since, kind):
        machine.wait_s[kind] += self.now - since
        self.advance(machine)

    def _interval(self, machine, diffs):
        posts = self.end_interval(machine, diffs)
        self.call_at(self.now + posts * self.link.overhead_s, self.advance, machine)

    def _unlock(self, machine, lock):
        machine.releases[lock] += 1
        waiting = self.unreleased[lock, machine.trace.rank]
        while waiting and waiting[0].releases <= machine.releases[lock]:
            waiting[0].known = list(machine.known)
            self.give(waiting.popleft())
        self.advance(machine)

    def _grant(self, machine, given):
        grant = self.of_application[given]
        grant.known = list(machine.known)
        self.give(grant)
        self.call_at(self.now + self.link.overhead_s, self.advance, machine)

    def _lock(self, machine, lock):
        steps = machine.trace.steps
        behind = steps[machine.at] if machine.at < len(steps) else None
        if behind is None or (behind.kind, behind.values) != ("acquired", (lock,)):
            return self.advance(machine)  # it was here
        machine.at += 1
        rank, home = machine.trace.rank, self.homes.get(lock)
        if not self.grants[lock, rank]:
            raise Malformed(f"nobody granted lock {lock} to rank {rank}")
        grant = self.grants[lock, rank].popleft()
        since = self.now
        size = HEAD_BYTES + 16 * len(self.machines)
        call = (self._asked_for, grant, since)
        if home in (rank, grant.owner):
            return self.post(machine, grant.owner, size, *call)
        return self.post(machine, home, size, self.answer, self.machines[home], grant.owner, size,
                         *call)

    def _asked_for(self, grant, since):
        grant.asked_s = since
        self.give(grant)

    def give(self, grant):
        """If the question is here, and the lock was released."""
        if grant.known is None or grant.asked_s is None:
            return
        owner = self.machines[grant.owner]
        if grant.diffs:
            posts = self.end_interval(owner, grant.diffs)
            owner.service_free = max(self.now, owner.service_free) + posts * self.link.overhead_s
            grant.known[grant.owner] = max(grant.known[grant.owner], owner.own_sequence)
        size = HEAD_BYTES + NOTICE_BYTES * owner.notices
        self.answer(owner, grant.to, size, self._has_lock, self.machines[grant.to], grant,
                    is_polled=True)

    def _has_lock(self, machine, grant):
        machine.known = [max(pair) for pair in zip(machine.known, grant.known, strict=True)]
        self.resume(machine, grant.asked_s, "lock")

    def _acquired(self, machine, lock):
        raise Malformed(f"rank {machine.trace.rank} acquired lock {lock} without asking")

    # Pages.

    def needed(self, machine, page):
        return [(writer, sequence) for writer, sequence in self.last_diff[page]
                if sequence <= machine.known[writer]]

    def _miss(self, machine, misses):
        since, left = self.now, [len(misses)]

        def has_come():
            left[0] -= 1
            if left[0] == 0:
                self.resume(machine, since, "miss")

        for page, asked in misses:
            self.ask(machine, page, list(asked), has_come)

    def ask(self, machine, page, asked, call):
        """The questions of a miss, one after the other."""
        if not asked:  # at home: the diffs are on their way
            return self.when_there(machine, page, self.needed(machine, page), call)
        (kind, to), rest = asked[0], asked[1:]
        home, rank = self.machines[to], machine.trace.rank

        def next_question():
            if rest:
                self.ask(machine, page, rest, call)
            else:
                call()

        def tell():
            size = HEAD_BYTES + (0 if kind == "h" else self.page_bytes)
            self.answer(home, rank, size, next_question, is_polled=True)

        needed = self.needed(machine, page) if kind == "p" else []
        needed = [each for each in needed if each[0] != to]
        return self.post(machine, to, HEAD_BYTES, self.when_there, home, page, needed, tell)

    def when_there(self, home, page, needed, call):
        if all(home.arrived.get((page, writer), 0) >= sequence for writer, sequence in needed):
            self.call_at(self.now, call)
        else:
            home.waiting.append((page, needed, call))

    def take_diffs(self, home, sender, diffs):
        # The service may have ended a later interval before the application ends this one.
        for page, sequence, _ in diffs:
            key = page, sender.trace.rank
            home.arrived[key] = max(sequence, home.arrived.get(key, 0))
        waiting, home.waiting = home.waiting, []
        for page, needed, call in waiting:
            self.when_there(home, page, needed, call)
        self.answer(home, sender.trace.rank, HEAD_BYTES, self._acknowledged, sender,
                    home.trace.rank)

    # Diffs.

    def end_interval(self, machine, diffs):
        """How many messages the sender posts at once."""
        rank, before = machine.trace.rank, machine.messages
        for home, page, sequence, size in diffs:
            machine.own_sequence = max(sequence, machine.own_sequence)
            machine.known[rank] = machine.own_sequence
            machine.notices += 1
            self.last_diff[page].append((rank, sequence))
            packed = DIFF_HEAD_BYTES + -(-size // PIECE_ALIGNMENT) * PIECE_ALIGNMENT
            ring = machine.rings[home]
            is_new = ring.filled_bytes + packed > self.way.buffer_bytes
            if ring.filling and is_new:
                self.send_filling(machine, home)
            ring.filling.append((page, sequence, packed))
            ring.filled_bytes += packed
        for home, ring in enumerate(machine.rings):
            if ring.filling:
                self.send_filling(machine, home)
        return machine.messages - before

    def send_filling(self, machine, home):
        ring = machine.rings[home]
        content, size = ring.filling, ring.filled_bytes
        ring.filling, ring.filled_bytes = [], 0
        if self.way.depth and ring.under_way >= self.way.depth:
            machine.stalls += 1
            ring.waiting.append((content, size))
        else:
            self.send_buffer(machine, home, content, size)

    def send_buffer(self, machine, home, content, size):
        machine.rings[home].under_way += 1
        machine.buffers += 1
        self.post(machine, home, HEAD_BYTES + size, self.take_diffs, self.machines[home], machine,
                  content)

    def _acknowledged(self, machine, home):
        ring = machine.rings[home]
        ring.under_way -= 1
        if ring.waiting:
            self.send_buffer(machine, home, *ring.waiting.popleft())

    # Barriers. The manager is rank 0.

    def _barrier(self, machine, barrier):
        since = self.now
        if machine.trace.rank == 0:
            self.arrive(machine, barrier, since)
        else:
            size = HEAD_BYTES + NOTICE_BYTES * machine.notices
            self.post(machine, 0, size, self.arrive, machine, barrier, since)

    def arrive(self, machine, barrier, since):
        self.at_barrier.append((machine, barrier, since))
        if len(self.at_barrier) < len(self.machines):
            return
        here, self.at_barrier = self.at_barrier, []
        if len({barrier for _, barrier, _ in here}) != 1:
            raise Malformed("ranks are at different barriers")
        known = [max(each) for each in zip(*(machine.known for machine, _, _ in here),
                                           strict=True)]
        notices = sum(machine.notices for machine, _, _ in here)
        manager = self.machines[0]
        for machine, _, since in here:
            size = HEAD_BYTES + NOTICE_BYTES * (notices - machine.notices)
            if machine is manager:
                self.call_at(self.now, self.let_go, machine, list(known), since)
            else:
                self.answer(manager, machine.trace.rank, size, self.let_go, machine, list(known),
                            since, is_polled=True)
        if self.start_s == 0.0:
            self.start_s = self.now
        self._forget_old_diffs()

    def _forget_old_diffs(self):
        """Each page keeps the last diff of each writer."""
        for page, diffs in self.last_diff.items():
            last = dict(sorted(diffs))
            self.last_diff[page] = [(writer, last[writer]) for writer in last]

    def let_go(self, machine, known, since):
        machine.known = known
        machine.notices = 0
        self.resume(machine, since, "barrier")


def replay(traces, link, way):
    return World(traces, link, way).run()


def mean(world, name):
    return sum(getattr(machine, name) for machine in world.machines) / len(world.machines)


def share(world, kind):
    waits = sum(machine.wait_s[kind] for machine in world.machines)
    return waits / len(world.machines) / world.seconds


def print_curves(traces, link_name):
    ways = [("buffer", f"{kib} KiB", Way(kib << 10, 2)) for kib in BUFFERS]
    ways += [("depth", str(depth), Way(32 << 10, depth)) for depth in DEPTHS]
    print(f"{link_name}: {len(traces)} ranks")
    print("                seconds  buffers  stalls  in barriers")
    for kind, name, way in ways:
        world = replay(traces, LINKS[link_name], way)
        print(f"{kind:6} {name:>8} {world.seconds:8.4f}  {mean(world, 'buffers'):7.0f}  "
              f"{mean(world, 'stalls'):6.0f}  {share(world, 'barrier'):11.1%}", flush=True)


def print_calibration(paths, link_name):
    print(f"{link_name}\ntrace  real, s  virtual, s  virtual to real")
    for path in paths:
        traces = read_traces(path)
        real = max(trace.real_s() for trace in traces)
        virtual = replay(traces, LINKS[link_name], Way()).seconds
        print(f"{path}  {real:.4f}  {virtual:.4f}  {virtual / real:.2f}", flush=True)


def print_table(traces, link_name, way):
    orig = replay(traces, LINKS[link_name], ORIG)
    pipe = replay(traces, LINKS[link_name], way)
    count = len(traces)
    diffs = sum(trace.diffs for trace in traces) / count
    size = sum(trace.diff_bytes for trace in traces) / max(1, diffs * count)
    sent = mean(pipe, "bytes") / (1 << 20)
    print(f"{link_name}: {count} ranks; a rank has {diffs:.0f} diffs of {size:.1f} bytes, and "
          f"sends {sent:.2f} MiB")
    print("way   seconds  messages  buffers  stalls  in barriers  in misses  in locks")
    for name, world in (("ORIG", orig), ("PIPE", pipe)):
        print(f"{name}  {world.seconds:8.4f}  {mean(world, 'messages'):8.0f}  "
              f"{mean(world, 'buffers'):7.0f}  {mean(world, 'stalls'):6.0f}  "
              f"{share(world, 'barrier'):11.1%}  {share(world, 'miss'):9.1%}  "
              f"{share(world, 'lock'):8.1%}")
    print(f"PIPE takes {1 - pipe.seconds / orig.seconds:.1%} less time than ORIG")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("trace", nargs="+")
    parser.add_argument("--link", choices=LINKS, action="append")
    parser.add_argument("--curves", action="store_true")
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--buffer", type=int, default=Way().buffer_bytes)
    parser.add_argument("--depth", type=int, default=Way().depth)
    given = parser.parse_args()
    links = given.link or CLUSTERS
    try:
        if given.calibrate:
            return print_calibration(given.trace, links[0])
        for trace in given.trace:
            traces = read_traces(trace)
            for link in links:
                if given.curves:
                    print_curves(traces, link)
                else:
                    print_table(traces, link, Way(given.buffer, given.depth))
    except (Malformed, OSError) as error:
        sys.exit(f"virtual_time: {error}")


if __name__ == "__main__":
    main()
