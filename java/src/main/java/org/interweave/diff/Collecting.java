package org.interweave.diff;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.interweave.types.Leaf;
import org.interweave.types.Plan;
import org.interweave.wire.ByteWriter;

/**
 * Finds the runs of units in which a block differs from its pristine copy, and writes them as a
 * diff has them. `Arrays.mismatch` finds where a run begins, because most of a block is unchanged.
 */
final class Collecting implements Plan.Visit {
  private final CopiedBlock block;
  private final ByteWriter out;
  /** What is compared, in the order of the places; null: all. */
  private final Iterator<Stretches.Stretch> stretches;
  /** The stretch at hand; null: none is left. */
  private Stretches.Stretch stretch;
  /** The number of the unit at which the next call begins. */
  private long unit;
  /** Where the run at hand begins; -1: none. */
  private long first = -1;
  /** Where the last run ended. */
  private long end;
  /** The unit after those that were compared last. */
  private long compared;

  private Collecting(CopiedBlock block, Iterable<Stretches.Stretch> kept, ByteWriter out) {
    this.out = out;
    this.block = block;
    stretches = kept.iterator();
    nextStretch();
  }

  private void nextStretch() {
    stretch = stretches.hasNext() ? stretches.next() : null;
  }

  /**
   * Appends the runs in which the memory differs from `pristine`, which may be longer. Whether
   * there are any.
   */
  static boolean changed(CopiedBlock block, byte[] pristine, ByteWriter out) {
    int length = block.memory.length;
    if (Arrays.equals(block.memory, 0, length, pristine, 0, length)) return false;
    return changed(block, List.of(new Stretches.Stretch(0, pristine)), out);
  }

  /** The same of what was kept; the rest of the block did not change. */
  static boolean changed(CopiedBlock block, Stretches kept, ByteWriter out) {
    return kept.differFrom(block.memory) && changed(block, kept.inOrder(), out);
  }

  private static boolean changed(
      CopiedBlock block, Iterable<Stretches.Stretch> kept, ByteWriter out) {
    int before = out.length();
    Collecting collecting = new Collecting(block, kept, out);
    block.plan().walk(0, collecting);
    collecting.finishRun(collecting.compared);
    return out.length() > before;
  }

  /** Appends all units as one run. */
  static boolean whole(CopiedBlock block, ByteWriter out) {
    Collecting collecting = new Collecting(block, List.of(), out);
    collecting.first = 0;
    collecting.finishRun(block.units());
    return true;
  }

  @Override
  public void leaves(Leaf leaf, long at, long units) {
    int width = (int) leaf.width;
    int begin = (int) at;
    int bound = (int) (begin + width * units);
    while (stretch != null && stretch.begin() < bound) {
      int from = Math.max(begin, stretch.begin());
      int to = Math.min(bound, stretch.end());
      if (from < to) compare(from, to, width, unit + (from - begin) / width);
      if (stretch.end() > bound) break;
      nextStretch();
    }
    unit += units;
  }

  /** Bytes of one stretch, of which the first are the unit `number`. */
  private void compare(int from, int bound, int width, long number) {
    byte[] pristine = stretch.bytes();
    int shift = stretch.begin();
    if (number != compared) finishRun(compared);
    compared = number + (bound - from) / width;
    int place = from;
    while (place < bound) {
      if (first < 0) {
        int same =
            Arrays.mismatch(
                block.memory, place, bound, pristine, place - shift, bound - shift);
        if (same < 0) return;
        place += same / width * width;
        first = number + (place - from) / width;
      }
      place = nextEqual(place, bound, width, pristine, shift);
      if (place < bound) finishRun(number + (place - from) / width);
    }
  }

  /** Where the first unit from `place` on lies that did not change; `bound` if all did. */
  private int nextEqual(int place, int bound, int width, byte[] pristine, int shift) {
    return switch (width) {
      case 1 -> nextEqualByte(place, bound, pristine, shift);
      case 4 -> nextEqualInt(place, bound, pristine, shift);
      case 8 -> nextEqualLong(place, bound, pristine, shift);
      default -> nextEqualUnit(place, bound, width, pristine, shift);
    };
  }

  private int nextEqualByte(int place, int bound, byte[] pristine, int shift) {
    byte[] memory = block.memory;
    for (int at = place; at < bound; ++at) if (memory[at] == pristine[at - shift]) return at;
    return bound;
  }

  private int nextEqualInt(int place, int bound, byte[] pristine, int shift) {
    ByteBuffer memory = ByteBuffer.wrap(block.memory).order(ByteOrder.nativeOrder());
    ByteBuffer before = ByteBuffer.wrap(pristine).order(ByteOrder.nativeOrder());
    for (int at = place; at < bound; at += 4) {
      if (memory.getInt(at) == before.getInt(at - shift)) return at;
    }
    return bound;
  }

  private int nextEqualLong(int place, int bound, byte[] pristine, int shift) {
    ByteBuffer memory = ByteBuffer.wrap(block.memory).order(ByteOrder.nativeOrder());
    ByteBuffer before = ByteBuffer.wrap(pristine).order(ByteOrder.nativeOrder());
    for (int at = place; at < bound; at += 8) {
      if (memory.getLong(at) == before.getLong(at - shift)) return at;
    }
    return bound;
  }

  private int nextEqualUnit(int place, int bound, int width, byte[] pristine, int shift) {
    byte[] memory = block.memory;
    int at = place;
    while (at < bound) {
      int before = at - shift;
      if (Arrays.equals(memory, at, at + width, pristine, before, before + width)) return at;
      at += width;
    }
    return bound;
  }

  private void finishRun(long next) {
    if (first < 0) return;
    out.varint(first - end);
    out.varint(next - first);
    block.plan().walk(first, next - first, 0, new UnitCollecting(block.memory, out));
    end = next;
    first = -1;
  }
}
