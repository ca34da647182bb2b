"""What page_traffic.py shows is what the program counts: page_traffic_test.py INTERWEAVE JACOBI"""

import pathlib
import re
import subprocess
import sys
import unittest

SHOWS = pathlib.Path(__file__).with_name("page_traffic.py")
RANKS, STEPS = 3, 20


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

    def test_a_program_that_fails_is_told(self):
        ran = subprocess.run([SHOWS, "-n", "2", "--interweave", sys.argv[1], sys.argv[2], "1"],
                             capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("usage: jacobi", ran.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
