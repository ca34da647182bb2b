"""Records of the server's log and heads of checkpoints (spec/format/server-log.md)."""

import struct

from . import xdr
from .errors import Refused


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def no_record(why):
    return Refused("DAMAGED", why)


GOES_ON, CONTINUES = 1 << 31, 1 << 30


def encode_record(meaning):
    header, body = xdr.encode("log_header", meaning["header"]), bytes.fromhex(meaning["body"])
    place = len(header) | GOES_ON * meaning["goes_on"] | CONTINUES * meaning["continues"]
    head = bytes.fromhex(meaning["mark"]) + struct.pack(
        ">IIII", len(header) + len(body), place, meaning["synced"], crc32c(body))
    out = head + struct.pack(">I", crc32c(head + header)) + header + body
    return out + bytes(-len(out) % 8)


def decode_record(data, mark, owner):
    """The one record that the bytes are, with its padding, in a file of that mark and owner."""
    if len(data) < 24:
        raise no_record("too short for a record")
    length, place, synced, body_crc, crc = struct.unpack(">IIIII", data[4:24])
    header_bytes = place & (1 << 30) - 1
    if data[:4] != mark or header_bytes > 4096 or not header_bytes <= length <= len(data) - 24:
        raise no_record("the mark is another, or the lengths do not fit")
    rest = data[24:24 + length]
    if crc32c(data[:20] + rest[:header_bytes]) != crc:
        raise no_record("the header's checksum is wrong")
    if crc32c(rest[header_bytes:]) != body_crc:
        raise no_record("the body's checksum is wrong")
    if len(data) != 24 + length + -(24 + length) % 8 or any(data[24 + length:]):
        raise no_record("the padding is wrong")
    try:
        header = xdr.decode_all("log_header", rest[:header_bytes])
    except Refused as why:
        raise no_record(str(why)) from None
    if header["owner"] != owner:
        raise no_record("the owner is not the file's")
    return {"mark": mark.hex(), "goes_on": bool(place & GOES_ON), "continues": bool(place & CONTINUES),
            "synced": synced, "header": header, "body": rest[header_bytes:].hex(), "crc": f"{crc:08x}"}
