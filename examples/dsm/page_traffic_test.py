"""What page_traffic.py shows is what the program counts: page_traffic_test.py INTERWEAVE JACOBI"""

import os
import pathlib
import pty
import re
import subprocess
import sys
import unittest

SHOWS = pathlib.Path(__file__).with_name("page_traffic.py")
RANKS, STEPS = 3, 20


def everything_from(master):
    parts = []
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the last writer has closed its end
            part = b""
        if not part:
            os.close(master)
            return b"".join(parts).decode()
        parts.append(part)


class PageTraffic(unittest.TestCase):
    def test_sums_are_those_of_the_program(self):
        ran = subprocess.run([SHOWS, "-n", str(RANKS), "--interweave", sys.argv[1], sys.argv[2],
                              "130", str(STEPS)],
                             capture_output=True, text=True, timeout=60, check=True)
        for way in ("orig", "pipe"):
            shown = re.search(rf"^{way}: .* (\d+) diffs, (\d+) barriers; pages by home: ([\d, ]+)\n"
                              r"((?:  .*\n)*)", ran.stdout, re.MULTILINE)
            self.assertIsNotNone(shown, ran.stdout)
            diffs, barriers, homes, program = shown.groups()
            self.assertIn("right: ", program)
            counted = re.search(r"(\d+) diffs of", program)
            self.assertAlmostEqual(int(diffs) / RANKS, int(counted[1]), delta=0.51)
            # One before the first step, and one behind the last.
            self.assertEqual(int(barriers), RANKS * (STEPS + 2))
            self.assertGreater(sum(int(home) for home in homes.split(", ")), 10)

    def test_a_terminal_shows_homes_as_colours_with_both_ways_side_by_side(self):
        master, terminal = pty.openpty()
        with subprocess.Popen([SHOWS, "-n", str(RANKS), "--interweave", sys.argv[1], sys.argv[2],
                               "130", str(STEPS)], stdin=subprocess.DEVNULL, stdout=terminal,
                              stderr=terminal) as shows:
            os.close(terminal)
            shown = everything_from(master)
        self.assertEqual(shows.returncode, 0, shown)
        *_, last = shown.split("\033[H\033[2J")
        frame = last.split("\r\n")
        self.assertRegex(frame[0], r"^ORIG: took [\d.]+ s +PIPE: took [\d.]+ s")
        cells = re.compile(r"\033\[48;5;(\d+)m[ ?*]")
        homes = [cells.findall(line) for line in frame[1:17]]
        colours = {colour for line in homes for colour in line}
        self.assertEqual(len(colours), RANKS, last)
        # Jacobi's grids lie in blocks: the first pages at rank 0, the last ones at another rank.
        self.assertNotEqual(homes[0][0], [line for line in homes if line][-1][-1])
        ranks = re.findall(r"m \033\[0m ?(\d) +\d+ \?/s +\d+ \*/s +\d+ b/s", last)
        self.assertEqual(ranks, [each for rank in range(RANKS) for each in [str(rank)] * 2])

    def test_a_program_that_fails_is_told(self):
        ran = subprocess.run([SHOWS, "-n", "2", "--interweave", sys.argv[1], sys.argv[2], "1"],
                             capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("usage: jacobi", ran.stdout)

    def test_a_job_that_cannot_start_is_told(self):
        ran = subprocess.run([SHOWS, "--interweave", "/nowhere/interweave", sys.argv[2]],
                             capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("the program /nowhere/interweave does not exist", ran.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
