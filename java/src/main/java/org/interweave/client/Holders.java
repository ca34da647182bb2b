package org.interweave.client;

import java.util.HashMap;
import java.util.Map;

/**
 * Who reads a segment: so many times each thread [PROC-3]. The link's lock guards it. A thread that
 * comes alone is counted without the map, which takes a third of a cached reader lock's time.
 */
final class Holders {
  private final Map<Thread, int[]> counts = new HashMap<>();
  private Thread first;
  private int ofFirst;
  private int all;

  boolean has(Thread thread) {
    return all > 0 && of(thread) > 0;
  }

  int all() {
    return all;
  }

  int of(Thread thread) {
    int found = thread == first ? ofFirst : 0;
    if (found == all) return found;
    int[] count = counts.get(thread);
    return count == null ? found : found + count[0];
  }

  void add(Thread thread) {
    ++all;
    if (first == null) first = thread;
    if (first == thread) {
      ++ofFirst;
      return;
    }
    int[] count = counts.get(thread);
    if (count == null) counts.put(thread, new int[] {1});
    else ++count[0];
  }

  void remove(Thread thread) {
    --all;
    if (first == thread) {
      if (--ofFirst == 0) first = null;
      return;
    }
    int[] count = counts.get(thread);
    if (--count[0] == 0) counts.remove(thread);
  }
}
