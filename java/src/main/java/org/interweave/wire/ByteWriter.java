package org.interweave.wire;

import java.util.Arrays;

/** Bytes of a diff under construction. */
public final class ByteWriter {
  private byte[] bytes = new byte[256];
  private int length;

  public int length() {
    return length;
  }

  /** Begins anew, with the memory that is there. */
  public void clear() {
    length = 0;
  }

  /** Room for so many more bytes; where they begin. */
  private int room(int count) {
    int begin = length;
    length = Math.addExact(length, count);
    if (length > bytes.length) {
      long grown = Math.min(Integer.MAX_VALUE - 8, 2L * bytes.length);
      bytes = Arrays.copyOf(bytes, (int) Math.max(length, grown));
    }
    return begin;
  }

  public void put(int value) {
    int at = room(1);
    bytes[at] = (byte) value;
  }

  public void put(byte[] from, int begin, int count) {
    int at = room(count);
    System.arraycopy(from, begin, bytes, at, count);
  }

  public void put(byte[] from) {
    put(from, 0, from.length);
  }

  /** All that another writer has. */
  public void put(ByteWriter other) {
    put(other.bytes, 0, other.length);
  }

  /** An unsigned number of 64 bits. */
  public void varint(long value) {
    while ((value & ~0x7fL) != 0) {
      put((int) value & 0x7f | 0x80);
      value >>>= 7;
    }
    put((int) value);
  }

  public void zigzag(long value) {
    varint(value << 1 ^ value >> 63);
  }

  public byte[] finish() {
    return Arrays.copyOf(bytes, length);
  }
}
