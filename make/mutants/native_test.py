"""The tests of a room that is changed, as they are run."""

import json
import os
import pathlib
import select
import tempfile
import unittest

from native import Copy


def ends(process, seconds):
    """Whether the process ends in that time."""
    try:
        ended = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([ended], [], [], seconds)[0])
    finally:
        os.close(ended)


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
        self.assertTrue(self.copy.hold("*", 600))
        self.program("exit 1")
        self.assertFalse(self.copy.hold("*", 600))

    def test_slow_tests_come_last(self):
        outcome = {"testsuites": [{"name": "A", "testsuite": [
            {"name": "slow", "time": "30s"}, {"name": "quick", "time": "0.2s"}]}]}
        asked = pathlib.Path(self.folder.name) / "asked"
        self.program(f"""
            for word; do case $word in
              --gtest_output=json:*) echo '{json.dumps(outcome)}' >${{word#*:}} ;;
              --gtest_filter=*) echo "${{word#*=}}" >>{asked} ;;
            esac; done""")
        self.copy.measure()
        self.assertTrue(self.copy.holds())
        self.assertEqual(asked.read_text().split(), ["*", "-A.slow", "A.slow"])
        self.assertEqual([seconds for _, seconds in self.copy.groups], [20, 120])

    def test_what_does_not_end_is_ended_with_the_processes_that_it_began(self):
        began = pathlib.Path(self.folder.name) / "began"
        self.program(f"sleep 3600 & echo $! >{began}.new; mv {began}.new {began}; wait")
        while not began.exists():
            self.assertFalse(self.copy.hold("*", 1))
        self.assertTrue(ends(int(began.read_text()), 60))


if __name__ == "__main__":
    unittest.main()
