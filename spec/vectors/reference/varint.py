"""Varints and zigzag of spec/format/diff.md, and the bytes of a diff as they are taken off its front."""

from .errors import require

MAX_SERIAL = (1 << 48) - 1


def put(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def zigzag(number):
    return (number << 1) if number >= 0 else (-number << 1) - 1


def unzigzag(value):
    return value >> 1 if value % 2 == 0 else -(value >> 1) - 1


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def empty(self):
        return self.at == len(self.data)

    def take(self, count):
        require(len(self.data) - self.at >= count, "the diff ends too early")
        self.at += count
        return self.data[self.at - count:self.at]

    def varint(self):
        value = 0
        for index in range(10):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                require(byte or index == 0, "a varint is not in its shortest form")
                require(value < 1 << 64, "a varint exceeds 64 bits")
                return value
        require(False, "a varint has more than 10 bytes")

    def serial_after(self, previous):
        serial = previous + unzigzag(self.varint())
        require(1 <= serial <= MAX_SERIAL, "a serial is not 1..2^48 - 1")
        return serial
