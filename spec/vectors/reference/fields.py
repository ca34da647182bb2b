"""Header fields (spec/protocol/field.x)."""

from . import xdr
from .errors import malformed, require

VALUES = dict(FIELD_SPACE_ID="id_field", FIELD_SERVER_ID="id_field", FIELD_PROGRAM="label_field",
              FIELD_HOST="label_field", FIELD_PID="pid_field", FIELD_REDIRECT="redirect_field",
              FIELD_IDENTITY="identity_field", FIELD_CHALLENGE="challenge_field",
              FIELD_PROOF="challenge_field", FIELD_CHAIN_HASH="chain_field",
              FIELD_EPOCH="epoch_field", FIELD_KEEPING="keeping_field",
              FIELD_MOVING="moving_field")
NAMES = {number: name for name, number in xdr.ENUMS["field_key"].items()}


def decode_list(data):
    """What each field of a list says; the value of an unknown key as hex [FIELD-1]."""
    shown, keys = [], set()
    for field in xdr.decode_all("field_list", data)["fields"]:
        key = field["key"]
        require(key not in keys, "a key is there twice")
        keys.add(key)
        name = NAMES.get(key)
        value = field["value"] if name is None else xdr.decode_all(
            VALUES[name], bytes.fromhex(field["value"]))
        shown.append({"key": name or key, "value": value})
    return shown


def encode_list(shown):
    fields = []
    for field in shown:
        known = VALUES.get(field["key"])
        if known is None:
            fields.append(field)
        else:
            value = xdr.encode(known, field["value"]).hex()
            fields.append({"key": xdr.ENUMS["field_key"][field["key"]], "value": value})
    return xdr.encode("field_list", {"fields": fields})
