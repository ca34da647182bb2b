package org.interweave.diff;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import org.interweave.types.Declared;
import org.interweave.types.Interning;
import org.interweave.wire.ByteWriter;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Large rows that are rewritten whole are not compared, and lie in diffs until a look at them. */
class WholeRowsTest {
  private static final long SEED = 20261128;
  private static final int COUNT = 1 << 14;
  private static final int LENGTH = 8 * COUNT;

  private final Copy writer = new Copy(1 << 20);
  private final Copy reader = new Copy(1 << 20);
  private CopiedBlock row;
  private Changes changes;
  private byte[] diff;

  @BeforeEach
  void makeTheRow() {
    changes = new Changes(writer, 1, 1);
    row = changes.allocate(writer.types().get(Primitive.DOUBLE.number), COUNT, "");
    release();
  }

  private void release() {
    diff = changes.collect();
    if (diff != null) reader.apply(diff.clone());
    changes.commit(reader.version(), true);
    changes = new Changes(writer, 2, 0);
  }

  private void undo() {
    changes.undo();
    changes = new Changes(writer, 2, 0);
  }

  private CopiedBlock there() {
    return reader.block(row.serial);
  }

  private static byte[] filled(int value) {
    byte[] values = new byte[LENGTH];
    Arrays.fill(values, (byte) value);
    return values;
  }

  private static ByteWriter.Source source(byte[] values) {
    return (to, at) -> System.arraycopy(values, 0, to, at, LENGTH);
  }

  /** Changes all values in a release that compares them. */
  private void rewrite(int value) {
    changes.touch(row);
    Arrays.fill(row.memory(), (byte) value);
    release();
  }

  private void learn() {
    for (int i = 1; i <= WholeHistory.PATIENCE; ++i) rewrite(i);
  }

  private void replace(byte[] values) {
    assertTrue(changes.mayReplace(row));
    changes.replace(row, source(values), false);
  }

  @Test
  void aRowIsReplacedAfterItWasRewrittenOftenAndComparedFromTimeToTime() {
    for (int i = 1; i <= WholeHistory.PATIENCE; ++i) {
      assertFalse(changes.mayReplace(row), "after " + (i - 1));
      rewrite(i);
    }
    for (int i = 0; i < WholeHistory.WHOLE_RELEASES; ++i) {
      replace(filled(10 + i));
      release();
      assertNull(row.pristine());
      assertArrayEquals(filled(10 + i), there().memory());
    }
    assertFalse(changes.mayReplace(row), "one release compares");
    rewrite(99);
    assertTrue(changes.mayReplace(row), "a row that changed whole is still taken whole");
    changes.doubt(row);
    assertFalse(changes.mayReplace(row));
  }

  @Test
  void littleChangesEndIt() {
    learn();
    for (int i = 0; i < WholeHistory.WHOLE_RELEASES; ++i) changes.mayReplace(row);
    changes.touch(row);
    row.memory()[0] = 77;
    release();
    assertFalse(changes.mayReplace(row));
    rewrite(50);
    rewrite(51);
    assertFalse(changes.mayReplace(row));
    rewrite(52);
    assertTrue(changes.mayReplace(row));
  }

  @Test
  void smallBlocksNewOnesAndThoseOfPointersAreCompared() {
    Changes further = new Changes(writer, 2, 3);
    CopiedBlock small = further.allocate(writer.types().get(Primitive.DOUBLE.number), 8191, "");
    Interning interning =
        new Interning(writer.types(), Declared.pointer(Declared.primitive(Primitive.DOUBLE)));
    further.addTypes(interning.missing());
    CopiedBlock pointers = further.allocate(writer.types().get(interning.serial()), COUNT, "");
    changes = further;
    assertFalse(changes.mayReplace(small));
    release();
    for (int i = 0; i < 2 * WholeHistory.PATIENCE; ++i) {
      changes.touch(small);
      Arrays.fill(small.memory(), (byte) (i + 1));
      changes.touch(pointers);
      for (int at = 2; at < pointers.length(); at += 16) pointers.memory()[at] = (byte) (i + 1);
      release();
      assertFalse(changes.mayReplace(small) || changes.mayReplace(pointers));
    }
  }

  @Test
  void theMemoryIsThatOfBeforeUntilTheCommit() {
    learn();
    byte[] before = row.memory().clone();
    replace(filled(7));
    assertTrue(changes.areAny());
    assertNotNull(changes.collect());
    assertArrayEquals(before, row.memory());
    undo();
    assertArrayEquals(before, row.memory());
    assertFalse(changes.areAny());
    assertNull(changes.collect());
  }

  /** After a refused release the section continues, and sends the row's values of then. */
  @Test
  void aReplacementIsCollectedAgain() {
    learn();
    byte[] values = filled(7);
    replace(values);
    byte[] first = changes.collect();
    Arrays.fill(values, (byte) 8);
    byte[] second = changes.collect();
    assertEquals(first.length, second.length);
    diff = second;
    reader.apply(second.clone());
    changes.commit(reader.version(), true);
    assertArrayEquals(filled(8), row.memory());
    assertArrayEquals(filled(8), there().memory());
  }

  @Test
  void aStoreToAReplacedRowIsComparedAndUndone() {
    learn();
    byte[] before = row.memory().clone();
    for (boolean isPart : new boolean[] {false, true}) {
      for (boolean isUndone : new boolean[] {true, false}) {
        byte[] wanted = filled(isPart ? 9 : 8);
        replace(wanted.clone());
        if (isPart) assertTrue(changes.touch(row, 8, 16));
        else changes.touch(row);
        row.memory()[8] = wanted[8] = 1;
        if (isUndone) undo();
        else release();
        assertArrayEquals(isUndone ? before : wanted, row.memory());
        assertArrayEquals(row.memory(), there().memory());
      }
      before = row.memory().clone();
    }
  }

  @Test
  void aReplacedRowMayBeFreedAndComeBack() {
    learn();
    byte[] before = row.memory().clone();
    replace(filled(7));
    changes.free(row);
    undo();
    assertArrayEquals(before, writer.block(row.serial).memory());
    learn();
    replace(filled(7));
    changes.free(row);
    release();
    assertNull(there());
  }

  @Test
  void anArrayServesAgainOnceNobodyHasIt() {
    learn();
    replace(filled(10));
    release();
    byte[] first = diff;
    assertSame(first, row.bytes(0, LENGTH).from(), "the row lies in the diff");
    replace(filled(11));
    release();
    assertNotSame(first, diff);
    replace(filled(12));
    release();
    assertSame(first, diff, "the one before the last");
    replace(filled(13));
    byte[] kept = changes.collect();
    changes.commit(writer.version() + 1, false);
    replace(filled(14));
    changes.collect();
    changes.commit(writer.version() + 1, true);
    for (int i = 15; i < 18; ++i) {
      replace(filled(i));
      assertNotSame(kept, changes.collect(), "a connection may have it");
      changes.commit(writer.version() + 1, true);
    }
    assertArrayEquals(filled(17), row.memory());
  }

  /** Otherwise each of many short rows might keep the diff of a long one. */
  @Test
  void aRowThatIsLittleOfADiffDoesNotKeepIt() {
    learn();
    changes = new Changes(writer, 2, 1);
    CopiedBlock large =
        changes.allocate(writer.types().get(Primitive.DOUBLE.number), 5 * COUNT, "");
    release();
    for (int i = 1; i <= WholeHistory.PATIENCE; ++i) {
      changes.touch(large);
      Arrays.fill(large.memory(), (byte) i);
      if (i == WholeHistory.PATIENCE) replace(filled(7));
      release();
    }
    assertNotSame(diff, row.bytes(0, LENGTH).from(), "most of the diff is another row");
    replaceBoth(large, 8);
    byte[] first = diff;
    assertSame(first, row.bytes(0, LENGTH).from(), "both lie in the diff");
    replaceLarge(large, 9);
    release();
    assertNotSame(first, row.bytes(0, LENGTH).from(), "the other row has left the diff");
    assertArrayEquals(filled(8), row.memory());
    replaceBoth(large, 10);
    assertSame(first, diff, "nobody needs it");
    assertArrayEquals(filled(10), row.memory());
    assertArrayEquals(filled(10), there().memory());
  }

  private void replaceBoth(CopiedBlock large, int value) {
    replace(filled(value));
    replaceLarge(large, value);
    release();
  }

  private void replaceLarge(CopiedBlock large, int value) {
    assertTrue(changes.mayReplace(large));
    changes.replace(
        large, (to, at) -> Arrays.fill(to, at, at + large.length(), (byte) value), false);
  }

  /** Some updates cover all that lies in the diff before, some a part of it, and some nothing. */
  @Test
  void updatesOfARowThatLiesInADiffArrive() {
    Random random = new Random(SEED);
    int lay = 0;
    for (int round = 0; round < 300; ++round) {
      String where = "seed " + SEED + ", round " + round;
      boolean isLarge = random.nextInt(3) > 0;
      int most = isLarge ? COUNT : 40;
      int begin = random.nextInt(COUNT / 3);
      int count = Math.min(COUNT - begin, 1 + random.nextInt(most));
      if (random.nextInt(4) == 0) {
        begin = 0;
        count = COUNT;
      }
      changes.touch(row);
      byte[] own = row.memory();
      for (int i = 8 * begin; i < 8 * (begin + count); ++i) own[i] += 1 + random.nextInt(9);
      release();
      if (there().bytes(8 * begin, 8 * (begin + count)).at() != 8 * begin) ++lay;
      int from = random.nextInt(LENGTH);
      CopiedBlock.Bytes part = there().bytes(from, LENGTH);
      byte[] found = Arrays.copyOfRange(part.from(), part.at(), part.at() + LENGTH - from);
      assertArrayEquals(Arrays.copyOfRange(row.memory(), from, LENGTH), found, where);
      if (random.nextInt(3) == 0) assertArrayEquals(row.memory(), there().memory(), where);
    }
    assertTrue(lay > 50, "of 300 updates, " + lay + " stayed in their diffs");
  }

  /** A complete copy makes the block anew, in its place. */
  @Test
  void aCompleteCopyReplacesWhatLiesInADiff() {
    learn();
    CopiedBlock place = there();
    Copy other = new Copy(1 << 20);
    Changes all = new Changes(other, 1, 1);
    CopiedBlock made = all.allocate(other.types().get(Primitive.DOUBLE.number), COUNT, "");
    made.memory()[5] = 6;
    reader.apply(all.collect());
    assertSame(place, there());
    assertArrayEquals(made.memory(), place.memory());
  }
}
