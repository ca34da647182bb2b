package org.interweave.objects;

import org.interweave.IW_Elements;
import org.interweave.IW_Object;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;

/** Elements that lie in a block from a byte on. */
final class Elements<T extends IW_Object> extends IW_Elements<T> {
  /** Of the elements; null: there are none. */
  MappedBlock mapped;
  final int at;
  int count;
  final Class<T> type;
  private final int size;
  /** Gives the sequence another block; null: an array, or a block itself. */
  private final Resizing resizing;

  /** What a sequence's field knows. */
  interface Resizing {
    MappedBlock resize(int count);
  }

  Elements(MappedBlock mapped, int at, int count, Class<T> type, int size, Resizing resizing) {
    this.mapped = mapped;
    this.at = at;
    this.count = count;
    this.type = type;
    this.size = size;
    this.resizing = resizing;
  }

  int placeOf(int index) {
    return at + index * size;
  }

  @Override
  public T get(int index) {
    if (index < 0 || index >= count) {
      throw new IndexOutOfBoundsException("element " + index + " of " + count);
    }
    mapped.checkLive();
    ObjectMap map = mapped.map;
    map.gate().lock();
    try {
      T found = map.object(mapped, placeOf(index), type);
      map.loadPending();
      return found;
    } finally {
      map.gate().unlock();
    }
  }

  @Override
  public int size() {
    return count;
  }

  @Override
  public void resize(int wanted) {
    if (resizing == null) {
      throw InterweaveException.of(
          Error.BAD_ARGUMENT, "an array has always " + count + " elements");
    }
    mapped = resizing.resize(wanted);
    count = wanted;
  }
}
