package org.interweave.diff;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.interweave.types.Leaf;
import org.interweave.types.Plan;
import org.interweave.wire.ByteWriter;

/**
 * Finds the runs of units in which a block differs from its pristine copy, and writes them as a
 * diff has them. `Arrays.mismatch` finds where a run begins, because most of a block is unchanged.
 */
final class Collecting implements Plan.Visit {
  private final CopiedBlock block;
  private final byte[] pristine;
  private final ByteWriter out;
  /** The number of the unit at which the next call begins. */
  private long unit;
  /** Where the run at hand begins; -1: none. */
  private long first = -1;
  /** Where the last run ended. */
  private long end;

  private Collecting(CopiedBlock block, byte[] pristine, ByteWriter out) {
    this.out = out;
    this.block = block;
    this.pristine = pristine;
  }

  /**
   * Appends the runs in which the memory differs from `pristine`, which may be longer. Whether
   * there are any.
   */
  static boolean changed(CopiedBlock block, byte[] pristine, ByteWriter out) {
    int length = block.memory.length;
    if (Arrays.equals(block.memory, 0, length, pristine, 0, length)) return false;
    int before = out.length();
    Collecting collecting = new Collecting(block, pristine, out);
    block.plan().walk(0, collecting);
    collecting.finishRun(block.units());
    return out.length() > before;
  }

  /** Appends all units as one run. */
  static boolean whole(CopiedBlock block, ByteWriter out) {
    Collecting collecting = new Collecting(block, null, out);
    collecting.first = 0;
    collecting.finishRun(block.units());
    return true;
  }

  @Override
  public void leaves(Leaf leaf, long at, long units) {
    int width = (int) leaf.width;
    int begin = (int) at;
    int bound = (int) (begin + width * units);
    int place = begin;
    while (place < bound) {
      if (first < 0) {
        int same = Arrays.mismatch(block.memory, place, bound, pristine, place, bound);
        if (same < 0) break;
        place += same / width * width;
        first = unit + (place - begin) / width;
      }
      place = nextEqual(place, bound, width);
      if (place < bound) finishRun(unit + (place - begin) / width);
    }
    unit += units;
  }

  /** Where the first unit from `place` on lies that did not change; `bound` if all did. */
  private int nextEqual(int place, int bound, int width) {
    return switch (width) {
      case 1 -> nextEqualByte(place, bound);
      case 4 -> nextEqualInt(place, bound);
      case 8 -> nextEqualLong(place, bound);
      default -> nextEqualUnit(place, bound, width);
    };
  }

  private int nextEqualByte(int place, int bound) {
    byte[] memory = block.memory;
    for (int at = place; at < bound; ++at) if (memory[at] == pristine[at]) return at;
    return bound;
  }

  private int nextEqualInt(int place, int bound) {
    ByteBuffer memory = ByteBuffer.wrap(block.memory).order(ByteOrder.nativeOrder());
    ByteBuffer before = ByteBuffer.wrap(pristine).order(ByteOrder.nativeOrder());
    for (int at = place; at < bound; at += 4) {
      if (memory.getInt(at) == before.getInt(at)) return at;
    }
    return bound;
  }

  private int nextEqualLong(int place, int bound) {
    ByteBuffer memory = ByteBuffer.wrap(block.memory).order(ByteOrder.nativeOrder());
    ByteBuffer before = ByteBuffer.wrap(pristine).order(ByteOrder.nativeOrder());
    for (int at = place; at < bound; at += 8) {
      if (memory.getLong(at) == before.getLong(at)) return at;
    }
    return bound;
  }

  private int nextEqualUnit(int place, int bound, int width) {
    while (place < bound
        && !Arrays.equals(block.memory, place, place + width, pristine, place, place + width)) {
      place += width;
    }
    return place;
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
