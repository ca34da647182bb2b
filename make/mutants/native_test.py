"""The tests of a room that is changed, as they are run."""

import os
import pathlib
import tempfile
import time
import unittest

from native import Copy


def has_ended(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


class TestsOfARoom(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.copy = Copy("room", pathlib.Path(self.folder.name))

    def program(self, script):
        self.copy.program.parent.mkdir(parents=True, exist_ok=True)
        self.copy.program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        self.copy.program.chmod(0o755)

    def test_they_hold_if_their_program_says_so(self):
        self.program("exit 0")
        self.assertTrue(self.copy.holds(600))
        self.program("exit 1")
        self.assertFalse(self.copy.holds(600))

    def test_what_does_not_end_is_ended_with_the_processes_that_it_began(self):
        began = pathlib.Path(self.folder.name) / "began"
        self.program(f"sleep 3600 & echo $! >{began}.new; mv {began}.new {began}; wait")
        while not began.exists():
            self.assertFalse(self.copy.holds(1))
        deadline = time.monotonic() + 60
        while not has_ended(int(began.read_text())) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertTrue(has_ended(int(began.read_text())))


if __name__ == "__main__":
    unittest.main()
