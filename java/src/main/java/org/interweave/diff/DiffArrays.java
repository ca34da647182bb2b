package org.interweave.diff;

import java.lang.ref.SoftReference;

/**
 * Arrays of large diffs that were sent. They serve for the next diffs, because fresh memory costs
 * several times as much as the copy. There are at most two: one has the diff that was sent last,
 * the other takes the next diff. The collector takes the arrays when memory is short.
 */
final class DiffArrays {
  /** Smaller ones are not kept. */
  private static final int LARGE = 1 << 16;

  private SoftReference<byte[]> one;
  private SoftReference<byte[]> other;

  /** An array of that length, which may hold anything. */
  synchronized byte[] take(int length) {
    byte[] found = of(one);
    if (found != null && found.length == length) {
      one = other;
      other = null;
      return found;
    }
    found = of(other);
    if (found == null || found.length != length) return new byte[length];
    other = null;
    return found;
  }

  private static byte[] of(SoftReference<byte[]> reference) {
    return reference == null ? null : reference.get();
  }

  /** Keeps the array, and the one that was kept before. Drops an older one. */
  synchronized void keep(byte[] array) {
    if (array.length < LARGE) return;
    other = one;
    one = new SoftReference<>(array);
  }
}
