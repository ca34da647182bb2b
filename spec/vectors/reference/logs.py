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


def encode_record(meaning):
    header, body = xdr.encode("log_header", meaning["header"]), bytes.fromhex(meaning["body"])
    lengths = struct.pack(">II", len(header) + len(body), len(header))
    out = lengths + struct.pack(">I", crc32c(lengths + header + body)) + header + body
    return out + bytes(-len(out) % 8)


def decode_record(data):
    """The one record that the bytes are, with its padding."""
    if len(data) < 12:
        raise no_record("too short for a record")
    length, header_bytes, crc = struct.unpack(">III", data[:12])
    if length > len(data) - 12 or header_bytes > length:
        raise no_record("the lengths do not fit")
    rest = data[12:12 + length]
    if crc32c(data[:8] + rest) != crc:
        raise no_record("the checksum is wrong")
    if len(data) != 12 + length + -(12 + length) % 8 or any(data[12 + length:]):
        raise no_record("the padding is wrong")
    try:
        header = xdr.decode_all("log_header", rest[:header_bytes])
    except Refused as why:
        raise no_record(str(why)) from None
    return {"header": header, "body": rest[header_bytes:].hex(), "crc": f"{crc:08x}"}
