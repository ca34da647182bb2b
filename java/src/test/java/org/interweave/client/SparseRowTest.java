package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Random;
import org.interweave.client.byhand.field_t;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Few stores into a long row. */
@Timeout(60)
class SparseRowTest {
  private static final long SEED = 20261128;
  private static final long MOST_BYTES = 1 << 20;

  private Server server;
  private final Client writer = new Client();
  private final Client reader = new Client();
  private Segment own;
  private Segment other;
  private field_t field;

  @BeforeEach
  void start() throws Exception {
    server = Server.start();
    IWSegment.RegisterClass(field_t.class);
    own = writer.open(server.url("/sparse"));
    other = reader.open(server.url("/sparse"));
    own.write(
        lock -> {
          field = new field_t(own, "field");
          field.owned = new int[1 << 18];
        });
  }

  @AfterEach
  void stop() {
    writer.close();
    reader.close();
    server.close();
  }

  private void compare(String where) {
    try (ReadLock lock = other.read()) {
      field_t seen = lock.object("field", field_t.class);
      assertArrayEquals(field.row, seen.row, where);
      assertArrayEquals(field.owned, seen.owned, where);
      assertEquals(field.before, seen.before, where);
      assertEquals(field.after, seen.after, where);
    }
  }

  private void store(Random random) {
    for (int i = random.nextInt(40); i > 0; --i) {
      field.row[random.nextInt(field.row.length)] = random.nextDouble();
      field.owned[random.nextInt(field.owned.length)] = random.nextInt();
    }
    int from = random.nextInt(field.row.length - 2000);
    for (int i = from; i < from + random.nextInt(2000); ++i) field.row[i] = i;
    if (random.nextInt(3) == 0) field.before = random.nextInt();
    if (random.nextInt(3) == 0) field.after = random.nextInt();
  }

  @Test
  void fewStoresArriveOrAreUndone() {
    Random random = new Random(SEED);
    for (int round = 0; round < 20; ++round) {
      String where = "seed " + SEED + ", round " + round;
      try (WriteLock lock = own.write()) {
        store(random);
        if (round % 4 == 3) {
          lock.abort();
        } else {
          lock.release();
        }
      }
      compare(where);
    }
  }

  /** A reader loads only what lies where updates changed a row. */
  @Test
  void severalUpdatesAtOnceArriveWhole() {
    compare("at first");
    Random random = new Random(SEED);
    for (int round = 0; round < 30; ++round) {
      own.write(lock -> store(random));
      if (random.nextInt(3) == 0) compare("seed " + SEED + ", round " + round);
    }
    compare("seed " + SEED + ", at the end");
  }

  /** The reader has an array of that length already, of a block that was freed. */
  @Test
  void aReplacedRowOfTheSameLengthArrivesWhole() {
    int[] before = field.owned;
    own.write(lock -> Arrays.fill(before, 5));
    compare("filled");
    own.write(lock -> field.owned = new int[3]);
    own.write(
        lock -> {
          field.owned = new int[before.length];
          field.owned[7] = 3;
        });
    compare("replaced");
    own.write(lock -> field.owned[before.length - 1] = 4);
    compare("changed");
  }

  /** The row has 8 MiB, of which no copy is made. */
  @Test
  void aReleaseOfFewStoresTakesLittleMemory() {
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    for (int round = 0; round < 3; ++round) {
      long taken = threads.getCurrentThreadAllocatedBytes();
      try (WriteLock lock = own.write()) {
        field.row[round * 1000] = 1.5;
        field.owned[round * 500] = 3;
        lock.release();
      }
      taken = threads.getCurrentThreadAllocatedBytes() - taken;
      assertTrue(taken < MOST_BYTES, "round " + round + ": " + taken + " bytes");
    }
    compare("at the end");
  }

  /** The row has 1 MiB. It goes into the array of an earlier diff, which no connection has. */
  @Test
  void aReleaseOfARewrittenRowTakesLittleMemory() {
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    for (int round = 1; round <= 10; ++round) {
      int[] before = field.owned.clone();
      long taken = threads.getCurrentThreadAllocatedBytes();
      try (WriteLock lock = own.write()) {
        for (int i = 0; i < field.owned.length; ++i) field.owned[i] += round;
        if (round % 5 == 0) lock.abort();
        else lock.release();
      }
      taken = threads.getCurrentThreadAllocatedBytes() - taken;
      if (round % 5 == 0) assertArrayEquals(before, field.owned, "undone in round " + round);
      if (round > 6) assertTrue(taken < MOST_BYTES / 4, "round " + round + ": " + taken + " bytes");
      compare("round " + round);
    }
  }
}
