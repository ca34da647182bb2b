package org.interweave.diff;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.interweave.InterweaveException;
import org.interweave.wire.ByteWriter;
import org.junit.jupiter.api.Test;

/** Damaged diffs are refused with the library's own exception, and change nothing [DIFF-1]. */
class DamagedDiffTest {
  private static final long SEED = 20261124;
  private static final int ROUNDS = 50_000;
  private static final int DOUBLE = 10;
  private static final int COUNT = 8;
  private static final long MAX_BYTES = 1 << 20;

  /** A block of eight doubles, all written. */
  private static byte[] wholeDiff() {
    ByteWriter blocks = new ByteWriter();
    blocks.zigzag(1);
    blocks.varint(DOUBLE);
    blocks.varint(COUNT);
    blocks.varint(4);
    blocks.put(new byte[] {'h', 'e', 'a', 'd'});
    ByteWriter run = new ByteWriter();
    run.varint(0);
    run.varint(COUNT);
    for (int i = 0; i < 8 * COUNT; ++i) run.put(i);
    ByteWriter changes = new ByteWriter();
    changes.zigzag(1);
    changes.varint(run.length());
    changes.put(run);
    ByteWriter diff = new ByteWriter();
    diff.put(Diff.MAGIC);
    diff.put(0);
    diff.varint(0);
    diff.varint(1);
    for (Section section : new Section[] {Section.BLOCKS, Section.CHANGES}) {
      ByteWriter body = section == Section.BLOCKS ? blocks : changes;
      diff.put(section.tag);
      diff.varint(body.length());
      diff.put(body);
    }
    return diff.finish();
  }

  @Test
  void damagedDiffsAreRefusedWholeOrApplied() {
    byte[] good = wholeDiff();
    Copy copy = new Copy(MAX_BYTES);
    copy.apply(good);
    byte[] before = copy.block("head").memory().clone();
    assertEquals(8 * COUNT, before.length);
    Random random = new Random(SEED);
    int refused = 0;
    for (int round = 0; round < ROUNDS; ++round) {
      byte[] damaged = good.clone();
      for (int i = random.nextInt(3); i >= 0; --i) {
        damaged[random.nextInt(damaged.length)] = (byte) random.nextInt(256);
      }
      Copy victim = new Copy(MAX_BYTES);
      victim.apply(good);
      try {
        victim.apply(damaged);
      } catch (InterweaveException expected) {
        ++refused;
        assertEquals(1, victim.version());
        assertArrayEquals(before, victim.block("head").memory(), "seed " + SEED);
      }
    }
    assertTrue(refused > ROUNDS / 10 && refused < ROUNDS, refused + " were refused");
  }
}
