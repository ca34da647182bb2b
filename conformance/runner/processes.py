"""Servers and agents as processes. Nothing is waited for but an answer, and
that until a deadline."""

import atexit
import os
import selectors
import signal
import socket
import subprocess
import tempfile
import time

ANSWER_SECONDS = 60


LIVING = set()


@atexit.register
def kill_all():
    """None outlives the runner, however it ends."""
    for process in list(LIVING):
        process.kill()


class Broken(Exception):
    """A process that ended or did not answer in time; the text says which and what it last said."""


class Lines:
    """A process that is told lines and answers with lines."""

    def __init__(self, name, command, environment=None, has_own_session=False):
        self.name = name
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, bufsize=0,
                                        env={**os.environ, **(environment or {})},
                                        start_new_session=has_own_session)
        LIVING.add(self)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.pending = b""

    def write(self, text):
        try:
            self.process.stdin.write(text.encode("ascii") + b"\n")
        except OSError as error:
            raise self.broken(f"cannot be told anything ({error})") from error

    def read(self, seconds=ANSWER_SECONDS):
        deadline = time.monotonic() + seconds
        while b"\n" not in self.pending:
            if not self.selector.select(max(0, deadline - time.monotonic())):
                raise self.broken(f"did not answer in {seconds} s")
            some = os.read(self.process.stdout.fileno(), 1 << 18)
            if not some:
                raise self.broken(f"ended with status {self.process.wait()}")
            self.pending += some
        line, self.pending = self.pending.split(b"\n", 1)
        return line.decode("ascii")

    def broken(self, what):
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace")[-2000:]
        return Broken(f"{self.name} {what}" + (f"; it said:\n{said}" if said else ""))

    def lives(self):
        return not self.process.stdin.closed and self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.end()

    def suspend(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self, seconds=5):
        """Closes its input and waits; what does not end by itself is killed."""
        LIVING.discard(self)
        self.process.stdin.close()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.selector.close()
        self.process.stdout.close()
        self.errors.close()


def held_port():
    """A socket that is bound to a port of its own and does not listen. While it is open, a server
    that is told the port can listen there, and the system gives the port to nobody else while the
    server is started again."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


class Server(Lines):
    # Of every server of the run; with the scheme iws the options say how it encrypts.
    scheme = "iw"
    options_of_run = []

    def __init__(self, program, options, store="memory", held=None):
        self.held = held or held_port()
        self.again = (program, options, store, self.held)
        listen = "127.0.0.1:%d" % self.held.getsockname()[1]
        super().__init__("the server", [program, "serve", "--listen", listen, "--http", "none", "--store", store,
                                        *options, *self.options_of_run])
        self.address = self.read().removeprefix("listening ")
        self.url = f"{self.scheme}://{self.address}"

    def restarted(self):
        """Killed, and started again at the same address with the same store."""
        self.kill()
        return self.started_again()

    def started_again(self):
        return Server(*self.again)

    def ask_to_stop(self):
        self.process.terminate()

    def stopped(self):
        """Waits for the clean end that it was asked for; a second signal would end it at once."""
        try:
            status = self.process.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise self.broken("does not stop") from error
        if status != 0:
            raise self.broken(f"stopped with status {status}")
        super().end()

    def end(self):
        self.process.terminate()
        super().end()


class Agent(Lines):
    """One agent; `kind` is its entry of agents.json, and `more` goes into its environment."""

    def __init__(self, kind, build, more=None):
        command = [word.replace("{build}", build) for word in kind["command"]]
        environment = {
            name: value.replace("{build}", build)
            for name, value in kind.get("environment", {}).items()
        }
        environment.update(more or {})
        super().__init__(kind["name"], command, environment)
        self.kind = kind

    def ask(self, command):
        self.write(command)
        return self.read()

    def tell(self, command):
        """As ask, for a command that must succeed; the value that the answer gives."""
        answer = self.ask(command)
        if answer != "ok" and not answer.startswith("ok "):
            raise Broken(f"{self.name}: {command[:200]}: {answer}")
        return answer[3:]

    def tell_all(self, commands):
        """Sends all before it reads: the answers must be short, or few."""
        self.process.stdin.write("".join(command + "\n" for command in commands).encode("ascii"))
        answers = [self.read() for _ in commands]
        for command, answer in zip(commands, answers):
            if not answer.startswith("ok"):
                raise Broken(f"{self.name}: {command[:200]}: {answer}")
        return [answer[3:] for answer in answers]
