#!/usr/bin/env python3
"""What encryption costs: the frame of frames.py, and the openings of segments by a new process,
with TLS and without it. Medians.

    secure.py INTERWEAVE RESULTS    runs all systems in turn, several times over; writes
                                    RESULTS/secure.csv

  interweave-tcp  a frame through the server, by TCP
  interweave-tls  the same by iws://, writer and reader
  raw-tcp-twice   the bytes from a writer through a relay to a reader
  raw-tls-twice   the same by TLS on both ways, with Python's ssl
  first-*         a process's first opening, which is a login
  later-*         its openings at servers that it has no connection to
  bare-*          the same with OpenSSL alone (bare_tls.py): without a login
"""

import os
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import frames

TURNS, LOGINS = 5, 15
SERVERS = 4  # each process connects to each of them once


class Child:
    """Another process of this file, in a role."""

    def __init__(self, *words):
        command = [sys.executable, __file__, *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"secure: a process ended with {self.process.wait()}")
        return line.strip()

    def end(self):
        self.process.terminate()
        self.process.wait()


def serve(folder, scheme):
    """The process, and its address. 127.0.0.2 has no Unix socket, so iw:// is TCP there. Neither
    there nor by TLS do clients find a token of the server's own."""
    listen = "127.0.0.1:0" if scheme == "iws" else "127.0.0.2:0"
    command = [sys.argv[1], "serve", "--listen", listen, "--http", "none", "--store", "memory",
               "--max-connections", "100", "--insecure",
               "--tls-cert", f"{folder}/server.pem", "--tls-key", f"{folder}/server.key"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True)
    return process, f"{scheme}://{process.stdout.readline().split()[1]}"


def interweave_frames(folder, scheme):
    import interweave
    server, address = serve(folder, scheme)
    url = f"{address}/frames"
    segment = interweave.open(url, durability="memory")
    with segment.write():
        for name in frames.NAMES:
            segment.new(interweave.Array[interweave.Double, frames.SHAPE[0], frames.SHAPE[1]],
                        name=name)
    reader = Child("read", "interweave", url)
    reader.line()

    def frame(round):
        with segment.write():
            frames.compute([segment[name] for name in frames.NAMES], round)
    samples = frames.measure(reader, frame)
    reader.end()
    segment.close()
    server.terminate()
    server.wait()
    return samples


# ---- bytes through a relay ----

def server_context(folder):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/server.pem", f"{folder}/server.key")
    return context


def connected(port, is_secure):
    plain = socket.create_connection(("127.0.0.1", int(port)))
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not is_secure:
        return plain
    context = ssl.create_default_context(cafile=os.environ["IW_CA"])
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def accepted(listener, folder, is_secure):
    plain, _ = listener.accept()
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return server_context(folder).wrap_socket(plain, server_side=True) if is_secure else plain


def receive_all(connection, into):
    at = 0
    while at < len(into):
        got = connection.recv_into(into[at:])
        if got == 0:
            sys.exit(0)
        at += got


def relay(folder, is_secure):
    """Takes a frame whole, then gives it on: a server has it before it tells others."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        writer = accepted(listener, folder, is_secure)
        reader = accepted(listener, folder, is_secure)
    room = memoryview(bytearray(frames.VALUES * 8))
    while True:
        receive_all(writer, room)
        reader.sendall(room)


def raw_frames(folder, is_secure):
    secure = str(int(is_secure))
    between = Child("relay", folder, secure)
    port = between.line()
    connection = connected(port, is_secure)
    reader = Child("read", "raw", port, secure)
    reader.line()
    arrays = np.empty((frames.ARRAYS, *frames.SHAPE))

    def frame(round):
        frames.compute(arrays, round)
        connection.sendall(memoryview(arrays).cast("B"))
    samples = frames.measure(reader, frame)
    reader.end()
    between.end()
    return samples


def raw_read(port, is_secure):
    connection = connected(port, is_secure)
    print("ready", flush=True)
    arrays = np.empty((frames.ARRAYS, *frames.SHAPE))
    round = 1
    while True:
        receive_all(connection, memoryview(arrays).cast("B"))
        frames.have(arrays, round)
        round += 1


# ---- openings by new processes ----

def open_each(*urls):
    import interweave
    for url in urls:
        begin = time.monotonic_ns()
        segment = interweave.open(url)
        print((time.monotonic_ns() - begin) / 1e6, flush=True)
        segment.close()


def in_new_processes(folder, scheme, command_for):
    """Returns, for each line that a process prints for one of the servers, all numbers."""
    servers = [serve(folder, scheme) for _ in range(SERVERS)]
    addresses = [address for _, address in servers]
    lines = [[] for _ in servers]
    for _ in range(LOGINS):
        done = subprocess.run(command_for(addresses), check=True, capture_output=True, text=True)
        for all, line in zip(lines, done.stdout.splitlines(), strict=True):
            all.append([float(word) for word in line.split()])
    for process, _ in servers:
        process.terminate()
        process.wait()
    return lines


def openings(folder, scheme):
    def command_for(addresses):
        return [sys.executable, __file__, "open", *(f"{one}/logins" for one in addresses)]
    first, *later = in_new_processes(folder, scheme, command_for)
    kind = "tls" if scheme == "iws" else "tcp"
    return {f"first-{kind}": [ms for ms, in first],
            f"later-{kind}": [ms for line in later for ms, in line]}


def bare(folder):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bare_tls.py")

    def command_for(addresses):
        hosts = (one.removeprefix("iws://") for one in addresses)
        return [sys.executable, script, os.environ["IW_CA"], *hosts]
    first, second, *later = in_new_processes(folder, "iws", command_for)
    return {"bare-load": [load for load, _, _ in first],
            "bare-first-context": [context for _, context, _ in first],
            "bare-first-handshake": [handshake for _, _, handshake in first],
            "bare-first": [sum(times) for times in first],
            "bare-later-context": [context for _, context, _ in second],
            "bare-later-handshake": [handshake for line in later for _, _, handshake in line]}


# Each gives samples by name.
SYSTEMS = [
    lambda folder: {"interweave-tcp": interweave_frames(folder, "iw")},
    lambda folder: {"interweave-tls": interweave_frames(folder, "iws")},
    lambda folder: {"raw-tcp-twice": raw_frames(folder, False)},
    lambda folder: {"raw-tls-twice": raw_frames(folder, True)},
    lambda folder: openings(folder, "iw"),
    lambda folder: openings(folder, "iws"),
    bare,
]
ROLES = {
    "relay": lambda folder, secure: relay(folder, secure == "1"),
    "open": open_each,
    "read": lambda system, *words: READERS[system](*words),
}
READERS = {
    "interweave": frames.interweave_read,
    "raw": lambda port, secure: raw_read(port, secure == "1"),
}


def main():
    if sys.argv[1] in ROLES:
        ROLES[sys.argv[1]](*sys.argv[2:])
        return
    samples = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("authority", "server"):
            subprocess.run([sys.argv[1], "cert", kind, folder], check=True,
                           stdout=subprocess.DEVNULL)
        os.environ["IW_CA"] = f"{folder}/ca.pem"
        for _ in range(TURNS):  # in turn, so that what else the machine does hits all of them
            for run in SYSTEMS:
                for system, times in run(folder).items():
                    samples.setdefault(system, []).extend(times)
    print("a frame of 3 MiB, and openings by new processes; medians")
    print(f"{'system':20s} {'ms':>8s} {'fastest':>8s}")
    with open(os.path.join(sys.argv[2], "secure.csv"), "w") as results:
        results.write("system,ms\n")
        for system, all in samples.items():
            results.write(f"{system},{statistics.median(all):.3f}\n")
            print(f"{system:20s} {statistics.median(all):8.2f} {min(all):8.2f}")


if __name__ == "__main__":
    main()
