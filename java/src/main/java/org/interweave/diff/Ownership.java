package org.interweave.diff;

import java.util.Collection;
import org.interweave.types.Leaf;
import org.interweave.types.Plan;
import org.interweave.wire.LittleEndian;
import org.interweave.wire.WirePointer;

/** Adds the serials of the blocks that the visited units own [WIRE-7]. */
public final class Ownership implements Plan.Visit {
  private final byte[] memory;
  private final Collection<Long> serials;

  public Ownership(byte[] memory, Collection<Long> serials) {
    this.memory = memory;
    this.serials = serials;
  }

  @Override
  public void leaves(Leaf leaf, long at, long units) {
    if (leaf.kind == Leaf.Kind.OWNED) {
      for (long i = 0; i < units; ++i) {
        long serial = WirePointer.at(memory, (int) (at + i * leaf.width)).serial();
        if (serial != 0) serials.add(serial);
      }
    } else if (leaf.kind == Leaf.Kind.UNION) {
      for (long i = 0; i < units; ++i) {
        int place = (int) (at + i * leaf.width);
        Plan arm = leaf.choice.selected(LittleEndian.getInt(memory, place));
        if (arm != null && arm != Plan.VOID) arm.walk(place + leaf.choice.armAt(), this);
      }
    }
  }
}
