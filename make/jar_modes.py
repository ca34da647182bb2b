#!/usr/bin/env python3
"""Gives each entry of jars the mode that umask 022 would have given, so that builds with any umask
make the same bytes. The modes stand in the central directory of a ZIP file, and are changed there.

  jar_modes.py FILE...
"""

import struct
import sys

END = b"PK\x05\x06"
ENTRY = b"PK\x01\x02"
ENTRY_BYTES = 46
FOLDER, FILE = 0o40755, 0o100644
IS_FOLDER_IN_DOS = 0x10


def with_usual_modes(jar):
    data = bytearray(jar)
    end = data.rindex(END)
    count, _, at = struct.unpack_from("<HII", data, end + 10)
    for _ in range(count):
        if data[at:at + 4] != ENTRY:
            raise ValueError("not a ZIP file of fewer than 65,535 entries")
        name, extra, comment = struct.unpack_from("<HHH", data, at + 28)
        is_folder = data[at + ENTRY_BYTES + name - 1:at + ENTRY_BYTES + name] == b"/"
        attributes = FOLDER << 16 | IS_FOLDER_IN_DOS if is_folder else FILE << 16
        struct.pack_into("<I", data, at + 38, attributes)
        at += ENTRY_BYTES + name + extra + comment
    return data


for path in sys.argv[1:]:
    with open(path, "r+b") as file:
        made = with_usual_modes(file.read())
        file.seek(0)
        file.write(made)
