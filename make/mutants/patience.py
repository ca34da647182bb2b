"""Runs test programs that a change may keep from ever ending, or let take all memory.

No limit is one of the clock, because the machine may be busy: a program that computes is ended by
its processor time, and one that waits is ended when nobody in it has anything to do.
"""

import os
import pathlib
import resource
import signal
import subprocess
import time

MEMORY_BYTES = 8 << 30
FILE_BYTES = 1 << 30
IDLE_SECONDS = 4
FIRST_LOOK_SECONDS = 0.5
MOST_LOOK_SECONDS = 8


def holds(command, processor_seconds, **options):
    """Whether the command ends, and without a failure. It gets a process group of its own."""
    def limit():
        for kind, value in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CORE, 0),
                            (resource.RLIMIT_FSIZE, FILE_BYTES),
                            (resource.RLIMIT_CPU, processor_seconds)):
            resource.setrlimit(kind, (value, value))
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, process_group=0, preexec_fn=limit,
                               **options)
    try:
        return ends(process) and process.returncode == 0
    finally:
        kill_group(process.pid)
        process.wait()


def ends(process):
    """False if everything in its group has waited for so long that nothing will come any more."""
    before, since = None, time.monotonic()
    look_seconds = FIRST_LOOK_SECONDS
    while True:
        try:
            process.wait(look_seconds)
            return True
        except subprocess.TimeoutExpired:
            pass
        is_waiting, spent = activity(process.pid)
        now = time.monotonic()
        if not is_waiting or spent != before:
            before, since = spent, now
            look_seconds = min(2 * look_seconds, MOST_LOOK_SECONDS)  # a look is not free
        elif now - since > IDLE_SECONDS:
            return False


def activity(group):
    """Whether all threads of a process group wait, and the ticks that each process has used."""
    is_waiting, spent = True, {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        fields = status(folder / "stat")
        if fields and int(fields[2]) == group:
            spent[folder.name] = (fields[11], fields[12])
            states = [status(task / "stat")[:1] for task in folder.glob("task/*")]
            is_waiting &= not any(state in (["R"], ["D"]) for state in states)
    return is_waiting, spent


def status(path):
    """The fields of /proc/.../stat from the state on; none if the process has ended."""
    try:
        return path.read_text().rpartition(")")[2].split()
    except OSError:
        return []


def kill_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
