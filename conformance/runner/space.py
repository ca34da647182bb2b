"""Servers that share a database: a cluster of PostgreSQL for the run, and the servers of a space in
it."""

import itertools
import json
import subprocess

from runner.processes import ANSWER_SECONDS, Broken, Lines, Server, held_port


class Cluster(Lines):
    """A primary and a standby of PostgreSQL. Each space has a schema of its own in it."""

    def __init__(self, program):
        # Ctrl-C ends the runner alone, which then ends the cluster.
        super().__init__("the cluster", [program], has_own_session=True)
        self.store = self.read()
        self.numbers = itertools.count(1)

    def new_store(self):
        return self.store.replace("SCHEMA", f"space{next(self.numbers)}")

    def kill(self):
        """A cluster that is killed leaves PostgreSQL behind, so its input is closed instead."""
        self.end()

    def end(self):
        super().end(ANSWER_SECONDS)


class Member(Server):
    """A server of a space. Its audit log comes by its output, so that one can wait for what it
    tells."""

    def __init__(self, program, store, lease_seconds, advertised=None, held=None):
        held = held or held_port()
        own = "127.0.0.1:%d" % held.getsockname()[1]
        # A client shows a server's own token to that server alone, and is sent on to others.
        options = ["--insecure", "--advertise", advertised or own,
                   "--space-lease", str(lease_seconds), "--audit", "/dev/stdout"]
        self.advertised = advertised or own
        super().__init__(program, options, store, held)
        self.again = (program, store, lease_seconds, advertised, held)

    def read(self, *seconds):
        """The next line that is not of the audit log."""
        while (line := super().read(*seconds)).startswith("{"):
            pass
        return line

    def started_again(self):
        return Member(*self.again)

    def wait_until_asked_to_hand_over(self, path):
        """Until the server lets the segment go as soon as it can: it grants no lock any more."""
        while True:
            line = json.loads(super().read())
            if (line["act"], line.get("path")) == ("admin", path):
                return


class Command(Lines):
    """A command that runs beside the clients. It must succeed."""

    def __init__(self, words):
        super().__init__(" ".join(words), words)

    def done(self):
        try:
            status = self.process.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise self.broken(f"does not end in {ANSWER_SECONDS} s") from error
        if status != 0:
            raise self.broken(f"ended with status {status}")
        self.end()


def owner_of(program, member, path):
    """The address at which clients reach the owner of the segment, as this server says it."""
    listed = subprocess.run([program, "ls", "--json", f"{member.address}{path}"], check=False,
                            capture_output=True)
    if listed.returncode != 0:
        raise Broken(f"interweave ls: {listed.stderr.decode(errors='replace')}")
    for segment in json.loads(listed.stdout):
        if segment["path"] == path:
            here = member.advertised if segment["place"] == "here" else None
            return segment.get("server") or here
    return None
