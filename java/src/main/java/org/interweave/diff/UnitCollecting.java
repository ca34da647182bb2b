package org.interweave.diff;

import org.interweave.types.Leaf;
import org.interweave.types.Plan;
import org.interweave.wire.ByteWriter;
import org.interweave.wire.LittleEndian;

/**
 * Appends values of memory in travelling form; one that is not a value is BAD_VALUE. Long rows are
 * lent: the memory stays as it is until the bytes are finished.
 */
public final class UnitCollecting implements Plan.Visit {
  /** More room is not asked for before it is needed, because strings may be short. */
  private static final long MUCH = 1 << 20;

  private final byte[] memory;
  private final ByteWriter out;

  public UnitCollecting(byte[] memory, ByteWriter out) {
    this.memory = memory;
    this.out = out;
  }

  @Override
  public void leaves(Leaf leaf, long at, long units) {
    if (leaf.kind == Leaf.Kind.UNION) {
      for (long i = 0; i < units; ++i) collectUnion(leaf.choice, (int) (at + i * leaf.width));
    } else if (leaf.isLongString()) {
      if (units > 1) out.expect(Math.min(units * (leaf.width + 2), MUCH));
      for (long i = 0; i < units; ++i) collectString((int) (at + i * leaf.width), leaf.width);
    } else {
      if (leaf.kind == Leaf.Kind.BOOL || leaf.kind == Leaf.Kind.ENUM) {
        for (long i = 0; i < units; ++i) {
          Values.checkNumber(leaf, LittleEndian.getInt(memory, (int) (at + 4 * i)));
        }
      }
      out.lend(memory, (int) at, (int) (leaf.width * units));
    }
  }

  @Override
  public boolean repeated(Plan.Numbers numbers, int at, int stride, int times) {
    int[] place = numbers.at();
    int[] bytes = numbers.bytes();
    int count = Math.multiplyExact(numbers.wireBytes(), times);
    int to = out.claim(count);
    byte[] written = out.claimed();
    int from = at;
    for (int i = 0; i < times; ++i) {
      for (int group = 0; group < place.length; ++group) {
        LittleEndian.copy(memory, from + place[group], written, to, bytes[group]);
        to += bytes[group];
      }
      from += stride;
    }
    return true;
  }

  private void collectString(int at, long width) {
    int length = Values.endOfString(memory, at, width) - at;
    out.put(length);
    out.put(length >> 8);
    out.put(memory, at, length);
  }

  private void collectUnion(Leaf.Choice choice, int at) {
    out.put(memory, at, 4);
    Plan arm = Values.arm(choice, LittleEndian.getInt(memory, at));
    if (arm != Plan.VOID) arm.walk(at + choice.armAt(), this);
  }
}
