package org.interweave.diff;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Iterator;
import org.interweave.types.Leaf;
import org.interweave.types.Plan;
import org.interweave.wire.ByteWriter;
import org.interweave.wire.LittleEndian;

/**
 * Finds the runs of units in which a block differs from its pristine copy, and writes them as a
 * diff has them. `Arrays.mismatch` finds where a run begins, because most of a block is unchanged.
 */
final class Collecting implements Plan.Visit {
  /** Smaller blocks are compared unit by unit at once. */
  private static final int SMALL = 64;

  private final byte[] memory;
  private final Plan plan;
  private final ByteWriter out;
  private final UnitCollecting values;
  /** The compared places, in order; null for the whole block. */
  private final Iterator<Stretches.Stretch> stretches;
  /** Whether a part of the pristine copy is left. */
  private boolean isLeft = true;
  /** The part of the pristine copy at hand, and which bytes of the block it was. */
  private byte[] pristine;
  private int begin;
  private int bound;
  /** The number of the unit at which the next call begins. */
  private long unit;
  /** Where the run at hand begins; -1: none. */
  private long first = -1;
  /** Where the last run ended. */
  private long end;
  /** The unit after those that were compared last. */
  private long compared;
  /** The number of units in the finished runs. */
  private long changed;

  private Collecting(
      CopiedBlock block, Iterator<Stretches.Stretch> stretches, ByteWriter out) {
    this.out = out;
    this.stretches = stretches;
    memory = block.memory();
    plan = block.plan();
    values = new UnitCollecting(memory, out);
  }

  private void nextStretch() {
    isLeft = stretches != null && stretches.hasNext();
    if (!isLeft) return;
    Stretches.Stretch next = stretches.next();
    pristine = next.bytes();
    begin = next.begin();
    bound = next.end();
  }

  /**
   * Appends the runs in which the memory differs from `pristine`, which may be longer. Returns
   * the number of their units.
   */
  static long changed(CopiedBlock block, byte[] pristine, ByteWriter out) {
    int length = block.length();
    boolean isSame =
        length > SMALL && Arrays.equals(block.memory(), 0, length, pristine, 0, length);
    if (isSame) return 0;
    Collecting collecting = new Collecting(block, null, out);
    collecting.pristine = pristine;
    collecting.bound = length;
    return collecting.collect();
  }

  /** The same of what was kept; the rest of the block did not change. */
  static long changed(CopiedBlock block, Stretches kept, ByteWriter out) {
    if (!kept.differFrom(block.memory())) return 0;
    Collecting collecting = new Collecting(block, kept.inOrder().iterator(), out);
    collecting.nextStretch();
    return collecting.collect();
  }

  private long collect() {
    plan.walk(0, this);
    finishRun(compared);
    return changed;
  }

  @Override
  public void leaves(Leaf leaf, long at, long units) {
    int width = (int) leaf.width;
    if (stretches == null && units == 1) {
      compareOne((int) at, width);
      return;
    }
    int start = (int) at;
    int after = (int) (start + width * units);
    while (isLeft && begin < after) {
      int from = Math.max(start, begin);
      int to = Math.min(after, bound);
      if (from < to) compare(from, to, width, unit + (from - start) / width);
      if (bound > after) break;
      nextStretch();
    }
    unit += units;
  }

  /** Compares the numbers. False: only stretches of the block are kept. */
  @Override
  public boolean repeated(Plan.Numbers numbers, int at, int stride, int times) {
    if (stretches != null) return false;
    int[] place = numbers.at();
    int[] bytes = numbers.bytes();
    int[] width = numbers.width();
    int to = at;
    for (int i = 0; i < times; ++i) {
      for (int group = 0; group < place.length; ++group) {
        int from = to + place[group];
        int until = from + bytes[group];
        for (int each = from; each < until; each += width[group]) compareOne(each, width[group]);
      }
      to += stride;
    }
    return true;
  }

  /** The unit at hand, of a block of which all is kept. */
  private void compareOne(int at, int width) {
    boolean isSame =
        switch (width) {
          case 4 -> LittleEndian.getInt(memory, at) == LittleEndian.getInt(pristine, at);
          case 8 -> LittleEndian.getLong(memory, at) == LittleEndian.getLong(pristine, at);
          default -> Arrays.equals(memory, at, at + width, pristine, at, at + width);
        };
    if (isSame) finishRun(unit);
    else if (first < 0) first = unit;
    compared = ++unit;
  }

  /** Bytes of one stretch, of which the first are the unit `number`. */
  private void compare(int from, int until, int width, long number) {
    if (number != compared) finishRun(compared);
    compared = number + (until - from) / width;
    int place = from;
    while (place < until) {
      if (first < 0) {
        int same =
            Arrays.mismatch(
                memory, place, until, pristine, place - begin, until - begin);
        if (same < 0) return;
        place += same / width * width;
        first = number + (place - from) / width;
      }
      place = nextEqual(place, until, width);
      if (place < until) finishRun(number + (place - from) / width);
    }
  }

  /** Where the first unit from `place` on lies that did not change; `until` if all did. */
  private int nextEqual(int place, int until, int width) {
    return switch (width) {
      case 1 -> nextEqualByte(place, until);
      case 4 -> nextEqualInt(place, until);
      case 8 -> nextEqualLong(place, until);
      default -> nextEqualUnit(place, until, width);
    };
  }

  private int nextEqualByte(int place, int until) {
    byte[] memory = this.memory;
    byte[] before = pristine;
    for (int at = place; at < until; ++at) if (memory[at] == before[at - begin]) return at;
    return until;
  }

  private int nextEqualInt(int place, int until) {
    ByteBuffer now = ByteBuffer.wrap(memory).order(ByteOrder.nativeOrder());
    ByteBuffer before = ByteBuffer.wrap(pristine).order(ByteOrder.nativeOrder());
    int shift = begin;
    int at = place;
    // Two units at once. They need no alignment.
    for (; at + 8 <= until; at += 8) {
      long differences = now.getLong(at) ^ before.getLong(at - shift);
      if ((int) differences == 0 || differences >>> 32 == 0) break;
    }
    for (; at < until; at += 4) {
      if (now.getInt(at) == before.getInt(at - shift)) return at;
    }
    return until;
  }

  private int nextEqualLong(int place, int until) {
    ByteBuffer now = ByteBuffer.wrap(memory).order(ByteOrder.nativeOrder());
    ByteBuffer before = ByteBuffer.wrap(pristine).order(ByteOrder.nativeOrder());
    int shift = begin;
    for (int at = place; at < until; at += 8) {
      if (now.getLong(at) == before.getLong(at - shift)) return at;
    }
    return until;
  }

  private int nextEqualUnit(int place, int until, int width) {
    int at = place;
    while (at < until) {
      int before = at - begin;
      if (Arrays.equals(memory, at, at + width, pristine, before, before + width)) return at;
      at += width;
    }
    return until;
  }

  private void finishRun(long next) {
    if (first < 0) return;
    out.varint(first - end);
    out.varint(next - first);
    plan.walk(first, next - first, 0, values);
    changed += next - first;
    end = next;
    first = -1;
  }
}
