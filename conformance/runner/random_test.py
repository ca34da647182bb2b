"""The random test: in each round one machine edits, every machine reads, and all dumps
must be the model.

A world is a few random types and two or three segments; world W of seed S is always the same, so
that one that fails can be run alone.
"""

import json
import random as randomness
import time

from runner.processes import Agent, Broken, Server
from runner.random_model import Model
from runner.random_types import TypeMaker

ROUNDS = 24
EDITS = 24  # a round
REWRITTEN_ITEMS = 300


class Differs(Exception):
    """Two texts that should be equal; the text says where."""


class World:
    def __init__(self, seed, number, agents, server):
        self.random = randomness.Random(f"{seed} {number}")
        self.agents = agents
        base = f"{server.url}/random{number}"
        self.maker = TypeMaker(self.random, f"w{number}")
        self.kinds = self.maker.make_all()
        names = "ab" if self.random.random() < 0.7 else "abc"
        self.model = Model(self.random, self.kinds, {name: f"{base}/{name}" for name in names})
        self.declared = set()
        self.behind = set()
        self.edits = 0
        self.told = []
        # Some worlds have a writer that stays and rewrites one block again and again.
        self.rewrites = self.random.random() < 0.15
        self.writer = None

    def run(self):
        for agent in self.agents:
            self.open(agent)
        for number in range(ROUNDS):
            if self.random.random() < 0.1:
                self.begin_anew(self.random.choice(self.agents))
            self.write(self.next_writer())
            self.behind = {self.random.choice(self.agents)} if self.random.random() < 0.2 else set()
            if number == ROUNDS - 1:
                self.behind = set()
            self.compare([agent for agent in self.agents if agent not in self.behind])
        for agent in self.agents:
            agent.tell("reset")

    def open(self, agent):
        agent.tell_all(
            [f"open {name} {url} create memory" for name, url in self.model.urls.items()])

    def begin_anew(self, agent):
        """The next lock brings a complete copy."""
        agent.tell("reset")
        self.open(agent)

    def next_writer(self):
        if self.writer is None or not self.rewrites or self.random.random() < 0.1:
            self.writer = self.random.choice(self.agents)
        return self.writer

    def tell(self, agent, commands):
        self.told += commands
        return agent.tell_all(commands)

    def write(self, agent):
        """One section of one writer; some are aborted."""
        self.told = [f"-- {agent.name} writes"]
        if agent not in self.declared:
            self.declare(agent)
        self.tell(agent, [f"wl {name} 60" for name in self.model.urls])
        self.model.keep()
        is_aborted = self.random.random() < 0.1
        for _ in range(self.random.randint(0, 4)):
            self.make(agent)
        commands = []
        while len(commands) < EDITS:
            drawn = self.model.free_one() if self.random.random() < 0.05 else self.model.edit_one()
            if not drawn:
                self.make(agent)
            commands += drawn
        if self.rewrites:
            commands += self.model.rewrite_largest(REWRITTEN_ITEMS)
        self.tell(agent, commands)
        self.edits += len(commands)
        if self.random.random() < 0.2:
            self.look_in(agent)
        if is_aborted:
            self.model.restore()
        word = "wl_abort" if is_aborted else "wl_release"
        # Pointers from each may lead to new blocks of the others, which are released later.
        self.tell(agent, [f"{word} {name}" for name in self.model.urls])

    def declare(self, agent):
        self.tell(
            agent,
            ["types " + json.dumps([{"name": kind.name, **kind.body} for kind in self.kinds])])
        self.declared.add(agent)

    def make(self, agent):
        segment, name, count, kind = self.model.draw_block()
        serial, = self.tell(agent,
                            [f"make {segment} {name or '-'} {count} {json.dumps(kind.reference)}"])
        self.model.add(segment, name, count, kind, int(serial))
        self.edits += 1

    def look_in(self, writer):
        """Somebody else reads before the release: the newest version is the one before."""
        reader = self.random.choice(self.agents)
        if reader is writer:
            return
        for segment in self.model.urls:
            reader.tell(f"rl {segment} 60 fresh")
            found = json.loads(reader.tell(f"dump {segment}"))
            wanted = self.model.dumped_before(segment)
            if found != wanted:
                raise Differs(f"{reader.name}, segment {segment}, while {writer.name} writes: "
                              f"{first_difference(found, wanted)}")
            reader.tell(f"rl_release {segment}")

    def compare(self, agents):
        """All at once, so that the machines work side by side."""
        place = self.draw_place()
        for agent in agents:
            for command in self.reading(place):
                agent.write(command)
        texts = {}
        for agent in agents:
            for command in self.reading(place):
                answer = agent.read()
                if not answer.startswith("ok"):
                    raise Differs(f"{agent.name}: {command}: {answer}")
                if command.startswith("dump "):
                    self.check_dump(agent, command[5:], answer[3:], texts)
                elif command.startswith("mip ") and answer[3:] != place[2]:
                    raise Differs(f"{agent.name}: the MIP of {place[1]} is {answer[3:]}, not "
                                  f"{place[2]}")

    def reading(self, place):
        names = list(self.model.urls)
        commands = [f"rl {name} 60 fresh" for name in names] + [f"dump {name}" for name in names]
        if place:
            commands.append(f"mip {place[0]} {place[1]}")
        return commands + [f"rl_release {name}" for name in names]

    def draw_place(self):
        """(segment, place, its canonical MIP) of some unit."""
        segment, block = self.model.any_block()
        if block is None:
            return None
        unit = self.random.randrange(block.count * block.kind.units)
        return (segment, f"{block.name or block.serial}#{unit}",
                self.model.mip(segment, block.serial, unit))

    def check_dump(self, agent, segment, text, texts):
        """The first dump must have the model's values, all others be the same text."""
        first = texts.setdefault(segment, text)
        if text == first and first is not text:
            return
        found = json.loads(text)
        wanted = self.model.dumped(segment)
        if found != wanted:
            raise Differs(f"{agent.name}, segment {segment}: {first_difference(found, wanted)}")
        if text != first:
            raise Differs(f"{agent.name}, segment {segment}: the same values, but another "
                          f"text:\n{text}\n{first}")


def first_difference(found, wanted, path="dump"):
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in wanted:
            if found.get(key) != wanted[key]:
                where = f"block {wanted['serial']}" if "serial" in wanted else path
                return first_difference(found.get(key), wanted[key], f"{where}.{key}")
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        for index, (one, other) in enumerate(zip(found, wanted)):
            if one != other:
                return first_difference(one, other, f"{path}[{index}]")
    return f"{path} is {json.dumps(found)[:600]}, not {json.dumps(wanted)[:600]}"


def run(kinds, program, build, seed, cases, only_world, progress):
    """Worlds until `cases` edits were checked; (edits, worlds, what failed or None)."""
    server = Server(program, ["--heartbeat", "5"])
    agents = [Agent(kind, build) for kind in kinds]
    edits = 0
    number = only_world or 0
    began = time.monotonic()
    failure = None
    while edits < cases and failure is None:
        number += 0 if only_world else 1
        world = World(seed, number, agents, server)
        try:
            world.run()
        except (Broken, Differs) as wrong:
            failure = (f"{wrong}\n  world {number}; run it alone with --seed {seed} "
                       f"--world {number}. "
                       f"The last section's commands:\n    " +
                       "\n    ".join(line[:300] for line in world.told))
        edits += world.edits
        progress(number, edits, time.monotonic() - began)
        if only_world:
            break
    for agent in agents:
        agent.kill()
    server.end()
    return edits, number, failure
