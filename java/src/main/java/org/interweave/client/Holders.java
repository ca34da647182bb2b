package org.interweave.client;

import java.util.HashMap;
import java.util.Map;

/** Who reads a segment: so many times each thread [PROC-3]. The link's lock guards it. */
final class Holders {
  private final Map<Thread, int[]> counts = new HashMap<>();
  private int all;

  boolean has(Thread thread) {
    return all > 0 && counts.containsKey(thread);
  }

  int all() {
    return all;
  }

  int of(Thread thread) {
    int[] count = counts.get(thread);
    return count == null ? 0 : count[0];
  }

  void add(Thread thread) {
    ++all;
    int[] count = counts.get(thread);
    if (count == null) counts.put(thread, new int[] {1});
    else ++count[0];
  }

  void remove(Thread thread) {
    --all;
    int[] count = counts.get(thread);
    if (--count[0] == 0) counts.remove(thread);
  }
}
