package org.interweave.diff;

import java.util.Arrays;
import org.interweave.types.Leaf;
import org.interweave.types.Plan;
import org.interweave.wire.Cursor;
import org.interweave.wire.LittleEndian;

/** Writes values, which `UnitCheck` found right, from travelling form into memory. */
public final class UnitPlacing implements Plan.Visit {
  private final Cursor input;
  private final byte[] memory;
  private long begin = Long.MAX_VALUE;
  private long end;

  public UnitPlacing(Cursor input, byte[] memory) {
    this.input = input;
    this.memory = memory;
  }

  /** The first byte that was written to; large if none was. */
  long begin() {
    return begin;
  }

  /** The byte after the last one that was written to. */
  long end() {
    return end;
  }

  @Override
  public void leaves(Leaf leaf, long at, long units) {
    if (at < begin) begin = at;
    if (at + units * leaf.width > end) end = at + units * leaf.width;
    if (leaf.kind == Leaf.Kind.UNION) {
      for (long i = 0; i < units; ++i) placeUnion(leaf, (int) (at + i * leaf.width));
    } else if (leaf.isLongString()) {
      for (long i = 0; i < units; ++i) placeString((int) (at + i * leaf.width), (int) leaf.width);
    } else {
      copy((int) at, leaf.width * units);
    }
  }

  @Override
  public boolean repeated(Plan.Numbers numbers, int at, int stride, int times) {
    int[] place = numbers.at();
    int[] bytes = numbers.bytes();
    int last = place.length - 1;
    int from = input.skip((long) numbers.wireBytes() * times);
    begin = Math.min(begin, at + place[0]);
    end = Math.max(end, at + (long) (times - 1) * stride + place[last] + bytes[last]);
    int to = at;
    for (int i = 0; i < times; ++i) {
      for (int group = 0; group <= last; ++group) {
        LittleEndian.copy(input.bytes, from, memory, to + place[group], bytes[group]);
        from += bytes[group];
      }
      to += stride;
    }
    return true;
  }

  private void copy(int at, long count) {
    int from = input.skip(count);
    LittleEndian.copy(input.bytes, from, memory, at, (int) count);
  }

  private void placeString(int at, int width) {
    int length = LittleEndian.getShort(input.bytes, input.skip(2)) & 0xffff;
    copy(at, length);
    Arrays.fill(memory, at + length, at + width, (byte) 0);
  }

  private void placeUnion(Leaf leaf, int at) {
    Arrays.fill(memory, at, (int) (at + leaf.width), (byte) 0);
    copy(at, 4);
    Plan arm = Values.arm(leaf.choice, LittleEndian.getInt(memory, at));
    if (arm != Plan.VOID) arm.walk(at + leaf.choice.armAt(), this);
  }
}
