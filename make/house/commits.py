"""Commits that are not in the main branch of `origin` yet: their subjects and bodies."""

import subprocess

SUBJECT_COLUMNS_MAX = 72


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True)


def check():
    """Yields a text for each breach; nothing in a clone without an origin."""
    base = git("merge-base", "HEAD", "origin/main")
    if base.returncode != 0:
        return
    log = git("log", "--no-merges", "--format=%h%x1f%s%x1f%b%x1e", f"{base.stdout.strip()}..HEAD")
    for entry in log.stdout.split("\x1e"):
        if entry.strip():
            name, subject, body = entry.strip("\n").split("\x1f")
            yield from check_message(name, subject, body)


def check_message(name, subject, body):
    if len(subject) > SUBJECT_COLUMNS_MAX:
        yield (f"commit {name}: a subject of {len(subject)} characters; "
               f"at most {SUBJECT_COLUMNS_MAX}")
    if subject.endswith("."):
        yield f"commit {name}: a subject ends without a full stop"
    if not body.strip():
        yield f"commit {name}: a body says why"
