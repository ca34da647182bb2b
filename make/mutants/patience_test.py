"""A program that ends, and those that never would."""

import unittest
from unittest import mock

import patience


class Patience(unittest.TestCase):
    def holds(self, *command):
        with mock.patch.object(patience, "IDLE_SECONDS", 0.1), \
                mock.patch.object(patience, "FIRST_LOOK_SECONDS", 0.05):
            return patience.holds(command, 1)

    def test_a_program_that_ends_holds_by_its_status(self):
        self.assertTrue(self.holds("true"))
        self.assertFalse(self.holds("false"))

    def test_a_program_that_waits_for_nothing_is_ended(self):
        self.assertFalse(self.holds("sleep", "1000"))

    def test_a_program_whose_child_waits_is_ended(self):
        self.assertFalse(self.holds("sh", "-c", "sleep 1000; true"))

    def test_a_program_that_computes_for_ever_is_ended(self):
        self.assertFalse(self.holds("sh", "-c", "while :; do :; done"))


if __name__ == "__main__":
    unittest.main()
