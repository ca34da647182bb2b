package org.interweave.wire;

import static org.interweave.InterweaveException.malformed;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Reads the bytes of diffs from the front, never beyond the end (spec/format/diff.md). A varint is
 * LEB128, unsigned, at most 10 bytes, in the shortest form [DIFF-1].
 */
public final class Cursor {
  public final byte[] bytes;
  private final int end;
  private int at;

  public Cursor(byte[] bytes) {
    this(bytes, 0, bytes.length);
  }

  /** Of the bytes from `begin` to `end`. */
  public Cursor(byte[] bytes, int begin, int end) {
    this.bytes = bytes;
    this.at = begin;
    this.end = end;
  }

  public boolean isAtEnd() {
    return at == end;
  }

  /** Where the next byte lies in the array. */
  public int at() {
    return at;
  }

  public int end() {
    return end;
  }

  /** Steps over so many bytes; where they begin. A negative count is one beyond 2^63. */
  public int skip(long count) {
    if (count < 0 || count > end - at) {
      throw malformed(
          Long.toUnsignedString(count) + " bytes are wanted where " + (end - at) + " are left");
    }
    int begin = at;
    at += (int) count;
    return begin;
  }

  /** A cursor over the next bytes, without a copy. */
  public Cursor take(long count) {
    int begin = skip(count);
    return new Cursor(bytes, begin, at);
  }

  public int unsignedByte() {
    return bytes[skip(1)] & 0xff;
  }

  /** The next bytes as text; null if they are not UTF-8. */
  public String text(long count) {
    int begin = skip(count);
    if (count == 0) return "";
    try {
      ByteBuffer text = ByteBuffer.wrap(bytes, begin, at - begin);
      return StandardCharsets.UTF_8.newDecoder().decode(text).toString();
    } catch (CharacterCodingException wrong) {
      return null;
    }
  }

  /** A varint that is a count, a length or a serial: what is beyond 2^62 is 2^62. */
  public long varint() {
    long value = varint64();
    return value < 0 ? 1L << 62 : Math.min(value, 1L << 62);
  }

  /** A varint as a long of the same 64 bits. */
  public long varint64() {
    long value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      int next = unsignedByte();
      // The tenth byte has the highest bit alone.
      if (shift == 63 && (next & 0x7f) > 1) break;
      value |= (long) (next & 0x7f) << shift;
      if (next < 0x80) {
        if (next == 0 && shift > 0) throw malformed("a varint is not in its shortest form");
        return value;
      }
    }
    throw malformed("a varint has more than 64 bits");
  }

  /** The serial that is that varint's distance from another. */
  public long serialAfter(long previous) {
    long distance = unzigzag(varint64());
    long serial = previous + distance;
    boolean isFar = Math.abs(distance) > WirePointer.MAX_SERIAL || distance == Long.MIN_VALUE;
    if (isFar || serial < 1 || serial > WirePointer.MAX_SERIAL) {
      throw malformed("a serial " + distance + " after " + previous + " is not a block's");
    }
    return serial;
  }

  public static long unzigzag(long value) {
    return (value >>> 1) ^ -(value & 1);
  }
}
