"""The identity matrix: every kind of client over TLS with tokens, let in or refused in every way,
is told the same code in words that name the same things.

An answer that does not come within a minute fails the case. So does a client that waits for its
deadline (LONG) instead of telling a refusal at once [CRED-2].
"""

import pathlib
import queue
import re
import subprocess
import tempfile

from runner.processes import Agent, Broken, Server
from runner.workers import work_off

LONG = "600"
RULES = """\
allow alice all /**
allow leaver all /**
allow reader read /s
allow steerer read,steer /s
allow elsewhere all /other/**
end
"""
NOT_VALID = r"token is not valid here.*IW_TOKEN"

# The commands of a client of that name, each with the code and the words of its refusal; None:
# it succeeds. `ca` is a file of the folder, `token` the token of that name.
CASES = [
    {"name": "alice is let in", "token": "alice", "steps": [
        ("open t iws:///t create memory", None), ("wl t", None), ('make t n 1 "int"', None),
        ("put t n 3", None), ("wl_release t", None), ("rl t 5 fresh", None), ("get t n", None)]},
    {"name": "no token", "token": None, "steps": [
        ("open s iws:///s", ("DENIED", r"lets nobody in who shows nothing.*IW_TOKEN"))]},
    {"name": "a wrong token", "token": "unknown", "steps": [
        ("open s iws:///s", ("DENIED", NOT_VALID))]},
    {"name": "what is not a token", "token": "malformed", "steps": [
        ("open s iws:///s", ("DENIED", NOT_VALID))]},
    {"name": "an expired token", "token": "late", "steps": [
        ("open s iws:///s", ("DENIED", NOT_VALID))]},
    {"name": "a token that is too long", "token": "long", "steps": [
        ("open s iws:///s", ("BAD_ARGUMENT", r"token.*IW_TOKEN.*longer than 4096 bytes"))]},
    {"name": "revoked while connected", "token": "leaver", "steps": [
        ("open s iws:///s", None), ("rl s 5 fresh", None), ("rl_release s", None),
        ("listen s", None), ("revoke leaver", None), ("told s disconnected", None),
        (f"wl s {LONG}", ("DENIED", NOT_VALID)),
        (f"rl s {LONG} fresh", ("DENIED", NOT_VALID))]},
    {"name": "read only", "token": "reader", "steps": [
        ("open s iws:///s", None), ("rl s 5 fresh", None), ("get s n", None),
        ("rl_release s", None), ("wl s 5", ("DENIED", r"write.*/s")),
        ("open n iws:///new create", ("DENIED", r"/new"))]},
    {"name": "steer only", "token": "steerer", "steps": [
        ("open s iws:///s", None), ("wl s 5", None), ("put s n 8", None), ("wl_release s", None),
        ("wl s 5", None), ('make s more 1 "int"', None),
        ("wl_release s", ("DENIED", r"/s")), ("rl s 5 fresh", None), ("rl_release s", None)]},
    {"name": "other path", "token": "elsewhere", "steps": [
        ("open s iws:///s", ("DENIED", r"/s")), ("open none iws:///none", ("DENIED", r"/none")),
        ("open o iws:///other/o create memory", None)]},
    {"name": "foreign authority", "token": "alice", "ca": "foreign/ca.pem", "steps": [
        ("open s iws:///s", ("DENIED", r"certificate.*not trusted.*IW_CA"))]},
    {"name": "a file of no authority", "token": "alice", "ca": "server.key", "steps": [
        ("open s iws:///s", ("DENIED", r"server\.key.*IW_CA.*holds no certificate"))]},
]


class Papers:
    """Certificates of two authorities, tokens and rules, in a folder."""

    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)
        (self.folder / "foreign").mkdir()
        (self.folder / "runtime").mkdir()  # in which nobody has left a token
        for of in (self.folder, self.folder / "foreign"):
            self.run("cert", "authority", str(of))
        self.run("cert", "server", str(self.folder))
        self.file("rules").write_text(RULES, encoding="ascii")
        names = ["alice", "reader", "steerer", "elsewhere", "late", "leaver"]
        self.tokens = {name: self.new(name) for name in names}
        self.tokens.update(unknown=f"iw_{12 * '0'}_{64 * '0'}", malformed="s3cret", long=5000 * "a")
        self.expire("late")

    def file(self, name):
        return self.folder / name

    def run(self, *words):
        done = subprocess.run([self.program, *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Broken(f"interweave {' '.join(words)}: {done.stderr}")
        return done.stdout

    def new(self, name):
        return self.run("token", "new", name, "--tokens", str(self.file("tokens"))).strip()

    def revoke(self, name):
        self.run("token", "revoke", name, "--tokens", str(self.file("tokens")))

    def expire(self, name):
        """As if the time had come a second after 1970 began [spec/access.md]."""
        lines = self.file("tokens").read_text(encoding="ascii").splitlines()
        changed = [re.sub(r"[0-9]+$", "1", line) if f" {name} " in line else line for line in lines]
        self.file("tokens").write_text("\n".join(changed) + "\n", encoding="ascii")

    def server(self):
        return Server(self.program, [
            "--tls-cert", str(self.file("server.pem")), "--tls-key", str(self.file("server.key")),
            "--tls", "required", "--tokens", str(self.file("tokens")),
            "--rules", str(self.file("rules"))])

    def environment(self, case):
        token = case["token"] and self.tokens[case["token"]]
        return {"IW_TOKEN": token or "", "IW_CA": str(self.file(case.get("ca", "ca.pem"))),
                "IW_CERT": "", "IW_KEY": "", "XDG_RUNTIME_DIR": str(self.file("runtime"))}


class Step(Exception):
    """A step whose answer is not the expected one."""


def fault(refusal, answer, tokens):
    """What is wrong with an answer; None: nothing."""
    shown = [name for name, token in tokens.items() if token in answer]
    if shown:
        return f"the answer shows the token of {shown[0]}"
    if refusal is None:
        holds = answer == "ok" or answer.startswith("ok ")
        wanted = "ok"
    else:
        code, words = refusal
        holds = answer.startswith(f"error {code} ") and re.search(words, answer) is not None
        wanted = f"error {code} ... {words}"
    return None if holds else f"answered  {answer[:1000]}\n      expected  {wanted}"


def take(case, agent, papers, address):
    for command, refusal in case["steps"]:
        if command.startswith("revoke "):
            papers.revoke(command[7:])
            continue
        answer = agent.ask(command.replace("iws:///", f"iws://{address}/"))
        wrong = fault(refusal, answer, papers.tokens)
        if wrong:
            raise Step(f"{command}\n      {wrong}")


def attempt(kind, case, program, build):
    """What did not hold; None: all did. Each case has papers and a server of its own, because some
    cases change them."""
    with tempfile.TemporaryDirectory() as folder:
        papers = Papers(program, folder)
        server = papers.server()
        processes = [server]
        try:
            maker = Agent(kind, build, papers.environment({"token": "alice"}))
            processes.append(maker)
            url = f"iws://{server.address}/s"
            for command in (f"open s {url} create memory", "wl s", 'make s n 1 "int"',
                            "wl_release s"):
                maker.tell(command)
            agent = Agent(kind, build, papers.environment(case))
            processes.append(agent)
            take(case, agent, papers, server.address)
            return None
        except (Step, Broken) as failure:
            return str(failure)
        finally:
            for process in reversed(processes):
                process.kill()


def run(kinds, program, build, only, jobs):
    """Returns the numbers of cases that passed and failed."""
    waiting = queue.SimpleQueue()
    for kind in kinds:
        for case in CASES:
            if only in case["name"]:
                waiting.put((kind, case))
    count = waiting.qsize()
    failures = []

    def work(cell):
        kind, case = cell
        failure = attempt(kind, case, program, build)
        if failure is None:
            return
        failures.append(failure)
        print(f"  FAILED {case['name']}: {kind['name']}\n    {failure}", flush=True)

    work_off(waiting, jobs, work)
    return count - len(failures), len(failures)
