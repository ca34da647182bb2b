package org.interweave.diff;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.Random;
import org.interweave.types.Declared;
import org.interweave.types.Interning;
import org.interweave.types.Type;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;
import org.junit.jupiter.api.Test;

/** Stores to stretches of a large block are sent and undone as stores to the whole block are. */
class StretchesTest {
  private static final long SEED = 20261128;
  private static final long MAX_BYTES = 1 << 24;
  private static final int COUNT = 4096;

  /** Units of 8, 4 and 1 byte, and bytes between them that are no unit. */
  private static Type mixed(Copy copy) {
    Declared record =
        Declared.record("mixed")
            .with("d", Declared.array(Declared.primitive(Primitive.DOUBLE), 3))
            .with("i", Declared.primitive(Primitive.INT))
            .with("c", Declared.array(Declared.primitive(Primitive.CHAR), 5));
    Interning interning = new Interning(copy.types(), record);
    long serial = interning.serial();
    copy.types().append(copy.types().check(interning.missing()));
    return copy.types().get(serial);
  }

  private static CopiedBlock filled(Copy copy) {
    Changes changes = new Changes(copy, 1, 1);
    CopiedBlock block = changes.allocate(mixed(copy), COUNT, "");
    changes.collect();
    changes.commit(1, false);
    return block;
  }

  /** Stores to a part of a field in some elements; `isWhole`: after keeping the whole block. */
  private static byte[] edit(Changes changes, CopiedBlock block, long seed, boolean isWhole) {
    Random random = new Random(seed);
    int size = (int) block.type.size();
    if (isWhole) changes.touch(block);
    for (int i = random.nextInt(60); i > 0; --i) {
      int element = random.nextInt(COUNT) * size;
      int field = random.nextInt(3);
      int begin = element + (field == 0 ? 0 : field == 1 ? 24 : 28);
      int end = begin + (field == 0 ? 24 : field == 1 ? 4 : 5);
      if (random.nextInt(3) == 0) {
        begin = element;   // over several fields, and the next element
        end = Math.min(element + 2 * size, block.length());
      }
      if (!isWhole) changes.touch(block, begin, end);
      int at = begin + random.nextInt(Math.min(end - begin, 24));
      if (at % size < 33) block.memory()[at] ^= (byte) random.nextInt(3);
    }
    return changes.collect();
  }

  @Test
  void stretchesAreSentAndUndoneAsTheWholeBlockIs() {
    Copy sparse = new Copy(MAX_BYTES);
    Copy full = new Copy(MAX_BYTES);
    CopiedBlock own = filled(sparse);
    CopiedBlock other = filled(full);
    int sent = 0;
    for (int round = 0; round < 500; ++round) {
      String where = "seed " + SEED + ", round " + round;
      byte[] before = own.memory().clone();
      Changes changes = new Changes(sparse, 2, 1);
      Changes wholes = new Changes(full, 2, 1);
      byte[] diff = edit(changes, own, SEED + round, false);
      byte[] wanted = edit(wholes, other, SEED + round, true);
      assertArrayEquals(wanted, diff, where);
      assertEquals(diff != null, changes.areAny(), where);
      if (diff == null || round % 5 == 0) {
        changes.undo();
        wholes.undo();
        assertArrayEquals(before, own.memory(), where);
      } else {
        changes.commit(sparse.version() + 1, false);
        wholes.commit(full.version() + 1, false);
        ++sent;
      }
      assertArrayEquals(other.memory(), own.memory(), where);
    }
    assertEquals(true, sent > 300, "sent " + sent);
  }

  @Test
  void fewStoresKeepNoWholeBlockAndManyDo() {
    Copy copy = new Copy(MAX_BYTES);
    CopiedBlock block = filled(copy);
    byte[] before = block.memory().clone();
    Changes changes = new Changes(copy, 2, 1);
    int size = (int) block.type.size();
    for (int i = 0; i < COUNT; ++i) {
      changes.touch(block, i * size, i * size + 24);
      block.memory()[i * size] = 1;
      if (i == COUNT / 40) assertNull(block.pristine());
    }
    assertNotNull(block.pristine());
    assertArrayEquals(before, block.pristine(), "what the stretches held before is the pristine");
    changes.undo();
    assertArrayEquals(before, block.memory());
  }

  @Test
  void storesToTheWholeBlockMayFollow() {
    Copy copy = new Copy(MAX_BYTES);
    CopiedBlock block = filled(copy);
    byte[] before = block.memory().clone();
    Changes changes = new Changes(copy, 2, 1);
    changes.touch(block, 0, 24);
    block.memory()[3] = 7;
    changes.touch(block);
    block.memory()[24] = 9;
    changes.undo();
    assertArrayEquals(before, block.memory());
  }

  /** A freed block comes back with what it held. */
  @Test
  void aFreedBlockIsRestored() {
    Copy copy = new Copy(MAX_BYTES);
    CopiedBlock block = filled(copy);
    byte[] before = block.memory().clone();
    Changes changes = new Changes(copy, 2, 1);
    changes.touch(block, 0, 24);
    block.memory()[3] = 7;
    changes.free(block);
    assertNotNull(changes.collect());
    changes.undo();
    assertArrayEquals(before, copy.block(block.serial).memory());
  }
}
