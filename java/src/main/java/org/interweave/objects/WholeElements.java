package org.interweave.objects;

import java.util.Arrays;
import java.util.List;
import org.interweave.IW_Object;
import org.interweave.diff.Changes;
import org.interweave.diff.CopiedBlock;
import org.interweave.wire.ByteWriter;

/** The objects of a block's elements, with numbers alone, from which a diff takes the values. */
final class WholeElements implements ByteWriter.Source {
  private final IW_Object[] elements;
  private final int size;

  private WholeElements(IW_Object[] elements, int size) {
    this.elements = elements;
    this.size = size;
  }

  @Override
  public void put(byte[] to, int at) {
    int place = at;
    for (IW_Object each : elements) {
      each.iw_store(null, to, place);
      place += size;
    }
  }

  /**
   * Gives a diff all elements of the block whose object has the mark number `begin`, if each has a
   * mark, the last releases changed nearly all of the block, and a sample says that this one does.
   * Returns the number of the mark behind those of the block, or `begin` if it gives none.
   */
  static int replace(List<IW_Object> marked, int begin, Changes changes) {
    IW_Object first = marked.get(begin);
    MappedBlock block = ((Place) first.iw_place()).mapped();
    if (!block.isLarge() || block.count == 1 || first.iw_direct() != 2) return begin;
    int end = begin + block.count;
    if (end > marked.size() || !block.isLive()) return begin;
    IW_Object[] elements = isOf(marked.get(end - 1), block) ? block.all(first.getClass()) : null;
    if (elements == null) return begin;
    for (int i = begin; i < end; ++i) if (!isOf(marked.get(i), block)) return begin;
    for (IW_Object each : elements) if (each.iw_word() == 0) return begin;
    if (!changes.mayReplace(block)) return begin;
    if (!lookChanged(elements, block)) {
      changes.doubt(block);
      return begin;
    }
    changes.replace(block, new WholeElements(elements, (int) block.type.size()), false);
    return end;
  }

  /** Whether a sample differs from memory. A program may set values that memory already has. */
  private static boolean lookChanged(IW_Object[] elements, CopiedBlock block) {
    int size = (int) block.type.size();
    byte[] element = new byte[size];
    return NumberRow.lookChanged(
        elements.length,
        index -> {
          CopiedBlock.Bytes now = block.bytes(index * size, (index + 1) * size);
          // The bytes between numbers are those of memory.
          System.arraycopy(now.from(), now.at(), element, 0, size);
          elements[index].iw_store(null, element, 0);
          return Arrays.equals(element, 0, size, now.from(), now.at(), now.at() + size);
        });
  }

  private static boolean isOf(IW_Object object, MappedBlock block) {
    return ((Place) object.iw_place()).mapped() == block;
  }
}
