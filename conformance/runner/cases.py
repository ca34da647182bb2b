"""Cases: what a writer and a reader are told, and what
they must answer (conformance/cases/*.json)."""

import json
import pathlib
import re
import subprocess
import tempfile

from runner.processes import Agent, Broken, Server

RULE = re.compile(r"\[([A-Z]+-[0-9]+)\]")
SEGMENT = re.compile(r"@([a-z]+)")
SAVED = re.compile(r"%([a-z]+)")
# Slow heartbeats: what holds while the server was heard lately holds on a busy machine, too.
SHARED_SERVERS = {"usual": ["--heartbeat", "10"], "short": ["--max-hold", "0.5", "--lease", "1"]}
OWN_SERVER = []  # options of the server that a case kills, suspends and restarts
MEMBERS = {"name", "rules", "needs", "server", "types", "declare", "segments", "steps"}


class Failed(Exception):
    """A step whose answer is not the expected one."""


def rules_of(spec):
    """The numbers of all rules of spec/."""
    found = set()
    for path in [*spec.rglob("*.md"), *spec.rglob("*.x")]:
        if "vectors" not in path.parts:
            found.update(RULE.findall(path.read_text(encoding="utf-8")))
    return found


def load(folder, spec, wanted=""):
    """All cases whose name contains `wanted`; ValueError for one that is not as the README says."""
    rules = rules_of(spec)
    cases = []
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        for case in json.loads(path.read_text(encoding="utf-8")):
            check(path, case, rules)
            cases.append(case)
    names = [case["name"] for case in cases]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two cases are named '{name}'")
    return [case for case in cases if wanted in case["name"]]


def check(path, case, rules):
    where = f"{path.name}: '{case.get('name')}'"
    for missing in {"name", "rules", "steps"} - case.keys():
        raise ValueError(f"{where} has no {missing}")
    for unknown in case.keys() - MEMBERS:
        raise ValueError(f"{where} has an unknown member {unknown}")
    if not case["rules"]:
        raise ValueError(f"{where} cites no rule")
    for rule in case["rules"]:
        if rule not in rules:
            raise ValueError(f"{where} cites [{rule}], which spec/ does not have")
    if case.get("server", "usual") not in {*SHARED_SERVERS, "own"}:
        raise ValueError(f"{where} names an unknown server {case['server']}")


class Run:
    """One case with one pair: W and R are there already, F is a fresh process of R's kind."""

    def __init__(self, case, writer, reader, servers, build, number):
        self.case = case
        self.build = build
        self.number = number
        self.servers = servers
        self.server = None
        self.roles = {"W": writer, "R": reader}
        self.saved = {}

    def go(self):
        if self.case.get("server", "usual") != "own":
            return self.go_with(self.servers.shared[self.case.get("server", "usual")])
        with tempfile.TemporaryDirectory() as store:
            try:
                self.go_with(Server(self.servers.program, OWN_SERVER, store))
            finally:
                self.server.kill()

    def go_with(self, server):
        self.server = server
        self.base = f"{server.url}/{self.number}"
        try:
            for role in ("W", "R"):
                self.begin(role)
            for step in self.case["steps"]:
                self.step(*([step] if isinstance(step, str) else step))
            for role in ("W", "R"):
                if self.roles[role].lives():
                    self.roles[role].tell("reset")
        except Broken as broken:
            raise Failed(str(broken)) from broken
        finally:
            if "F" in self.roles:
                self.roles["F"].kill()

    def begin(self, role):
        agent = self.roles[role]
        durability = "" if self.case.get("server") == "own" else " memory"
        if role in self.case.get("declare", ["W", "R"]) and self.case.get("types"):
            agent.tell("types " + json.dumps(self.case["types"]))
        for name in self.case.get("segments", ["s"]):
            agent.tell(self.filled(f"open {name} @{name} create{durability}"))

    def filled(self, text):
        text = SAVED.sub(lambda found: self.saved[found.group(1)], text)
        return SEGMENT.sub(lambda found: f"{self.base}/{found.group(1)}", text)

    def step(self, text, expected="ok..."):
        who, _, command = text.partition(" ")
        if who == "same":
            return self.same(command)
        if who == "start":
            self.roles[command] = Agent(self.roles["R"].kind, self.build)
            return self.begin(command)
        if who == "kill":
            return self.roles[command].kill()
        if who == "server":
            return self.to_server(command)
        agent = self.roles[who[0]]
        if who[1:] != "=":
            agent.write(self.filled(command))
        if who[1:] != "&":
            self.compare(text, agent.read(), self.filled(expected))

    def to_server(self, command):
        verb, _, name = command.partition(" ")
        if verb == "remove":
            self.remove(f"{self.base}/{name}")
        elif command == "restart":
            self.server = self.server.restarted()
        elif command == "suspend":
            self.server.suspend()
        else:
            self.server.resume()

    def remove(self, url):
        """By a client of its own, which is answered when the server has told all clients."""
        removed = subprocess.run([self.servers.program, "rm", url], capture_output=True, text=True,
                                 check=False)
        if removed.returncode != 0:
            raise Failed(f"interweave rm {url}: {removed.stderr}")

    def compare(self, step, answer, expected):
        is_ok = answer == "ok" or answer.startswith("ok ")
        if expected == "ok...":
            holds = is_ok
        elif expected.startswith("save "):
            holds = is_ok
            self.saved[expected[5:]] = answer[3:]
        elif expected.startswith("not "):
            holds = is_ok and answer != expected[4:]
        elif expected.startswith("error "):
            holds = answer.startswith("error ") and answer.split(" ")[1] in expected[6:].split("|")
        else:
            holds = answer == expected
        if not holds:
            raise Failed(f"{step}\n      answered  {answer[:1000]}"
                         f"\n      expected  {expected[:1000]}")

    def same(self, segment):
        """Every process reads the newest version; their dumps are the same text."""
        texts = {}
        for role, agent in self.roles.items():
            agent.tell(f"rl {segment} 20 fresh")
            texts[role] = agent.tell(f"dump {segment}")
            agent.tell(f"rl_release {segment}")
        if len(set(texts.values())) > 1:
            raise Failed("dumps differ:\n" +
                         "\n".join(f"      {role}: {text[:1500]}" for role, text in texts.items()))
