"""The other programs of every test: a real server and, if a test needs one, a client in C++."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Iterator, List, Optional

import pytest

import interweave

REPOSITORY = Path(__file__).resolve().parents[2]


def program(variable: str, default: str) -> str:
    """The path of a program that the build made: from the environment, or where `make build` puts
    it."""
    found = os.environ.get(variable) or str(REPOSITORY / default)
    if not os.access(found, os.X_OK):
        pytest.exit(f"{found} is missing: build it, or set {variable}", returncode=2)
    return found


class Server:
    """`interweave serve`. `instead_of`: a server that was killed, whose address this one takes."""

    def __init__(
        self, *options: str, store: str = "memory", instead_of: Optional[Server] = None
    ) -> None:
        # Bound, and not listening: the system gives the port to no other process between two
        # servers.
        self.held_port = instead_of.held_port if instead_of else socket.socket()
        if instead_of is None:
            self.held_port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.held_port.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % self.held_port.getsockname()[1]
        command = [
            program("IW_TEST_SERVER", "target/release/interweave"), "serve", "--listen", address,
            "--http", "none", "--store", store, *options
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("listening "), line
        self.address = line.split()[1]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


class Agent:
    """A client in C++ (native/abi/tests/agent_main.cc) that obeys one command a line."""

    def __init__(self) -> None:
        agent = program("IW_TEST_AGENT", "build/release/native/abi/test_agent")
        self.process = subprocess.Popen([agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def tell(self, command: str) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def do(self, command: str) -> None:
        assert self.tell(command) == "ok", command

    def end(self) -> None:
        self.process.communicate()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.kill()


_urls = 0


@pytest.fixture
def url(server: Server) -> str:
    """The URL of a segment that no other test uses."""
    global _urls
    _urls += 1
    return f"{server.address}/python/{_urls}"


@pytest.fixture
def segment(url: str) -> Iterator[interweave.Segment]:
    with interweave.open(url) as one:
        yield one


@pytest.fixture
def agent(url: str) -> Iterator[Agent]:
    one = Agent()
    one.do(f"open {url} 10")
    yield one
    one.end()


class Script:
    """Python in a process of its own, so that a crash does not end the tests."""

    def __init__(self, text: str, *arguments: str) -> None:
        command: List[str] = [
            sys.executable, "-X", "faulthandler", "-c",
            textwrap.dedent(text), *arguments
        ]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self, text: Optional[str] = None) -> str:
        """Returns what the program prints. The program must end with status 0."""
        out, err = self.process.communicate(text, timeout=60)
        assert self.process.returncode == 0, f"ended with {self.process.returncode}: {err}"
        return out
