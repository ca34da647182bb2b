"""XDR (RFC 4506) by a schema: the messages of spec/protocol. Enums are read from the .x files, so
that a new member is written once. Structs and unions are copied by hand.

A schema line is `field:type ...`. Types are u32 i32 u64 f64 bool hash (u64, shown as 0x...), opaqueN,
stringN, the name of an enum or struct, T<N> (an array of at most N) and T? (an optional).
"""

import pathlib
import re
import struct

from .errors import malformed, require

PROTOCOL = pathlib.Path(__file__).parents[2] / "protocol"


def enums_of(text):
    """The enums of a .x file: the numbers of their members by name."""
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    found = re.findall(r"\benum\s+(\w+)\s*\{(.*?)\}", bare, flags=re.DOTALL)
    return {name: {member: int(number)
                   for member, number in re.findall(r"(\w+)\s*=\s*(-?\d+)", body)}
            for name, body in found}


ENUMS = {name: members
         for path in sorted(PROTOCOL.glob("*.x"))
         for name, members in enums_of(path.read_text()).items()}

STRUCTS = {
    "envelope": "type:i32 stream:u32 bulk_bytes:u64",
    "hello": "magic:opaque4 version_min:u32 version_max:u32 session:opaque16 token:string4096 "
             "client:string255 fields:header_field<24>",
    "welcome": "version:u32 session:opaque16 resumed:bool heartbeat_ms:u32 session_lease_ms:u32 "
               "max_diff_bytes:u64 server:string255 fields:header_field<24>",
    "cancel": "stream:u32",
    "unimplemented": "type:i32",
    "file_read": "option:string255 taken:bool count:u32 text:string1024",
    "access_reloaded": "generation:u64 files:file_read<2>",
    "list_members": "after:u64",
    "member_info": "number:u64 address:string255 tls_name:string255 lease_ms:u32 "
                   "state:member_state is_asked:bool segments:u64 rules_version:u64",
    "store_state": "kind:string255 primary:string255 timeline:u64 standbys:u32 wants_standby:bool "
                   "trouble:string1024",
    "member_list": "shares_store:bool tells_all:bool members:member_info<32> more:bool "
                   "unowned:u64 rules_version:u64 store:store_state",
    "error_reply": "code:error_code text:string1024 fields:header_field<24>",
    "plain_error": "code:error_code text:string1024",
    "version_stamp": "incarnation:u64 number:u64 chain:u64",
    "open_segment": "path:string1024 create:bool read_only:bool durable:durability quota_bytes:u64 "
                    "fields:header_field<24>",
    "segment_opened": "segment:u32 created:bool newest:version_stamp durable:durability "
                      "quota_bytes:u64 block_count:u64 wire_bytes:u64 fields:header_field<24>",
    "close_segment": "segment:u32",
    "remove_segment": "path:string1024",
    "list_segments": "prefix:string1024 after:string1024",
    "segment_info": "path:string1024 newest:version_stamp durable:durability block_count:u64 "
                    "wire_bytes:u64 quota_bytes:u64 clients:u32 subscribers:u32 writer_locked:bool "
                    "writers_waiting:u32",
    "segment_list": "segments:segment_info<128> more:bool",
    "list_places": "prefix:string1024 after:string1024",
    "listed_place": "segment:segment_info place:segment_place address:string255 "
                    "tls_name:string255",
    "place_list": "places:listed_place<128> more:bool",
    "describe_blocks": "segment:u32 after_serial:u64 serials:u64<4096> names:string255<64>",
    "blocks_described": "newest:version_stamp more:bool",
    "acquire_reader": "segment:u32 have:version_stamp model:coherence_model x:f64 fresh:bool "
                      "deadline_ms:u32",
    "reader_acquired": "now:version_stamp updated:bool",
    "release_reader": "segment:u32",
    "acquire_writer": "segment:u32 have:version_stamp deadline_ms:u32",
    "writer_acquired": "now:version_stamp updated:bool fence:u64 lease_ms:u32 max_hold_ms:u32 "
                       "first_serial:u64 serial_count:u32",
    "renew_writer": "segment:u32 fence:u64",
    "writer_renewed": "lease_ms:u32",
    "more_serials": "segment:u32 fence:u64 count:u32",
    "serials_granted": "first_serial:u64 serial_count:u32",
    "release_part": "segment:u32 fence:u64 base:version_stamp diff_bytes:u64",
    "release_writer": "sequence:u64 parts:release_part<16>",
    "writer_released": "versions:version_stamp<16>",
    "writer_kept": "versions:version_stamp<16>",
    "abort_writer": "segment:u32 fence:u64",
    "resolve_release": "segment:u32 session:opaque16 sequence:u64",
    "release_resolved": "committed:bool version:version_stamp",
    "subscribe": "segment:u32 have:version_stamp model:coherence_model x:f64 push:bool "
                 "push_bytes:u64",
    "subscribed": "now:version_stamp",
    "unsubscribe": "segment:u32",
    "not_recent": "segment:u32 now:version_stamp",
    "push": "segment:u32 from:version_stamp now:version_stamp",
    "credit": "segment:u32 bytes:u64",
    "writer_lost": "segment:u32 fence:u64",
    "recall_writer": "segment:u32 fence:u64",
    "segment_gone": "segment:u32",
    "ping": "", "pong": "", "heartbeat": "", "done": "", "goodbye": "", "continue": "",
    "reload_access": "",
    # moving.x
    "follow_segment": "path:string1024",
    "segment_followed": "member:u64 owned:bool read_bytes:u64",
    "hand_over": "path:string1024 member:u64 deadline_ms:u32",
    "drain": "",
    "segment_moved": "segment:u32 address:string255 tls_name:string255",
    # field.x
    "header_field": "key:u32 value:bytes2048",
    "field_list": "fields:header_field<24>",
    "id_field": "id:opaque16",
    "label_field": "label:string255",
    "pid_field": "pid:u64",
    "redirect_field": "address:string255 tls_name:string255 relay:bool",
    "identity_field": "scheme:string255 name:string255",
    "challenge_field": "scheme:string255 bytes:bytes1024",
    "chain_field": "function:string255 hash:bytes64",
    "epoch_field": "epoch:u64",
    "keeping_field": "keeps_grants:bool",
    "moving_field": "follows_moves:bool",
    # descriptor.x
    "enum_member": "name:string255 value:i32",
    "field": "name:string255 type:u32",
    "union_arm": "name:string255 type:u32 values:i32<4096>",
    "array_body": "element:u32 count:u32",
    "union_body": "discriminant:string255 discriminant_type:u32 arms:union_arm<4096> "
                  "otherwise:union_arm?",
    "sequence_body": "element:u32 bound:u32",
    "type_descriptor": "serial:u32 name:string255 hash:hash predecessor:hash body:type_body",
    # log.x
    "log_create": "path:string1024 durable:durability quota_bytes:u64 incarnation:u64",
    "log_release": "version:u64 chain:u64 session:opaque16 sequence:u64 fence:u64",
    "log_header": "owner:u64 segment_id:u64 parent:u32 body:log_body fields:header_field<24>",
    "committed_release": "session:opaque16 sequence:u64 version:u64 chain:u64",
    "checkpoint_head": "magic:opaque4 segment_id:u64 path:string1024 durable:durability "
                       "quota_bytes:u64 at:version_stamp next_serial:u64 fence:u64 parent:u32 "
                       "releases:committed_release<1024> fields:header_field<24> diff_bytes:u64",
}

# union: the discriminant's enum, then the arm of each case; a case that is not here is void.
UNIONS = {
    "type_body": ("type_kind", dict(
        ENUM="members:enum_member<4096>", STRING="bound:u32", ARRAY="array:array_body",
        RECORD="fields:field<4096>", UNION="choice:union_body", POINTER="target:u32",
        SEQUENCE="sequence:sequence_body", TEXT="text_bound:u32")),
    "log_body": ("log_kind", dict(
        LOG_CREATE="create:log_create", LOG_RELEASE="release:log_release",
        LOG_SERIALS="serials_below:u64", LOG_INCARNATION="incarnation:version_stamp")),
}

NUMBERS = {"u32": ">I", "i32": ">i", "u64": ">Q", "hash": ">Q", "f64": ">d"}
SUFFIXED = re.compile(r"(.+)<(\d+)>$")
SIZED = re.compile(r"(opaque|string|bytes)(\d+)$")


def fields_of(name):
    return [part.split(":", 1) for part in STRUCTS[name].split()]


def padding(count):
    return b"\0" * (-count % 4)


def encode(kind, value):
    if kind in NUMBERS:
        number = float(value) if kind == "f64" else int(str(value), 0)
        return struct.pack(NUMBERS[kind], number)
    if kind == "bool":
        return encode("u32", int(value))
    if kind in ENUMS:
        return encode("i32", ENUMS[kind][value])
    if kind in STRUCTS:
        return b"".join(encode(inner, value[name]) for name, inner in fields_of(kind))
    if kind in UNIONS:
        enum, arms = UNIONS[kind]
        out = encode(enum, value["kind"])
        if value["kind"] in arms:
            name, inner = arms[value["kind"]].split(":", 1)
            out += encode(inner, value[name])
        return out
    if kind.endswith("?"):
        return encode("bool", value is not None) + (
            b"" if value is None else encode(kind[:-1], value))
    if match := SUFFIXED.match(kind):
        return encode("u32", len(value)) + b"".join(encode(match[1], one) for one in value)
    form, size = SIZED.match(kind).groups()
    raw = value.encode() if form == "string" else bytes.fromhex(value)
    return (b"" if form == "opaque" else encode("u32", len(raw))) + raw + padding(len(raw))


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        require(len(self.data) - self.at >= count, "the bytes end too early")
        self.at += count
        return self.data[self.at - count:self.at]

    def padded(self, count):
        raw = self.take(count)
        require(not any(self.take(-count % 4)), "padding is not zero")
        return raw

    def finish(self):
        require(self.at == len(self.data), "bytes follow the value")

    def length(self, bound):
        count = decode("u32", self)
        require(count <= bound, "a length or count is above its bound")
        return count


def decode(kind, r):
    if kind in NUMBERS:
        number = struct.unpack(NUMBERS[kind], r.take(struct.calcsize(NUMBERS[kind])))[0]
        return f"0x{number:016x}" if kind == "hash" else number
    if kind == "bool":
        word = decode("u32", r)
        require(word <= 1, "a bool is neither 0 nor 1")
        return bool(word)
    if kind in ENUMS:
        word = decode("i32", r)
        for name, number in ENUMS[kind].items():
            if number == word:
                return name
        raise malformed(f"{word} is no member of {kind}")
    if kind in STRUCTS:
        return {name: decode(inner, r) for name, inner in fields_of(kind)}
    if kind in UNIONS:
        enum, arms = UNIONS[kind]
        value = {"kind": decode(enum, r)}
        if value["kind"] in arms:
            name, inner = arms[value["kind"]].split(":", 1)
            value[name] = decode(inner, r)
        return value
    if kind.endswith("?"):
        return decode(kind[:-1], r) if decode("bool", r) else None
    if match := SUFFIXED.match(kind):
        return [decode(match[1], r) for _ in range(r.length(int(match[2])))]
    form, size = SIZED.match(kind).groups()
    if form == "opaque":
        return r.padded(int(size)).hex()
    if form == "bytes":
        return r.padded(r.length(int(size))).hex()
    try:
        return r.padded(r.length(int(size))).decode()
    except UnicodeDecodeError:
        raise malformed("a string is not UTF-8") from None


def decode_all(kind, data):
    r = Reader(data)
    value = decode(kind, r)
    r.finish()
    return value
