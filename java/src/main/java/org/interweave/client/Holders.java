package org.interweave.client;

import java.util.HashMap;
import java.util.Map;

/**
 * The owners of reader locks of a segment, with the number of locks that each owner has [PROC-3].
 * An owner is a thread or stands for a future. The link's lock guards the counts. A single owner
 * is counted without the map, because the map takes a third of a cached reader lock's time.
 */
final class Holders {
  private final Map<Object, int[]> counts = new HashMap<>();
  private Object first;
  private int ofFirst;
  private int all;

  boolean has(Object owner) {
    return all > 0 && of(owner) > 0;
  }

  int all() {
    return all;
  }

  int of(Object owner) {
    int found = owner == first ? ofFirst : 0;
    if (found == all) return found;
    int[] count = counts.get(owner);
    return count == null ? found : found + count[0];
  }

  void add(Object owner) {
    ++all;
    if (first == null) first = owner;
    if (first == owner) {
      ++ofFirst;
      return;
    }
    int[] count = counts.get(owner);
    if (count == null) counts.put(owner, new int[] {1});
    else ++count[0];
  }

  void remove(Object owner) {
    --all;
    if (first == owner) {
      if (--ofFirst == 0) first = null;
      return;
    }
    int[] count = counts.get(owner);
    if (--count[0] == 0) counts.remove(owner);
  }
}
