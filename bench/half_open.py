#!/usr/bin/env python3
"""Measures a client with TLS while strangers begin handshakes and do not complete them.

    half_open.py INTERWEAVE RESULTS    writes RESULTS/half_open.csv: state,p50_us,p99_us

A client with TLS asks PING and waits for PONG, one after another. In the rounds "opened", 10,000
other connections have sent the first byte of a handshake, and nothing more; the server sends away
as many as it wants. In the rounds "again", each one that it sends away is made again at once, by a
process that does nothing else. The rounds take turns. Each number is the median of its rounds.

The report says how many times the p99 of the first state the others have, and whether that meets
the target: "opened" at most doubles the p99. "again" has no target.
"""

import os
import resource
import select
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROUNDS, PINGS, HALF_OPEN = 7, 3000, 10_000
MOST_RATIO = 2.0
HELLO, WELCOME, PING, PONG, HEARTBEAT = 16, 17, 18, 19, 86


def raise_descriptors():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if most < HALF_OPEN + 1000:
        sys.exit(f"half_open: {HALF_OPEN + 1000} descriptors are needed (ulimit -n), not {most}")


# ---- strangers ----

def half_open(port, is_made_again):
    """Keeps so many half-open connections until its standard input ends. Says `ready` once."""
    raise_descriptors()
    poll = select.poll()
    poll.register(sys.stdin.fileno(), select.POLLIN | select.POLLHUP)
    strangers = {}

    def begin():
        stranger = socket.create_connection(("127.0.0.1", port))
        try:
            stranger.sendall(b"\x16")
        except OSError:
            pass
        strangers[stranger.fileno()] = stranger
        poll.register(stranger.fileno(), select.POLLIN)

    for _ in range(HALF_OPEN):
        begin()
    print("ready", flush=True)
    again = 0
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == sys.stdin.fileno():
                print(again, flush=True)
                return
            poll.unregister(descriptor)
            strangers.pop(descriptor).close()
            again += 1
            if is_made_again:
                begin()


# ---- the client ----

class Client:
    def __init__(self, port, authority):
        plain = socket.create_connection(("127.0.0.1", port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        context = ssl.create_default_context(cafile=authority)
        self.stream = context.wrap_socket(plain, server_hostname="127.0.0.1")
        self.last = 0
        self.ask(HELLO, b"IWV1" + struct.pack(">II16xIII", 2, 2, 0, 0, 0), WELCOME)

    def receive(self, count):
        data = b""
        while len(data) < count:
            got = self.stream.recv(count - len(data))
            if not got:
                sys.exit("half_open: the server ended the client's connection")
            data += got
        return data

    def ask(self, kind, body, reply):
        self.last += 1
        control = struct.pack(">iIQ", kind, self.last, 0) + body
        self.stream.sendall(struct.pack(">II", len(control), 0) + control)
        while True:
            control_bytes, _ = struct.unpack(">II", self.receive(8))
            found, _ = struct.unpack(">iI", self.receive(control_bytes)[:8])
            if found == reply:
                return
            if found != HEARTBEAT:
                sys.exit(f"half_open: a message of type {found} came")

    def wait_for(self, file):
        """Waits for a line, and says something now and then, as a client does."""
        while not select.select([file], [], [], 0.1)[0]:
            self.ask(PING, b"", PONG)
        return file.readline()

    def round(self):
        """The p50 and p99 of some pings, in microseconds."""
        samples = []
        for _ in range(PINGS):
            begin = time.perf_counter_ns()
            self.ask(PING, b"", PONG)
            samples.append((time.perf_counter_ns() - begin) / 1e3)
        samples.sort()
        return samples[PINGS // 2], samples[PINGS * 99 // 100]


def beside(client, port, state, again):
    """A round of the client beside strangers."""
    strangers = subprocess.Popen([sys.executable, __file__, "strangers", str(port), state],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if client.wait_for(strangers.stdout) != "ready\n":
        sys.exit("half_open: the strangers could not connect")
    found = client.round()
    strangers.stdin.close()
    ended = int(client.wait_for(strangers.stdout))
    strangers.wait()
    if state == "again":
        again.append(ended)
    return found


def report(medians):
    """Prints each state, and how its p99 compares with that of a server without strangers."""
    _, alone = medians["without"]
    for state, (p50, p99) in medians.items():
        ratio = p99 / alone
        target = ""
        if state == "opened":
            met = "met" if ratio <= MOST_RATIO else "NOT met"
            target = f"; the target, at most {MOST_RATIO:.1f}, is {met}"
        print(f"{state:8} p50 {p50:8.1f} us, p99 {p99:8.1f} us, {ratio:5.2f} times{target}")


def main(program, results):
    raise_descriptors()
    rounds = {"without": [], "opened": [], "again": []}
    with tempfile.TemporaryDirectory() as folder:
        for words in (["authority", folder], ["server", folder]):
            subprocess.run([program, "cert", *words], check=True, stdout=subprocess.DEVNULL)
        server = subprocess.Popen(
            [program, "serve", "--insecure", "--listen", "127.0.0.1:0", "--http", "none",
             "--store", "memory", "--tls-cert", f"{folder}/server.pem", "--tls-key",
             f"{folder}/server.key"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port = int(server.stdout.readline().split()[1].rsplit(":", 1)[1])
        client = Client(port, f"{folder}/ca.pem")
        again = []
        for _ in range(ROUNDS):
            rounds["without"].append(client.round())
            for state in ("opened", "again"):
                rounds[state].append(beside(client, port, state, again))
                # A new client is let in.
                Client(port, f"{folder}/ca.pem")
        server.terminate()
        server.wait()
    medians = {state: [statistics.median(column) for column in zip(*samples)]
               for state, samples in rounds.items()}
    report(medians)
    lines = ["state,p50_us,p99_us\n"]
    lines += [f"{state},{p50:.1f},{p99:.1f}\n" for state, (p50, p99) in medians.items()]
    print(f"connections made again in a round: {statistics.median(again):.0f}")
    unfinished = os.path.join(results, "half_open.csv.new")
    with open(unfinished, "w", encoding="utf-8") as file:
        file.writelines(lines)
    os.rename(unfinished, os.path.join(results, "half_open.csv"))


if sys.argv[1] == "strangers":
    half_open(int(sys.argv[2]), sys.argv[3] == "again")
else:
    main(*sys.argv[1:])
