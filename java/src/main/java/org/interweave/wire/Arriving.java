package org.interweave.wire;

import java.util.Arrays;

/**
 * Bytes of which the number is announced, as far as they have come. Memory is allocated for the
 * bytes that came, at most twice as much, never for what was announced.
 */
final class Arriving {
  private byte[] bytes = new byte[0];
  private int length;
  private final int whole;

  Arriving(int whole) {
    this.whole = whole;
  }

  int missing() {
    return whole - length;
  }

  /** Takes of the bytes from `begin` to `end` as many as are missing; how many. */
  int take(byte[] from, int begin, int end) {
    int count = Math.min(end - begin, missing());
    if (length + count > bytes.length) {
      long grown = Math.max(length + count, 2L * bytes.length);
      bytes = Arrays.copyOf(bytes, (int) Math.min(grown, whole));
    }
    System.arraycopy(from, begin, bytes, length, count);
    length += count;
    return count;
  }

  /** All of them, once none is missing. */
  byte[] bytes() {
    return bytes;
  }
}
