"""The control part of a message, and the frames of a connection (spec/protocol/session.x)."""

import struct

from . import xdr
from .errors import Refused, malformed, require

MAX_CONTROL_BYTES = 65536
MAX_CHUNK_BYTES = 262144
MAX_OPEN_STREAMS = 64
NAMES = {number: name for name, number in xdr.ENUMS["message_type"].items()}
BODIES = {"ERROR": "error_reply"}


def body_kind(name):
    return BODIES.get(name, name.lower())


def decode_control(data):
    """The meaning; a type that is not known keeps its number, and its body as hex [FRAME-6]."""
    r = xdr.Reader(data)
    meaning = xdr.decode("envelope", r)
    name = NAMES.get(meaning["type"])
    if name is None:
        meaning["body"] = data[r.at:].hex()
        return meaning
    meaning["type"] = name
    meaning["body"] = xdr.decode(body_kind(name), r)
    r.finish()
    return meaning


def encode_control(meaning):
    name = meaning["type"]
    known = isinstance(name, str)
    head = dict(meaning, type=xdr.ENUMS["message_type"][name] if known else name)
    body = xdr.encode(body_kind(name), meaning["body"]) if known else bytes.fromhex(meaning["body"])
    return xdr.encode("envelope", head) + body


def read_stream(data, max_message_bytes=None):
    """All messages of the frames in `data`, in order of completion; what is not whole is MALFORMED."""
    done, partial = [], {}
    at = 0
    while at < len(data):
        require(len(data) - at >= 8, "the stream ends in a frame")
        control_bytes, bulk_bytes = struct.unpack(">II", data[at:at + 8])
        require(control_bytes <= MAX_CONTROL_BYTES, "control_bytes is above its bound")
        require(bulk_bytes <= MAX_CHUNK_BYTES, "bulk_bytes is above its bound")
        at += 8
        require(len(data) - at >= control_bytes + bulk_bytes, "the stream ends in a frame")
        message = decode_control(data[at:at + control_bytes])
        bulk = data[at + control_bytes:at + control_bytes + bulk_bytes]
        at += control_bytes + bulk_bytes
        stream = message["stream"]
        if message["type"] == "CONTINUE":
            require(stream in partial, "CONTINUE for no incomplete message")
        else:
            require(stream not in partial, "a message begins within another of its stream")
            if max_message_bytes is not None and message["bulk_bytes"] > max_message_bytes:
                raise Refused("TOO_LARGE", "more bulk than max_diff_bytes")
            partial[stream] = (message, b"")
        message, before = partial.pop(stream)
        bulk = before + bulk
        require(len(bulk) <= message["bulk_bytes"], "more bytes than announced")
        if len(bulk) == message["bulk_bytes"]:
            done.append(dict(message, bulk=bulk.hex()))
        else:
            partial[stream] = (message, bulk)
            require(len(partial) <= MAX_OPEN_STREAMS, "too many incomplete messages")
    if partial:
        raise malformed("the stream ends in a message")
    return done
