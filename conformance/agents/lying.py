#!/usr/bin/env python3
"""An agent that lies: it passes everything on to a real one, and changes one digit of what `get`
and `dump` answer.

The runner must notice (runner/self_test.py). Its arguments are the real agent's command.
"""

import re
import subprocess
import sys


def main():
    with subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          bufsize=1) as real:
        for line in sys.stdin:
            real.stdin.write(line)
            answer = real.stdout.readline()
            if line.startswith(("get ", "dump ")):
                # The last digit of a value, not of a serial or of the address in a MIP.
                answer = re.sub(r"([0-9])([\]}\"]*)$", lambda found: str(
                    (int(found[1]) + 1) % 10) + found[2], answer)
            sys.stdout.write(answer)
            sys.stdout.flush()
        real.stdin.close()


if __name__ == "__main__":
    main()
