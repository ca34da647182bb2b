"""All cases over all ordered pairs of agents, with the known gaps taken into account."""

import itertools
import json
import queue
import sys
import threading
import time

from runner.cases import SHARED_SERVERS, Failed, Run
from runner.processes import Agent, Broken, Server
from runner.workers import work_off


ENOUGH_FAILURES = 100  # no further pair is begun


class Report:
    """What became of each case and pair; used by several threads."""

    def __init__(self, gaps, pair_count, say):
        self.say = say
        self.gaps = gaps
        self.pair_count = pair_count
        self.passed = self.skipped = self.known = self.pairs = 0
        self.failures = []  # (case, text)
        self.shown = time.monotonic()
        self.mutex = threading.Lock()

    def gap_of(self, case, pair):
        for gap in self.gaps:
            roles = pair if "role" not in gap else (pair[0 if gap["role"] == "W" else 1],)
            if gap["case"] == case["name"] and gap["agent"] in roles:
                return gap
        return None

    def add(self, case, pair, failure):
        with self.mutex:
            gap = self.gap_of(case, pair)
            if failure and gap:
                self.known += 1
            elif failure:
                self.fail(case, pair, failure)
            elif gap:
                self.fail(case, pair,
                          f"passes, but gaps.json says: {gap['reason']}. Remove the gap")
            else:
                self.passed += 1

    def skip(self):
        with self.mutex:
            self.skipped += 1

    def fail(self, case, pair, text):
        """Tells the whole story of a case's first failure only."""
        where = f"{case['name']}: {pair[0]} writes, {pair[1]} reads"
        is_first = case["name"] not in [name for name, _ in self.failures]
        self.failures.append((case["name"], where))
        self.say(f"  FAILED {where}" + (f"\n    {text}" if is_first else ", too"))

    def pair_done(self, pair):
        with self.mutex:
            self.pairs += 1
            if sys.stdout.isatty() or time.monotonic() > self.shown + 30:
                self.shown = time.monotonic()
                self.say(f"  {self.pairs} of {self.pair_count} pairs: {pair[0]} -> {pair[1]}")


class Pair:
    """A writer and a reader of two kinds, started again when one was killed or broke."""

    def __init__(self, kinds, build):
        self.kinds = kinds
        self.build = build
        self.agents = []
        self.abilities = set()

    def ready(self):
        if not all(agent.lives() for agent in self.agents):
            self.end()
        if not self.agents:
            self.agents = [Agent(kind, self.build) for kind in self.kinds]
            self.abilities = set.intersection(*(abilities(agent) for agent in self.agents))
        return self.agents

    def end(self):
        for agent in self.agents:
            if not agent.process.stdin.closed:
                agent.kill()
        self.agents = []


class Servers:
    """Those that all cases share; a case that needs one of its own starts it from `program`."""

    def __init__(self, program):
        self.program = program
        self.shared = {name: Server(program, options) for name, options in SHARED_SERVERS.items()}

    def end(self):
        for server in self.shared.values():
            server.end()


def abilities(agent):
    return set(json.loads(agent.tell("hello"))["abilities"])


def run_pair(kinds, cases, servers, build, numbers, report):
    names = (kinds[0]["name"], kinds[1]["name"])
    pair = Pair(kinds, build)
    for case in cases:
        failure = None
        try:
            writer, reader = pair.ready()
            if not set(case.get("needs", [])) <= pair.abilities:
                report.skip()
                continue
            Run(case, writer, reader, servers, build, next(numbers)).go()
        except (Failed, Broken) as failed:
            failure = str(failed)
            pair.end()
        report.add(case, names, failure)
    pair.end()
    report.pair_done(names)


def say_at_once(text):
    print(text, flush=True)


def pairs_of(kinds, is_long):
    """Ordered pairs of agents. An agent that says beside whom is enough meets the others
    in long runs only."""
    def meet(one, other):
        return is_long or one is other or other["name"] in one.get("beside", [other["name"]])

    return [(one, other)
            for one, other in itertools.product(kinds, repeat=2)
            if meet(one, other) and meet(other, one)]


def run(chosen_pairs, cases, gaps, program, build, jobs, say=say_at_once):
    """Returns the report. `jobs` pairs at a time."""
    servers = Servers(program)
    pairs = queue.SimpleQueue()
    for pair in chosen_pairs:
        pairs.put(pair)
    report = Report(gaps, pairs.qsize(), say)
    numbers = itertools.count(1)
    try:
        work_off(pairs, jobs, lambda pair: run_pair(pair, cases, servers, build, numbers, report),
                 lambda: len(report.failures) >= ENOUGH_FAILURES)
    finally:
        servers.end()
    return report
