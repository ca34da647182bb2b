package org.interweave.diff;

import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;

/**
 * What stretches of a large block held before the first stores to them. A section that stores to
 * few of a block's units needs no copy of the whole block. Stretches do not overlap, and begin and
 * end where units do.
 */
final class Stretches {
  /** Bytes from `begin` on. */
  record Stretch(int begin, byte[] bytes) {
    int end() {
      return begin + bytes.length;
    }
  }

  private final TreeMap<Integer, Stretch> byBegin = new TreeMap<>();
  private int size;

  /** How many bytes are kept. */
  int size() {
    return size;
  }

  /** In the order of their places. */
  Collection<Stretch> inOrder() {
    return byBegin.values();
  }

  /** Keeps the bytes from `begin` up to `end`; false: a part of them is kept, and a part is not. */
  boolean keep(byte[] memory, int begin, int end) {
    Map.Entry<Integer, Stretch> before = byBegin.floorEntry(begin);
    if (before != null && before.getValue().end() >= end) return true;
    if (before != null && before.getValue().end() > begin) return false;
    Integer after = byBegin.ceilingKey(begin);
    if (after != null && after < end) return false;
    byBegin.put(begin, new Stretch(begin, Arrays.copyOfRange(memory, begin, end)));
    size += end - begin;
    return true;
  }

  /** Puts what was kept into the block's memory, or a copy of the memory. */
  void restore(byte[] memory) {
    for (Stretch each : byBegin.values()) {
      System.arraycopy(each.bytes, 0, memory, each.begin, each.bytes.length);
    }
  }

  boolean differFrom(byte[] memory) {
    for (Stretch each : byBegin.values()) {
      if (!Arrays.equals(memory, each.begin, each.end(), each.bytes, 0, each.bytes.length)) {
        return true;
      }
    }
    return false;
  }
}
