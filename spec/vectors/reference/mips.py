"""URLs and MIPs (spec/format/mip.md)."""

import re

from .errors import Refused

DEFAULT_PORT = 7747
MAX_HOSTS = 8


def bad(why):
    return Refused("BAD_URL", why)


def has_control(text):
    return any(ord(c) < 0x20 or ord(c) == 0x7F for c in text)


def is_path(text):
    return (text.startswith("/") and "#" not in text and not has_control(text)
            and len(text.encode()) <= 1024)


def is_block_name_bytes(raw):
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        return False
    return (0 < len(raw) <= 255 and not name[0].isdigit() and "#" not in name
            and not has_control(name))


def is_slot(text):
    if text.startswith("/"):
        return is_path(text)
    try:
        parse_url(text)
    except Refused:
        return False
    return text.startswith(("iw://", "iws://", "unix:"))


def parse_url(text):
    if text.startswith("unix:"):
        file, colon, path = text[5:].partition(":/")
        if not file or not colon or has_control(file) or not is_path("/" + path):
            raise bad("not unix:FILE:/path")
        return {"socket_file": file, "path": "/" + path}
    match = re.fullmatch(r"(iws?://)?([^/]+)(/.*)", text)
    if not match or not is_path(match[3]):
        raise bad("not [iw://|iws://]host[:port]{,host[:port]}/path")
    hosts = [parse_host(host) for host in match[2].split(",")]
    if len(hosts) > MAX_HOSTS or len(set(hosts)) < len(hosts):
        raise bad("more than eight hosts, or one of them twice")
    (host, port), *others = hosts
    url = {"secure": match[1] == "iws://", "host": host, "port": port}
    if others:
        url["others"] = [host_text(*other) for other in others]
    return {**url, "path": match[3]}


def parse_host(text):
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?", text)
    if not match:
        raise bad("not host[:port]")
    port = int(match[2] or DEFAULT_PORT)
    if not 1 <= port <= 65535:
        raise bad("the port is not 1..65535")
    return match[1].strip("[]").lower(), port


def host_text(host, port):
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def url_text(url):
    if "socket_file" in url:
        return f"unix:{url['socket_file']}:{url['path']}"
    hosts = [host_text(url["host"], url["port"])] + url.get("others", [])
    scheme = "iws" if url["secure"] else "iw"
    return f"{scheme}://{','.join(hosts)}{url['path']}"


def parse(text):
    if len(text.encode()) > 4096:
        raise bad("a MIP has at most 4,096 bytes")
    head, *parts = text.split("#")
    mip = {"url": parse_url(head), "block": None, "offset": 0}
    if len(parts) > 2:
        raise bad("more than block and offset")
    if parts:
        mip["block"] = parse_block(parts[0])
    if len(parts) == 2:
        if not re.fullmatch(r"\d+", parts[1]) or int(parts[1]) >= 1 << 64:
            raise bad("the offset is no number of units")
        mip["offset"] = int(parts[1])
    return mip


def parse_block(text):
    if re.fullmatch(r"[1-9]\d*", text) and int(text) < 1 << 48:
        return int(text)
    if not is_block_name_bytes(text.encode()):
        raise bad("the block is neither a serial nor a name")
    return text


def canonical(mip):
    """[MIP-3]; a block given by its name, and a MIP of no block, keep that."""
    out = url_text(mip["url"])
    if mip["block"] is not None:
        out += f"#{mip['block']}" + (f"#{mip['offset']}" if mip["offset"] else "")
    return out
