#!/usr/bin/env python3
"""Runs docs/tutorial.md, then docs/recipes.md, as their reader would: every command in order, each
file saved, every output compared.

  ```sh                a shell's commands; the shell lives as long as the page
  ```text              what the block before has printed, to the letter
  ```sh NAME           a command in a terminal of its own, which stays; it has begun when it has
                       printed a line
  ```text NAME         what that terminal shows so far
  ```LANG file=NAME    a file to save in the shell's folder

$HOME is a folder of its own, and 127.0.0.1/ the address of the server, which takes whatever port is
free. The clone's own build is what is installed: `make build` has nothing left to do. What a page
tells its reader to install by pip, the environment of the package's tests has.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
# A page, and the folder in $HOME where its reader works. Later pages use what earlier ones
# installed.
PAGES = {"docs/tutorial.md": "todo", "docs/recipes.md": "recipes"}
BLOCK = re.compile(r"^```(\w+)(?: +(?:file=(\S+)|(\w+)))?\n(.*?)^```$", re.S | re.M)
END = "the block has ended"


class Terminal:
    """A command that stays: a server, a program that follows. It has begun when this is made."""

    def __init__(self, command):
        self.process = subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True,
                                        start_new_session=True)
        self.lines = [self.process.stdout.readline()]

    def first_lines(self, count):
        while len(self.lines) < count:
            self.lines.append(self.process.stdout.readline())
        return "".join(self.lines)

    def end(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.communicate()


class Shell:
    """Where the reader types, from the first block to the last."""

    def __init__(self):
        self.process = subprocess.Popen(["bash", "-euo", "pipefail"], cwd=REPOSITORY,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, commands):
        self.process.stdin.write(f"{{\n{commands}}} </dev/null\necho '{END}'\n")
        self.process.stdin.flush()
        printed = ""
        for line in self.process.stdout:
            if line == END + "\n":
                return printed
            printed += line
        raise Wrong(f"failed, after it printed:\n{printed}")

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Wrong(Exception):
    pass


class Reader:
    def __init__(self, home):
        self.home = pathlib.Path(home)
        self.build = os.environ.get("BUILD", "build")
        self.replaced = {"$HOME": home, "build/python/": self.build + "/python/"}
        self.folder = None
        self.shell = Shell()
        self.terminals = {}
        self.printed = ""

    def opens(self, folder):
        """Begins a page whose files are saved in this folder."""
        self.folder = self.home / folder
        packages = [*(REPOSITORY / self.build / "python/venv").glob("lib/python3*/site-packages")]
        for own in self.home.glob("todo/venv/lib/python3*/site-packages"):
            # Behind the reader's own packages, so that it adds to them alone.
            (own / "more.pth").write_text(f"{packages[0]}\n", encoding="utf-8")

    def does(self, language, file, terminal, text):
        if language != "text":
            for before, after in self.replaced.items():
                text = text.replace(before, after)
        if file:
            (self.folder / file).write_text(text, encoding="utf-8")
        elif language == "text":
            printed = self.printed
            if terminal:
                printed = self.terminals[terminal].first_lines(text.count("\n"))
            if printed != text:
                raise Wrong(f"what was printed is another text:\n{printed}")
        elif language == "sh" and terminal:
            self.begins(terminal, text)
        elif language == "sh":
            self.printed = self.shell.run(text)
        else:
            raise Wrong("neither a command, nor a file, nor what is printed")

    def begins(self, terminal, command):
        """A server listens wherever there is room: another one may have the usual place."""
        elsewhere = " --listen 127.0.0.1:0 --http 127.0.0.1:0"
        if terminal in self.terminals:
            self.terminals.pop(terminal).end()
        self.terminals[terminal] = Terminal(command.replace(" serve", " serve" + elsewhere))
        word, _, address = self.terminals[terminal].lines[0].strip().partition(" ")
        if word == "listening":
            self.replaced["127.0.0.1/"] = address + "/"

    def leaves(self):
        self.shell.end()
        for terminal in self.terminals.values():
            terminal.end()


def follow(page, reader):
    """Does what the page says. Returns how many blocks it has."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    if len(blocks) * 2 != text.count("```"):
        sys.exit(f"{page}: a fence of a kind that this test does not know")
    for block in blocks:
        try:
            reader.does(*block.groups())
        except Wrong as wrong:
            line = text.count("\n", 0, block.start()) + 1
            sys.exit(f"{page}:{line}: {wrong}")
    return len(blocks)


def main():
    with tempfile.TemporaryDirectory() as home:
        reader = Reader(home)
        try:
            for page, folder in PAGES.items():
                reader.opens(folder)
                blocks = follow(page, reader)
                print(f"{page}: all {blocks} blocks do what they say", flush=True)
        finally:
            reader.leaves()


if __name__ == "__main__":
    main()
