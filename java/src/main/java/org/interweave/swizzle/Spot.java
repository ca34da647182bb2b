package org.interweave.swizzle;

import org.interweave.diff.CopiedBlock;
import org.interweave.types.Type;

/**
 * A value in a block's memory: where it lies, and how many of its type follow one another from
 * there, itself included.
 */
public record Spot(Type type, int at, long unit, long count) {
  /** The value at a unit; null: none of that type begins there. A null type: the outermost. */
  public static Spot find(CopiedBlock block, long unit, Type wanted) {
    if (unit < 0 || unit >= block.units()) return null;
    Spot spot = element(block.type, block.count, 0, 0, unit);
    while (spot != null) {
      boolean isThere = spot.unit == unit;
      if (isThere && (wanted == null || spot.type.isSameAs(wanted))) return spot;
      spot = spot.inside(unit);
    }
    return null;
  }

  private static Spot element(Type type, long count, int at, long begin, long unit) {
    long index = (unit - begin) / type.units();
    int place = (int) (at + index * type.size());
    return new Spot(type, place, begin + index * type.units(), count - index);
  }

  private Spot inside(long wanted) {
    if (type.element() != null) return element(type.element(), type.count(), at, unit, wanted);
    Type.Member found = null;
    for (Type.Member field : type.fields()) {
      if (unit + field.unit() <= wanted) found = field;
    }
    if (found == null) return null;
    return new Spot(found.type(), (int) (at + found.at()), unit + found.unit(), 1);
  }
}
