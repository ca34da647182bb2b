#!/usr/bin/env python3
"""The licences of other people's work, for those who pass InterWeave on.

  packaging/licences.py list     a table of all that a package contains or needs
  packaging/licences.py wheel    the texts for a Python wheel: the crates of the program and what
                                 the extension module is linked with
  packaging/licences.py program  the texts of the program's crates

Reads what cargo, the lock files and the poms say; nothing is fetched. A crate without a licence, or
one whose licence is not among the known ones, ends it with status 1.
"""

import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

TREE = pathlib.Path(__file__).resolve().parent.parent
TARGET = "x86_64-unknown-linux-gnu"
TEXTS = re.compile(r"(LICEN[CS]E|COPYING|NOTICE|UNLICENSE)", re.I)

# Licences that go with Apache-2.0 in a program that is passed on.
KNOWN = {"0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause",
         "BSL-1.0", "CC0-1.0", "CDLA-Permissive-2.0", "ISC", "MIT", "MIT-0", "OpenSSL",
         "Unicode-3.0", "Unlicense", "Zlib"}

# Works that no lock file names: (name, licence, where it is). A library that is only found on the
# system is not contained in any package.
IN_WHEELS = [
    ("nanobind", "BSD-3-Clause", "contained in the Python wheels"),
    ("robin-map (of nanobind)", "MIT", "contained in the Python wheels"),
    ("libc++, libc++abi, libunwind (of ziglang)", "Apache-2.0 WITH LLVM-exception",
     "contained in the Python wheels"),
    ("compiler-rt (of ziglang)", "Apache-2.0 WITH LLVM-exception",
     "contained in the Python wheels"),
    ("zig's support library (of ziglang)", "MIT", "contained in the Python wheels"),
]
OF_THE_SYSTEM = [
    ("GNU C library", "LGPL-2.1-or-later", "found on the system"),
    ("libstdc++, libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1",
     "found on the system by the C library's packages"),
    ("OpenSSL 3", "Apache-2.0", "found on the system by encrypted clients and by the cluster"),
    ("UCX", "BSD-3-Clause", "found on the system by the cluster's library"),
    ("PMIx", "BSD-3-Clause", "found on the system by the cluster's library"),
    ("numpy", "BSD-3-Clause", "fetched by pip with the Python wheels"),
]
# The shaded jar of the agent; the scopes of its pom say nothing of licences.
IN_JARS = {"asm": "BSD-3-Clause", "asm-tree": "BSD-3-Clause", "asm-commons": "BSD-3-Clause",
           "asm-util": "BSD-3-Clause", "asm-analysis": "BSD-3-Clause"}


def crates():
    """The crates that the program is linked from, build scripts and macros left out."""
    said = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--locked", "--offline",
         "--filter-platform", TARGET], cwd=TREE, check=True, capture_output=True, text=True)
    metadata = json.loads(said.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    start = next(one for one in packages if packages[one]["name"] == "interweave-cli")
    seen, waiting = set(), [start]
    while waiting:
        one = waiting.pop()
        if one in seen or any("proc-macro" in target["kind"]
                              for target in packages[one]["targets"]):
            continue
        seen.add(one)
        waiting += [dependency["pkg"] for dependency in nodes[one]["deps"]
                    if any(kind["kind"] is None for kind in dependency["dep_kinds"])]
    theirs = [packages[one] for one in seen if packages[one]["source"]]
    return sorted(theirs, key=lambda package: (package["name"], package["version"]))


def is_known(expression):
    """Whether one of an expression's choices is made of known licences alone."""
    plain = (expression or "").replace("/", " OR ").replace("(", " ").replace(")", " ")
    parts = re.split(r"\s+AND\s+", plain)
    return all(any(choice.strip() in KNOWN for choice in part.split(" OR ")) for part in parts)


def checked(packages):
    wrong = [f"{one['name']} {one['version']}: {one['license']}" for one in packages
             if not is_known(one["license"])]
    if wrong:
        sys.exit("licences: not known, look whether they may be passed on:\n  " +
                 "\n  ".join(wrong))
    return packages


def shaded():
    """The artifacts of others that a jar contains, by the agent's pom."""
    space = "{http://maven.apache.org/POM/4.0.0}"
    pom = xml.etree.ElementTree.parse(TREE / "java/agent/pom.xml")
    names = [dependency.findtext(f"{space}artifactId")
             for dependency in pom.iter(f"{space}dependency")
             if dependency.findtext(f"{space}scope") not in ("test", "provided")]
    for name in names:
        if not name.startswith("interweave"):
            yield name, IN_JARS[name], "contained in the jar of the Java agent"


def npm_needs():
    """What an installed npm package brings along: nothing so far."""
    lock = json.loads((TREE / "web/package-lock.json").read_text(encoding="utf-8"))
    for path, package in lock["packages"].items():
        if path and not package.get("dev") and not package.get("optional"):
            yield path.removeprefix("node_modules/"), package.get("license", "?"), \
                "fetched by npm with the npm package"


def table():
    rows = [(f"{one['name']} {one['version']}", one["license"], "contained in the program")
            for one in checked(crates())]
    rows += [("Rust's standard library", "MIT OR Apache-2.0", "contained in the program")]
    rows += [*IN_WHEELS, *shaded(), *npm_needs(), *OF_THE_SYSTEM]
    print("# Other people's work in InterWeave's packages", "", "| what | licence | where |",
          "|---|---|---|", sep="\n")
    for row in rows:
        print("| " + " | ".join(row) + " |")


def texts():
    print("Licences of the crates that the program `interweave` is linked from.\n")
    crates_of = {}
    for one in checked(crates()):
        print(f"{one['name']} {one['version']}: {one['license']} {one['repository'] or ''}")
        folder = pathlib.Path(one["manifest_path"]).parent
        for file in sorted(folder.iterdir()):
            if TEXTS.match(file.name) and file.is_file():
                text = file.read_text(encoding="utf-8", errors="replace").strip()
                crates_of.setdefault(" ".join(text.split()), (text, []))[1].append(one["name"])
    for text, names in crates_of.values():
        print("", "=" * 78, ", ".join(dict.fromkeys(names)), "", text, sep="\n")


def main():
    what = sys.argv[1] if len(sys.argv) == 2 else ""
    if what == "list":
        table()
    elif what in ("wheel", "program"):
        texts()
        if what == "wheel":
            print("", "=" * 78, "Linked into the extension module:", "", sep="\n")
            for name, licence, _ in IN_WHEELS:
                print(f"{name}: {licence}")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
