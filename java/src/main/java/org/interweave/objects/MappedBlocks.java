package org.interweave.objects;

import org.interweave.diff.CopiedBlock;
import org.interweave.types.Type;

/** Makes the blocks of a copy that may have objects. */
public final class MappedBlocks implements CopiedBlock.Maker {
  @Override
  public CopiedBlock make(long serial, Type type, long count, String name) {
    return new MappedBlock(serial, type, count, name);
  }
}
