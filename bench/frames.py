#!/usr/bin/env python3
"""A frame of six 256 x 256 arrays of float64, every value new, from a writer process into the numpy
arrays of a reader process, on one machine. From the first store into the writer's arrays until the
reader has them; both clocks are the system's monotonic one. The writer begins a frame when the
reader has had the one before. Medians.

    frames.py INTERWEAVE RESULTS    runs all systems in turn, several times over;
                                    writes RESULTS/frames.csv
    frames.py read SYSTEM ADDRESS   the reader's side: a line for each frame

  interweave      the segment as a program on the server's machine opens it (a Unix socket)
  interweave-tcp  the same by TCP
  raw-tcp         the bytes, written to a socket and read into the arrays: no server, no names, one
                  reader
  adios2-sst      ADIOS2's streaming engine, which connects writer and reader
  zenoh-tcp       Zenoh, writer and reader as peers; a frame is one message

The two that connect writer and reader directly move a frame once; through the
server it moves twice.
"""

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

ARRAYS, SHAPE = 6, (256, 256)
VALUES = ARRAYS * SHAPE[0] * SHAPE[1]
WARM_UP, ROUNDS, TURNS = 10, 40, 3
NAMES = [f"array{i}" for i in range(ARRAYS)]
BASE = np.arange(SHAPE[0] * SHAPE[1], dtype=np.float64).reshape(SHAPE)


def compute(arrays, round):
    """What a solver does: stores every value of its arrays, where they are."""
    for array in arrays:
        np.add(BASE, round * 1.25, out=array)


def have(arrays, round):
    """The reader has them: tells when, then looks whether it is true."""
    print(time.monotonic_ns(), flush=True)
    for array in arrays:
        is_right = array[0, 0] == round * 1.25 and array[-1, -1] == BASE[-1, -1] + round * 1.25
        assert is_right, f"frame {round} is wrong"


class Reader:
    """The other process, as the writer sees it."""

    def __init__(self, system, address):
        command = [sys.executable, __file__, "read", system, address]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"frames: the reader ended with {self.process.wait()}")
        return line.strip()

    def end(self):
        self.process.terminate()
        self.process.wait()


def measure(reader, frame):
    """`frame(round)` computes and sends. Milliseconds for each."""
    samples = []
    for round in range(1, WARM_UP + ROUNDS + 1):
        begin = time.monotonic_ns()
        frame(round)
        end = int(reader.line())
        if round > WARM_UP:
            samples.append((end - begin) / 1e6)
    return samples


# ---- InterWeave ----

def interweave_write(listen):
    import interweave
    # At 127.0.0.2 clients find no token of the server's own.
    command = [sys.argv[1], "serve", "--listen", listen, "--http", "none", "--store", "memory",
               "--insecure"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    address = server.stdout.readline().split()[1]
    segment = interweave.open(f"{address}/frames", durability="memory")
    with segment.write():
        for name in NAMES:
            segment.new(interweave.Array[interweave.Double, SHAPE[0], SHAPE[1]], name=name)
    reader = Reader("interweave", f"{address}/frames")
    reader.line()

    def frame(round):
        with segment.write():
            compute([segment[name] for name in NAMES], round)
    samples = measure(reader, frame)
    reader.end()
    segment.close()
    server.terminate()
    server.wait()
    return samples


def interweave_read(url):
    import interweave
    segment = interweave.open(url, create=False)
    news = threading.Semaphore(0)
    segment.on_change(lambda version: news.release())
    with segment.read():
        version = segment.version
    print("ready", flush=True)
    round = 1
    while True:
        news.acquire()
        with segment.read():
            if segment.version != version:
                version = segment.version
                have([segment[name] for name in NAMES], round)
                round += 1


# ---- bytes over TCP ----

def raw_write():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        reader = Reader("raw-tcp", f"127.0.0.1:{listener.getsockname()[1]}")
        connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    arrays = np.empty((ARRAYS, *SHAPE))

    def frame(round):
        compute(arrays, round)
        connection.sendall(arrays)
    samples = measure(reader, frame)
    reader.end()
    connection.close()
    return samples


def raw_read(address):
    host, port = address.split(":")
    connection = socket.create_connection((host, int(port)))
    arrays = np.empty((ARRAYS, *SHAPE))
    into = memoryview(arrays).cast("B")
    round = 1
    while True:
        at = 0
        while at < len(into):
            got = connection.recv_into(into[at:])
            if got == 0:
                return
            at += got
        have(arrays, round)
        round += 1


# ---- ADIOS2 SST ----

def sst_io(adios2):
    adios = adios2.Adios()
    io = adios.declare_io("frames")
    io.set_engine("SST")
    io.set_parameters({"DataTransport": "WAN", "RendezvousReaderCount": "1", "QueueLimit": "1",
                       "QueueFullPolicy": "Block"})
    return adios, io


def sst_write():
    import adios2
    from adios2 import bindings
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "frames")
    reader = Reader("adios2-sst", path)
    adios, io = sst_io(adios2)
    arrays = [np.empty(SHAPE) for _ in NAMES]
    variables = [io.define_variable(name, array, list(SHAPE), [0, 0], list(SHAPE))
                 for name, array in zip(NAMES, arrays)]
    engine = io.open(path, bindings.Mode.Write)

    def frame(round):
        compute(arrays, round)
        engine.begin_step()
        for variable, array in zip(variables, arrays):
            engine.put(variable, array, bindings.Mode.Deferred)
        engine.end_step()
    samples = measure(reader, frame)
    engine.close()
    reader.end()
    return samples


def sst_read(path):
    import adios2
    from adios2 import bindings
    adios, io = sst_io(adios2)
    engine = io.open(path, bindings.Mode.Read)
    arrays = [np.empty(SHAPE) for _ in NAMES]
    round = 1
    while engine.begin_step() == bindings.StepStatus.OK:
        for name, array in zip(NAMES, arrays):
            engine.get(io.inquire_variable(name), array, bindings.Mode.Deferred)
        engine.end_step()
        have(arrays, round)
        round += 1
    engine.close()


# ---- Zenoh ----

def zenoh_session(zenoh, where, address):
    config = zenoh.Config()
    config.insert_json5("mode", '"peer"')
    config.insert_json5("scouting/multicast/enabled", "false")
    # By itself it takes that on one host.
    config.insert_json5("transport/shared_memory/enabled", "false")
    config.insert_json5(f"{where}/endpoints", f'["tcp/{address}"]')
    if where == "connect":
        config.insert_json5("listen/endpoints", "[]")
    return zenoh.open(config)


def zenoh_write():
    import zenoh
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    reader = Reader("zenoh-tcp", address)
    reader.line()
    session = zenoh_session(zenoh, "connect", address)
    publisher = session.declare_publisher("frames",
                                          congestion_control=zenoh.CongestionControl.BLOCK)
    while not publisher.matching_status.matching:
        time.sleep(0.01)
    arrays = np.empty((ARRAYS, *SHAPE))

    def frame(round):
        compute(arrays, round)
        publisher.put(arrays.tobytes())
    samples = measure(reader, frame)
    reader.end()
    session.close()
    return samples


def zenoh_read(address):
    import zenoh
    session = zenoh_session(zenoh, "listen", address)
    subscriber = session.declare_subscriber("frames")
    print("ready", flush=True)
    for round, sample in enumerate(subscriber, 1):
        have(np.frombuffer(sample.payload.to_bytes()).reshape(ARRAYS, *SHAPE), round)


SYSTEMS = {
    "interweave": lambda: interweave_write("127.0.0.1:0"),
    # Another address than the Unix socket's.
    "interweave-tcp": lambda: interweave_write("127.0.0.2:0"),
    "raw-tcp": raw_write,
    "adios2-sst": sst_write,
    "zenoh-tcp": zenoh_write,
}
READERS = {
    "interweave": interweave_read, "raw-tcp": raw_read, "adios2-sst": sst_read,
    "zenoh-tcp": zenoh_read
}


def main():
    if sys.argv[1] == "read":
        READERS[sys.argv[2]](sys.argv[3])
        return
    samples = {system: [] for system in SYSTEMS}
    for _ in range(TURNS):  # in turn, so that what else the machine does hits all of them
        for system, write in SYSTEMS.items():
            samples[system] += write()
    print("a frame of six 256 x 256 float64 arrays (3 MiB) into a reader's numpy arrays; medians "
          f"of {TURNS * ROUNDS}")
    print(f"{'system':16s} {'ms':>8s} {'fastest':>8s}")
    with open(os.path.join(sys.argv[2], "frames.csv"), "w") as results:
        results.write("system,ms\n")
        for system, all in samples.items():
            results.write(f"{system},{statistics.median(all):.3f}\n")
            print(f"{system:16s} {statistics.median(all):8.2f} {min(all):8.2f}")


if __name__ == "__main__":
    main()
