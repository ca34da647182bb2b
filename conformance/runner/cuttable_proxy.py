"""A proxy between a client and its server. It can cut the connections, keep answers back, and hold
what clients say for a while."""

import socket
import subprocess
import threading
import time

from runner.processes import ANSWER_SECONDS, Broken, Server

CHUNK_BYTES = 1 << 16


class CuttableProxy:
    """Clients connect to `address`. The proxy hands their bytes to the server, and the server's
    bytes to them."""

    def __init__(self, server_address):
        host, port = server_address.rsplit(":", 1)
        self.server = (host, int(port))
        self.changed = threading.Condition()
        self.said_bytes = 0  # by clients since `listen_in`
        self.keeps_answers = False
        self.held = None  # what clients have said since `hold`, and to which socket
        self.sockets = set()
        self.listener = None
        self.port = 0
        self.mend()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def mend(self, first_words=b""):
        """Connections can be made (again). With `first_words` the first one is said
        these alone, and ends."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen()
        self.port = listener.getsockname()[1]
        self.keeps_answers = False
        self.held = None
        self.first_words = first_words
        self.listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self):
        """All connections end, and none can be made."""
        listener, self.listener = self.listener, None
        if listener is not None:
            end(listener)
        with self.changed:
            sockets, self.sockets = self.sockets, set()
        for each in sockets:
            end(each)

    def listen_in(self):
        with self.changed:
            self.said_bytes = 0

    def wait_for(self, count):
        """Until clients have said so many bytes since `listen_in`."""
        deadline = time.monotonic() + ANSWER_SECONDS
        with self.changed:
            while self.said_bytes < count:
                if not self.changed.wait(deadline - time.monotonic()):
                    raise Broken(f"the client did not say {count} bytes, but {self.said_bytes}")

    def keep_answers(self):
        """What the server answers from now on goes nowhere, until `mend`."""
        with self.changed:
            self.keeps_answers = True

    def hold(self):
        """What clients say from now on waits, until `let_go`."""
        with self.changed:
            self.held = []

    def let_go(self):
        with self.changed:
            held, self.held = self.held, None
            for sink, some in held:
                sink.sendall(some)

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            first_words, self.first_words = self.first_words, b""
            if first_words:
                client.sendall(first_words)
                end(client)
                continue
            try:
                server = socket.create_connection(self.server)
            except OSError:
                end(client)
                continue
            with self.changed:
                is_cut = self.listener is not listener
                self.sockets |= set() if is_cut else {client, server}
            if is_cut:
                end(client)
                end(server)
                return
            threading.Thread(target=self._carry, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._carry, args=(server, client, False), daemon=True).start()

    def _carry(self, source, sink, is_client):
        try:
            while some := source.recv(CHUNK_BYTES):
                if is_client and self._holds(sink, some):
                    continue
                if is_client or not self.keeps_answers:
                    sink.sendall(some)
        except OSError:
            pass
        with self.changed:
            self.sockets -= {source, sink}
        end(source)
        end(sink)

    def _holds(self, sink, some):
        """Counts what a client says, and keeps it if it is to wait."""
        with self.changed:
            self.said_bytes += len(some)
            self.changed.notify_all()
            if self.held is not None:
                self.held.append((sink, some))
            return self.held is not None


def goodbye_of(program):
    """What a server says to a connection when it is told to stop."""
    server = Server(program, [], "memory")
    host, port = server.address.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as connection:
        # Connections are accepted in their order: whoever comes later and is answered proves that
        # this one was.
        subprocess.run([program, "ls", server.address], check=True, capture_output=True)
        server.ask_to_stop()
        words = b""
        while some := connection.recv(CHUNK_BYTES):
            words += some
    server.stopped()
    return words


def end(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it has ended already
    connection.close()
