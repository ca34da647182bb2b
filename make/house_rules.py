"""Checks the rules of the house that no compiler checks (CONTRIBUTING.md): who may know whom, where
time is read, how long files, lines and functions may be, names of folders, words, commits, and that
a test cites every rule of the specification.

Run from the repository's root; prints every breach and ends with status 1 if there is one.
Wide lines and phrases that the tree had when the rule came are counted in make/house/allowed.txt:
more of them in a file is a breach. `--record` lowers the counts to what is left.
"""

import pathlib
import subprocess
import sys

from house import allowance, citations, commits, edges, shape, words


def tracked_files():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], check=True,
                            capture_output=True, text=True)
    return [pathlib.Path(name) for name in listed.stdout.splitlines() if pathlib.Path(name).is_file()]


def is_made_by_a_program(path):
    """Generated codecs, vectors, corpora, golden files, data, bundles: written by no person."""
    name = path.as_posix()
    return (".gen." in path.name or "golden" in path.parts or "corpora" in path.parts
            or name.startswith(("spec/vectors/", "web/viewer/built/", "server/wire/src/protocol/",
                                "web/src/wire/protocol/")))


def lines_of(path):
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return []  # not a text


def breaches_of(path):
    """Yields (line number, text) of what is never allowed, then the same with a rule of the list."""
    strict = list(shape.check_name(path))
    counted = []
    if not is_made_by_a_program(path) and (path.suffix in shape.WIDE or path.name == "CMakeLists.txt"):
        lines = lines_of(path)
        strict += shape.check_file(path, lines)
        if not edges.is_test(path):
            strict += shape.check_functions(path, lines)
        strict += edges.check(path, lines)
        counted += [("columns", *breach) for breach in shape.wide_lines(path, lines)]
        counted += [("words", *breach) for breach in words.check(path, lines)]
    return strict, counted


def beyond_the_allowance(counted, allowed):
    """Texts of breaches in files that have more, or less, of them than the list says."""
    groups = {}
    for rule, path, number, text in counted:
        groups.setdefault((rule, path), []).append(f"{path}:{number}: {text}")
    for key, texts in groups.items():
        if len(texts) > allowed.get(key, 0):
            yield from texts
            yield f"{key[1]}: {len(texts)} breaches of '{key[0]}', {allowed.get(key, 0)} are allowed"
    for (rule, path), count in allowed.items():
        if len(groups.get((rule, path), [])) < count:
            yield (f"{path}: fewer breaches of '{rule}' than {allowance.LIST} allows; "
                   "run python3 make/house_rules.py --record and commit it")


def main():
    paths = tracked_files()
    texts = [f"{path}:{number}: {text}" for path, number, text in citations.check(paths)]
    texts += commits.check()
    counted = []
    for path in paths:
        strict, of_the_list = breaches_of(path)
        texts += [f"{path}:{number}: {text}" for number, text in strict]
        counted += [(rule, path.as_posix(), number, text) for rule, number, text in of_the_list]
    if sys.argv[1:] == ["--record"]:
        allowance.lower((rule, path) for rule, path, _, _ in counted)
    texts += beyond_the_allowance(counted, allowance.read())
    for text in texts:
        print(text, file=sys.stderr)
    return 1 if texts else 0


if __name__ == "__main__":
    sys.exit(main())
