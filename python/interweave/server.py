"""A server for a notebook or a script, which ends with the process that began it."""

from __future__ import annotations

import collections
import json
import os
import signal
import subprocess
import threading
import weakref
from pathlib import Path
from types import TracebackType
from typing import Deque, Optional, Sequence, Tuple, Type, Union as Either

from .errors import Unreachable
from .xfile import compiler

# How long a server may take to save its segments before it is killed.
LONGEST_STOP_S = 30.0
# Ends the server when the pipe to this process ends, and so also if this process is killed.
WATCH = '"$@" & exec >/dev/null 2>&1; cat; kill "$!"; wait "$!"'


class _Log:
    """What the server says on stderr, read by a thread, so that the pipe is never full."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.lines: Deque[str] = collections.deque(maxlen=20)
        self._http = ""
        self._login = ""
        self._is_told = threading.Event()
        self._process = process
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            said = _said(line)
            message = said.get("message", line.strip())
            self.lines.append(message)
            if message.startswith("HTTP"):
                self._http = said.get("address", "")
            if "token" in said and "viewer" in said:
                token = Path(said["token"]).read_text(encoding="ascii").strip()
                self._login = f"{said['viewer']}#{token}"
            if message == "listening":  # the last of these
                self._is_told.set()
        self._is_told.set()

    def addresses(self) -> Tuple[str, str]:
        """Where the server answers HTTP, and the link that logs in a browser."""
        self._is_told.wait()
        return self._http, self._login or f"http://{self._http}/"

    def reason(self) -> str:
        """Why a server has ended: its line of the error, or its last line."""
        self._thread.join()
        errors = [line for line in self.lines if line.startswith("error")]
        return [*errors, *reversed(self.lines), "it said nothing"][0]


def _said(line: str) -> "dict[str, str]":
    """The message and the fields of a line of the log; nothing if it is not of the log."""
    try:
        record = json.loads(line)
        return {name: str(value) for name, value in {**record, **record.get("fields", {})}.items()}
    except (ValueError, AttributeError):
        return {}


class Server:
    """A server of this process. See `interweave.serve`. `address` and `http` are HOST:PORT: where
    clients connect, and where pages are. `viewer` is a link for the browser. It has the server's
    token, so whoever has the link may do everything as long as the server runs."""

    def __init__(self, process: "subprocess.Popen[str]", address: str, http: str,
                 viewer: str) -> None:
        self._process = process
        self.address, self.http, self.viewer = address, http, viewer
        self._end = weakref.finalize(self, _end, process)

    def url(self, path: str) -> str:
        """The URL of a segment of this server."""
        return f"iw://{self.address}/{path.lstrip('/')}"

    def stop(self) -> None:
        """Ends the server in order. A second call does nothing."""
        self._end()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], raised: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "" if self._process.poll() is None else " (ended)"
        return f"<interweave server {self.address}{state}>"


def _end(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    try:
        process.wait(LONGEST_STOP_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    process.stdout.close()


def serve(store: Either[str, "os.PathLike[str]"] = "memory", *, program: Optional[str] = None,
          options: Sequence[str] = ()) -> Server:
    """Starts a server on a free port of this host, and returns it when clients can connect. It ends
    at `stop()`, at the end of a `with`, when the object is dropped, or with this process.

    `store`: a folder, or "memory", which keeps nothing. `program`: the `interweave` program;
    otherwise IW_PROGRAM, or the one on the path. `options`: more of `interweave serve`, such as
    ["--lease", "5"]. Thrown: FileNotFoundError without the program; Unreachable, with the server's
    words, if it does not start.
    """
    place = "memory" if store == "memory" else str(Path(store))
    command = [
        compiler(program), "serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
        "--log-format", "json", "--store", place, *options
    ]
    # A session of its own, because Ctrl-C in a notebook is for the cell, not for the server.
    process = subprocess.Popen(["sh", "-c", WATCH, "sh", *command], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    assert process.stdout is not None
    log = _Log(process)
    words = process.stdout.readline().split()
    if len(words) != 2:
        _end(process)
        raise Unreachable(f"the server did not start: {log.reason()} [UNREACHABLE]")
    return Server(process, words[1], *log.addresses())
