package org.interweave.diff;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.interweave.wire.protocol.DescriptorCodec.Primitive;
import org.junit.jupiter.api.Test;

/** The pristine copy of a large block serves the next section as a fresh one would. */
class SparesTest {
  private static final int LENGTH = 1 << 17;
  private final Copy writer = new Copy(1 << 20);
  private final Copy reader = new Copy(1 << 20);
  private CopiedBlock block;

  private Changes store(int at, int value) {
    Changes changes = new Changes(writer, 1, 1);
    if (block == null) {
      block = changes.allocate(writer.types().get(Primitive.CHAR.number), LENGTH, "");
    }
    changes.touch(block);
    block.memory()[at] = (byte) value;
    return changes;
  }

  private void release(Changes changes) {
    reader.apply(changes.collect());
    changes.commit(reader.version(), false);
    assertNull(block.pristine());
    assertArrayEquals(block.memory(), reader.block(block.serial).memory());
  }

  @Test
  void sectionsAreReleasedAndUndone() {
    release(store(0, 1));
    for (int i = 1; i < 4; ++i) {
      release(store(i, i));
      store(i, 99).undo();
      assertArrayEquals(block.memory(), reader.block(block.serial).memory());
    }
  }
}
