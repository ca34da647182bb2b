package org.interweave.objects;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Random;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.diff.Changes;
import org.interweave.diff.Copy;
import org.interweave.objects.shapes.strip;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Rows whose elements are stored by `set`, which marks a part of the row. */
class MarkedRowsTest {
  private static final long SEED = 20261128;
  private static final long SERIALS = 100;

  private final Copy copy = new Copy(1 << 20, new MappedBlocks());
  private final Copy reader = new Copy(1 << 20, new MappedBlocks());
  private final Neighbours.None client = new Neighbours.None();
  private final ObjectMap map = new ObjectMap(copy, "iw://here/a", client);
  private final ObjectMap read = new ObjectMap(reader, "iw://here/a", new Neighbours.None());
  private long next = 1;
  private Changes changes;
  private strip row;

  @BeforeEach
  void start() {
    begin();
    row = new strip(map, "row");
    release();
  }

  private void begin() {
    changes = new Changes(copy, next, SERIALS);
    next += SERIALS;
    client.write(changes);
  }

  private void release() {
    map.flush();
    byte[] diff = changes.collect();
    if (diff != null) reader.apply(diff);
    changes.commit(reader.version(), false);
    client.write(null);
    read.refresh();
  }

  private int[] seen() {
    return ((strip) read.object(reader.block("row"))).array;
  }

  @Test
  void eachElementHasItsPart() {
    begin();
    row.set(0, 1);
    row.set(7, 2);
    row.set(99, 3);
    assertEquals(1 | 1 << 1 | 1 << 24, row.iw_word());
    assertEquals(2, row.get(7));
    release();
    assertEquals(0, row.iw_word());
    assertEquals(3, seen()[99]);
  }

  @Test
  void whatIsSetArrivesOrIsUndone() {
    row.iw_setAlone();
    Random random = new Random(SEED);
    int[] wanted = new int[strip.length];
    for (int round = 0; round < 300; ++round) {
      begin();
      int[] stored = wanted.clone();
      for (int i = random.nextInt(20); i > 0; --i) {
        int at = random.nextInt(strip.length);
        row.set(at, stored[at] = random.nextInt(4));
      }
      if (random.nextInt(4) == 0) {
        stored = random.ints(strip.length).toArray();
        row.set_array(stored.clone());
      }
      if (random.nextInt(3) == 0) {
        if (random.nextBoolean()) map.flush();
        changes.undo();
        client.write(null);
        map.reload();
        assertArrayEquals(wanted, row.array, "seed " + SEED + ", undone in round " + round);
      } else {
        release();
        wanted = stored;
      }
      assertArrayEquals(wanted, seen(), "seed " + SEED + ", round " + round);
    }
  }

  @Test
  void aReleaseLooksAtMarkedPartsAloneOnceThatIsPromised() {
    begin();
    row.array[50] = 8;
    row.set(0, 1);
    release();
    assertEquals(8, seen()[50]);
    row.iw_setAlone();
    begin();
    row.array[50] = 9;
    row.set(1, 2);
    release();
    assertEquals(8, seen()[50]);
    assertEquals(2, seen()[1]);
  }

  @Test
  void aPromiseOfAReaderKeepsUpdates() {
    strip there = (strip) read.object(reader.block("row"));
    there.iw_setAlone();
    begin();
    row.set(3, 4);
    release();
    assertEquals(4, there.get(3));
  }

  @Test
  void aStoreNeedsTheLock() {
    InterweaveException thrown =
        assertThrows(InterweaveException.class, () -> row.set(1, 5));
    assertEquals(Error.NO_LOCK, thrown.code());
    assertEquals(0, row.get(1));
    begin();
    assertThrows(ArrayIndexOutOfBoundsException.class, () -> row.set(strip.length, 5));
    release();
    assertArrayEquals(new int[strip.length], seen());
  }
}
