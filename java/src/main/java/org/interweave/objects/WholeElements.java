package org.interweave.objects;

import org.interweave.IW_Object;
import org.interweave.diff.Changes;
import org.interweave.wire.ByteWriter;

/** The elements of a block, all of numbers alone, which a diff takes from where they are. */
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
   * mark and the last releases changed nearly all of the block. The number of the mark behind those
   * of the block; `begin`: it is not so.
   */
  static int replace(IW_Object[] marked, int begin, Changes changes) {
    MappedBlock block = ((Place) marked[begin].iw_place()).mapped();
    if (block.count == 1 || marked[begin].iw_direct() != 2) return begin;
    int end = begin + block.count;
    if (end >= marked.length || !block.isLive()) return begin;
    boolean isLast = marked[end - 1] != null && isOf(marked[end - 1], block);
    IW_Object[] elements = isLast ? block.all(marked[begin].getClass()) : null;
    if (elements == null) return begin;
    for (int i = begin; i < end; ++i) if (!isOf(marked[i], block)) return begin;
    for (IW_Object each : elements) if (each.iw_word() == 0) return begin;
    if (!changes.mayReplace(block)) return begin;
    WholeElements values = new WholeElements(elements, (int) block.type.size());
    if (changes.isRow(block)) {
      changes.replace(block, values);
    } else {
      byte[] array = changes.arrayFor(block);
      values.put(array, 0);
      changes.replace(block, array);
    }
    return end;
  }

  private static boolean isOf(IW_Object object, MappedBlock block) {
    return ((Place) object.iw_place()).mapped() == block;
  }
}
