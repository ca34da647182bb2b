"""Who may include whom: the edges of ARCHITECTURE.md, and where the system may be tested.

Each check takes a path and its lines and yields (line number, text) of each breach.
"""

import re

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
    "sim": {"platform", "types", "coherence", "session", "protocol"},
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
    "dsm": {"fabric"},
}
# The folders of cluster/dsm. Generated headers lie above them.
DSM_EDGES = {
    "protocol": set(),
    "memory": {"protocol"},
    "services": {"protocol"},
    "node": {"protocol", "memory"},
    "api": {"protocol", "memory", "services", "node"},
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
JAVA_EDGES = {
    "wire": set(),
    "types": {"wire"},
    "coherence": {"wire"},
    "diff": {"wire", "types"},
    "swizzle": {"wire", "types", "diff"},
    "objects": {"wire", "types", "diff", "swizzle"},
    "session": {"wire", "coherence"},
    "flight": set(),
    "client": {"wire", "types", "coherence", "diff", "swizzle", "objects", "session", "flight"},
}
# Where Java reads the clock and has sockets; elsewhere time is an argument.
CLOCK_IN_JAVA = re.compile(r"\bSystem\.(?:nanoTime|currentTimeMillis)\(|\bClock\.now\(")
SOCKET_IN_JAVA = re.compile(r"\bjava\.nio\.channels\b|\bSocket(?:Channel|Address)\b")
# Preprocessor tests of the system or the processor, and headers of one system.
SYSTEM_TEST = re.compile(
    r"^\s*#\s*(?:el)?if.*\b(__linux__|_WIN32|__APPLE__|__x86_64__|__i386__|__aarch64__|"
    r"__BYTE_ORDER__|__BIG_ENDIAN__|__LITTLE_ENDIAN__)\b")
SYSTEM_HEADER = re.compile(
    r"^\s*#\s*include\s*<(sys/|linux/|unistd\.h|poll\.h|netdb\.h|arpa/|netinet/|signal\.h|"
    r"pthread\.h|windows\.h|immintrin\.h)")
TRANSPORT_HEADER = re.compile(r"^\s*#\s*include\s*<(uc[pstm]|pmix)")
# Clang's thread-safety analysis does not follow these (native/platform/mutex.h).
PLAIN_MUTEX = re.compile(r"\bstd::(?:mutex|shared_mutex|condition_variable)\b(?!&)")
MUTEX_HEADER = "native/platform/mutex.h"
SHARED_WITH_CLUSTER = ("platform/briskness.h", "platform/mutex.h")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([a-z]+)/')
DSM_INCLUDE = re.compile(r'^\s*#\s*include\s*"dsm/([a-z]+)/')
TS_IMPORT = re.compile(r"from \"\.\./(?:\.\./)?([a-z]+)/")
JAVA_IMPORT = re.compile(r"^import (?:static )?org\.interweave\.([a-z]+)\.")
CRATE_USE = re.compile(r"\bcrate::([a-z_]+)")
# Where time is read; elsewhere it is an argument.
CLOCK_IN_CPP = re.compile(r"\bnow_ns\(\)|\b(?:steady|system)_clock::now\b|\bclock_gettime\(")
CLOCK_ROOMS_OF_NATIVE = {"platform", "client"}
CLOCK_IN_RUST = re.compile(r"\b(?:Instant|SystemTime)::now\(\)")
CLOCK_FOLDERS_OF_SERVER = ("server/src/net/", "server/src/client/")
SOCKET_HEADER = re.compile(r'^\s*#\s*include\s*"platform/socket')
# session and client hand slices of memory to sockets; only client opens one.
SOCKET_ROOMS_OF_NATIVE = {"platform", "session", "client"}
SOCKET_IN_RUST = re.compile(r"\b(?:TcpListener|TcpStream|UnixListener|UnixStream|UdpSocket)\b")


def is_test(path):
    return ("test" in path.name or "bench" in path.name or "fixture" in path.name
            or "tests" in path.parts or "suite" in path.parts)


def strangers(lines, pattern, room, edges):
    """Lines that name a room which `room` may not know."""
    for number, line in enumerate(lines, 1):
        for other in pattern.findall(line):
            if other in edges and other != room and other not in edges[room]:
                yield number, f"room {room} may not know room {other}"


def matches(lines, pattern, text):
    for number, line in enumerate(lines, 1):
        if pattern.search(line):
            yield number, text


def check_mutexes(path, lines):
    if path.as_posix() != MUTEX_HEADER:
        yield from matches(lines, PLAIN_MUTEX,
                           "use platform::Mutex, which clang's thread-safety analysis follows")


def check_native(path, lines):
    room = path.parts[1]
    if room not in NATIVE_EDGES or is_test(path):
        return
    yield from check_mutexes(path, lines)
    yield from strangers(lines, INCLUDE, room, NATIVE_EDGES)
    if room != "platform":
        yield from matches(lines, SYSTEM_TEST,
                           "only native/platform tests the system or the processor")
        yield from matches(lines, SYSTEM_HEADER,
                           "only native/platform includes a header of one system")
    if room not in CLOCK_ROOMS_OF_NATIVE:
        yield from matches(lines, CLOCK_IN_CPP,
                           "time is an argument here; only platform and client read it")
    if room not in SOCKET_ROOMS_OF_NATIVE:
        yield from matches(lines, SOCKET_HEADER, f"room {room} may not know sockets")


def check_cluster(path, lines):
    room = path.parts[1]
    if room not in CLUSTER_EDGES or is_test(path):
        return
    yield from check_mutexes(path, lines)
    yield from strangers(lines, INCLUDE, room, CLUSTER_EDGES)
    if room == "dsm" and path.parts[2] in DSM_EDGES:
        yield from strangers(lines, DSM_INCLUDE, path.parts[2], DSM_EDGES)
    for number, line in enumerate(lines, 1):
        included = INCLUDE.match(line)
        is_shared = any(header in line for header in SHARED_WITH_CLUSTER)
        if included and included.group(1) in NATIVE_EDGES and not is_shared:
            yield number, f"of native/, cluster includes only {', '.join(SHARED_WITH_CLUSTER)}"
    if room != "fabric":
        yield from matches(lines, TRANSPORT_HEADER,
                           "only cluster/fabric includes the transport library")


def check_server(path, lines):
    """server/src/<room>/... or server/src/<room>.rs, and the crates beside it."""
    name = path.as_posix()
    if is_test(path) or "/protocol/" in name:
        return
    if path.parts[:2] == ("server", "src"):
        room = path.parts[2].removesuffix(".rs")
        if room in SERVER_EDGES:
            yield from strangers(lines, CRATE_USE, room, SERVER_EDGES)
    if not name.startswith(CLOCK_FOLDERS_OF_SERVER):
        product = product_of_rust(lines)
        yield from matches(product, CLOCK_IN_RUST,
                           "time is an argument here; only net and client read it")
        yield from matches(product, SOCKET_IN_RUST,
                           "only server/src/net and the client have sockets")


def product_of_rust(lines):
    """The lines before a file's unit tests, which stand at its end."""
    for number, line in enumerate(lines):
        if line.strip() == "#[cfg(test)]":
            return lines[:number]
    return lines


def check_web(path, lines):
    room = path.parts[2]
    if room in WEB_EDGES:
        yield from strangers(lines, TS_IMPORT, room, WEB_EDGES)


def check_java(path, lines):
    room = path.parts[6]
    if room in JAVA_EDGES:
        yield from strangers(lines, JAVA_IMPORT, room, JAVA_EDGES)
    if room != "client":
        yield from matches(lines, CLOCK_IN_JAVA, "time is an argument here; only client reads it")
        yield from matches(lines, SOCKET_IN_JAVA, "only room client has sockets")


def check(path, lines):
    if path.parts[0] == "native" and len(path.parts) > 2:
        yield from check_native(path, lines)
    if path.parts[0] == "cluster" and len(path.parts) > 2:
        yield from check_cluster(path, lines)
    if path.parts[0] == "server" and path.suffix == ".rs":
        yield from check_server(path, lines)
    if path.parts[:2] == ("web", "src") and len(path.parts) > 3:
        yield from check_web(path, lines)
    if path.parts[:6] == ("java", "src", "main", "java", "org", "interweave"):
        if len(path.parts) > 7:
            yield from check_java(path, lines)
