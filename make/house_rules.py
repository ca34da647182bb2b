"""Checks the rules of the house that no compiler checks: who may include whom, where the operating
system may be tested, how long files, lines and functions may be, which folder names are drawers, and
that a test cites every rule of the specification.

Run from the repository's root; prints every breach and ends with status 1 if there is one.
"""

import pathlib
import re
import subprocess
import sys

# room -> rooms it may include (ARCHITECTURE.md, "Who may know whom"); a room may include itself.
NATIVE_EDGES = {
    "platform": set(),
    "track": {"platform"},
    "runs": {"platform"},
    "protocol": set(),
    "types": {"platform", "protocol"},
    "memory": {"platform", "track", "runs", "types"},
    "swizzle": {"platform", "track", "runs", "types", "memory"},
    "diff": {"platform", "track", "runs", "types", "memory", "swizzle", "protocol"},
    "coherence": {"protocol"},
    "session": {"platform", "types", "coherence", "protocol"},
    "copy": {"platform", "track", "runs", "types", "memory", "swizzle", "diff", "protocol"},
    "client": {"platform", "track", "types", "memory", "swizzle", "diff", "coherence", "session",
               "copy", "protocol"},
    "abi": {"platform", "types", "memory", "swizzle", "client"},
}
CLUSTER_EDGES = {
    "fabric": set(),
    "am": {"fabric"},
    "containers": {"fabric", "am"},
    "ddss": {"fabric"},
}
SERVER_EDGES = {
    "lock": set(),
    "coherence": set(),
    "session": {"lock", "coherence"},
    "net": {"session", "lock", "coherence"},
    "client": set(),
}
WEB_EDGES = {
    "wire": set(),
    "types": {"wire"},
    "coherence": {"wire"},
    "diff": {"wire", "types"},
    "swizzle": {"wire", "types", "diff"},
    "session": {"wire", "coherence"},
    "client": {"wire", "types", "coherence", "diff", "swizzle", "session"},
}
SOURCES = {".cc", ".h", ".hpp", ".c", ".rs", ".py", ".ts"}
DRAWERS = {"util", "utils", "common", "misc", "manager", "helpers"}
LINE_COLUMNS_MAX = 120
FILE_LINES_MAX = 800
# Preprocessor tests of the system or the processor, and headers of one system.
SYSTEM_TEST = re.compile(
    r"^\s*#\s*(?:el)?if.*\b(__linux__|_WIN32|__APPLE__|__x86_64__|__i386__|__aarch64__|__BYTE_ORDER__|"
    r"__BIG_ENDIAN__|__LITTLE_ENDIAN__)\b")
SYSTEM_HEADER = re.compile(r"^\s*#\s*include\s*<(sys/|linux/|unistd\.h|poll\.h|netdb\.h|arpa/|netinet/|signal\.h|"
                           r"pthread\.h|windows\.h|immintrin\.h)")
TRANSPORT_HEADER = re.compile(r"^\s*#\s*include\s*<(uc[pstm]|pmix)")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([a-z]+)/')
TS_IMPORT = re.compile(r"from \"\.\./(?:\.\./)?([a-z]+)/")
CRATE_USE = re.compile(r"\bcrate::([a-z_]+)")

breaches = []


def breach(path, line_number, text):
    breaches.append(f"{path}:{line_number}: {text}")


def tracked_files():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], check=True,
                            capture_output=True, text=True)
    return [pathlib.Path(name) for name in listed.stdout.splitlines() if pathlib.Path(name).is_file()]


def is_test(path):
    return "test" in path.name or "bench" in path.name or "fixture" in path.name or "tests" in path.parts


def check_native(path, lines):
    room = path.parts[1]
    if room not in NATIVE_EDGES:
        return
    for number, line in enumerate(lines, 1):
        included = INCLUDE.match(line)
        if included and not is_test(path):
            other = included.group(1)
            if other in NATIVE_EDGES and other != room and other not in NATIVE_EDGES[room]:
                breach(path, number, f"room {room} may not include room {other}")
        if room != "platform" and not is_test(path):
            if SYSTEM_TEST.match(line):
                breach(path, number, "only native/platform tests the system or the processor")
            if SYSTEM_HEADER.match(line):
                breach(path, number, "only native/platform includes a header of one system")


def check_cluster(path, lines):
    # cluster/<room>/...
    room = path.parts[1]
    if room not in CLUSTER_EDGES or is_test(path):
        return
    for number, line in enumerate(lines, 1):
        included = INCLUDE.match(line)
        other = included.group(1) if included else room
        if other in CLUSTER_EDGES and other != room and other not in CLUSTER_EDGES[room]:
            breach(path, number, f"room {room} may not include room {other}")
        if room != "fabric" and TRANSPORT_HEADER.match(line):
            breach(path, number, "only cluster/fabric includes the transport library")


def check_server(path, lines):
    # server/src/<room>/... or server/src/<room>.rs
    room = path.parts[2].removesuffix(".rs")
    if room not in SERVER_EDGES or is_test(path):
        return
    for number, line in enumerate(lines, 1):
        for other in CRATE_USE.findall(line):
            if other in SERVER_EDGES and other != room and other not in SERVER_EDGES[room]:
                breach(path, number, f"room {room} may not use room {other}")


def check_web(path, lines):
    # web/src/<room>/...
    room = path.parts[2]
    if room not in WEB_EDGES:
        return
    for number, line in enumerate(lines, 1):
        for other in TS_IMPORT.findall(line):
            if other in WEB_EDGES and other != room and other not in WEB_EDGES[room]:
                breach(path, number, f"room {room} may not import room {other}")


def check_sizes(path, lines):
    if path.suffix not in SOURCES or ".gen." in path.name:
        return
    if "protocol" in path.parts and path.suffix in {".rs", ".ts"}:
        return
    if len(lines) > FILE_LINES_MAX:
        breach(path, len(lines), f"{len(lines)} lines; at most {FILE_LINES_MAX}: one concept a file")
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_COLUMNS_MAX and "http" not in line and '"' not in line:
            breach(path, number, f"{len(line)} columns; at most {LINE_COLUMNS_MAX}")


RULE = re.compile(r"\[([A-Z]+)-([0-9]+)\]")


def check_rules(paths):
    """Every rule of spec/ is cited by a test, as [COH-1], coh_1_... or Coh1... ."""
    rules = {}
    cited = []
    for path in paths:
        if path.parts[0] == "spec" and path.suffix in {".md", ".x"}:
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                for rule in RULE.findall(line):
                    rules.setdefault(rule, (path, number))
        elif path.parts[:2] == ("spec", "vectors") or (
                "test" in str(path) and path.suffix in {".cc", ".rs"}):
            cited.append(path.read_text(encoding="utf-8"))
    text = "\n".join(cited)
    for (letters, digits), (path, number) in sorted(rules.items()):
        names = (rf"\[{letters}-{digits}\]|\b{letters.lower()}_{digits}_|"
                 rf"{letters.capitalize()}{digits}[A-Z]")
        if not re.search(names, text):
            breach(path, number, f"no test cites the rule [{letters}-{digits}]")


def check_names(path):
    for part in path.parts[:-1]:
        if part in DRAWERS:
            breach(path, 1, f"a folder named {part} says nothing about what is in it")


def main():
    check_rules(tracked_files())
    for path in tracked_files():
        check_names(path)
        if path.suffix not in SOURCES:
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        check_sizes(path, lines)
        if path.parts[0] == "native" and len(path.parts) > 2:
            check_native(path, lines)
        if path.parts[0] == "cluster" and len(path.parts) > 2:
            check_cluster(path, lines)
        if path.parts[:2] == ("server", "src") and len(path.parts) > 2:
            check_server(path, lines)
        if path.parts[:2] == ("web", "src") and len(path.parts) > 3:
            check_web(path, lines)
    for text in breaches:
        print(text, file=sys.stderr)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
