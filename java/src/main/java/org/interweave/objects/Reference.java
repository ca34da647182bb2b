package org.interweave.objects;

import org.interweave.IW_Object;
import org.interweave.IW_Ref;

/** A pointer of the map's segment as it is on the wire; `segment` is "" or another one's URL. */
record Reference(ObjectMap map, String segment, long block, long unit) implements IW_Ref {
  @Override
  public <T extends IW_Object> T object(Class<T> type) {
    return map.find(segment, block, unit, type);
  }

  @Override
  public String mip() {
    String whole = target() + "#" + block;
    return unit == 0 ? whole : whole + "#" + Long.toUnsignedString(unit);
  }

  private String target() {
    return segment.isEmpty() ? map.url() : segment;
  }

  /** Wherever the pointer itself is kept, it leads to the same place. */
  @Override
  public boolean equals(Object other) {
    return other instanceof Reference that
        && that.block == block
        && that.unit == unit
        && that.target().equals(target());
  }

  @Override
  public int hashCode() {
    return Long.hashCode(block * 31 + unit);
  }

  @Override
  public String toString() {
    return mip();
  }
}
