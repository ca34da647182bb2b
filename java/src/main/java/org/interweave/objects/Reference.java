package org.interweave.objects;

import org.interweave.IW_Object;
import org.interweave.IW_Ref;

/** A pointer of the map's segment as it is on the wire, the slot resolved to a URL. */
record Reference(ObjectMap map, String segment, long block, long unit) implements IW_Ref {
  @Override
  public <T extends IW_Object> T object(Class<T> type) {
    T found = map.find(segment, block, unit, type);
    map.loadPending();
    return found;
  }

  /** Wherever the pointer itself is kept, it leads to the same place. */
  @Override
  public boolean equals(Object other) {
    return other instanceof Reference that
        && that.map == map
        && that.segment.equals(segment)
        && that.block == block
        && that.unit == unit;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(block * 31 + unit);
  }

  @Override
  public String toString() {
    return segment + "#" + block + "#" + Long.toUnsignedString(unit);
  }
}
