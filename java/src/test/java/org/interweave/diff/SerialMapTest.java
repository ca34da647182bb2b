package org.interweave.diff;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class SerialMapTest {
  private record Entry(long serial) implements Numbered {}

  private final SerialMap<Entry> map = new SerialMap<>();
  private final Map<Long, Entry> wanted = new LinkedHashMap<>();

  private void put(long serial) {
    Entry made = new Entry(serial);
    map.put(made);
    wanted.put(serial, made);
  }

  private void take(long serial) {
    assertSame(wanted.remove(serial), map.take(serial));
  }

  private void check(long serial) {
    assertSame(wanted.get(serial), map.get(serial));
    assertEquals(wanted.containsKey(serial), map.containsSerial(serial));
  }

  /** Ranges as servers give them, singles, replacements and removals, in any order. */
  @Test
  void itIsAMapInTheOrderOfItsEntries() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    List<Long> put = new ArrayList<>(List.of(1L, Long.MAX_VALUE, Long.MIN_VALUE, -1L, 0L));
    for (long serial : put) put(serial);
    for (int round = 0; round < 400; ++round) {
      long first = random.nextInt(4) == 0 ? random.nextLong() : random.nextInt(20_000);
      int count = random.nextInt(3) == 0 ? 128 : 1;
      for (long serial = first; serial < first + count; ++serial) {
        put(serial);
        put.add(serial);
      }
      for (int i = 0; i < 60; ++i) take(put.get(random.nextInt(put.size())));
      for (int i = 0; i < 60; ++i) {
        long some = put.get(random.nextInt(put.size()));
        check(some);
        check(some + 1);
      }
      assertEquals(wanted.size(), map.size(), "seed " + seed);
    }
    for (long serial : put) check(serial);
    assertEquals(List.copyOf(wanted.values()), List.copyOf(map), "seed " + seed);
  }

  @Test
  void aRangeIsFoundBackwardsToo() {
    for (long serial = 1000; serial < 3000; ++serial) put(serial);
    for (long serial = 3100; serial >= 900; --serial) check(serial);
    assertNull(map.get(Long.MAX_VALUE));
  }
}
