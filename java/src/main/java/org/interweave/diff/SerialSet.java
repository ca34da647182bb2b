package org.interweave.diff;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/** A set of serials. Those that come in ascending order, as most do, need no hash. */
final class SerialSet {
  private long[] ascending = new long[16];
  private int count;
  private Set<Long> others = Set.of();

  /** False: it was there. */
  boolean add(long serial) {
    if (count == 0 || serial > ascending[count - 1]) {
      if (count == ascending.length) ascending = Arrays.copyOf(ascending, 2 * count);
      ascending[count++] = serial;
      return true;
    }
    if (Arrays.binarySearch(ascending, 0, count, serial) >= 0) return false;
    if (others.isEmpty()) others = new HashSet<>();
    return others.add(serial);
  }
}
