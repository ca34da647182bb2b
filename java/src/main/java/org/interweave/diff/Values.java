package org.interweave.diff;

import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.types.Leaf;
import org.interweave.types.Plan;
import org.interweave.wire.LittleEndian;

/** What values may be [WIRE-4], whether they come from the wire or from memory. */
public final class Values {
  /** A one in each byte. */
  private static final long ONES = 0x0101010101010101L;

  private Values() {}

  static InterweaveException bad(String text) {
    return new InterweaveException(Error.BAD_VALUE, text);
  }

  static void checkNumber(Leaf leaf, int value) {
    if (leaf.allows(value)) return;
    if (leaf.kind == Leaf.Kind.BOOL) throw bad("a bool is " + value + ", not 0 or 1");
    throw bad(value + " is not a member of its enum");
  }

  /** The arm that a discriminant selects; VOID also for memory that was never written. */
  static Plan arm(Leaf.Choice choice, int discriminant) {
    checkNumber(choice.discriminant(), discriminant);
    Plan arm = choice.selected(discriminant);
    if (arm != null) return arm;
    if (discriminant != 0) throw bad("a union has no arm for " + discriminant);
    return Plan.VOID;
  }

  /** The end of a string of at most that bound. Eight bytes are looked at together. */
  public static int endOfString(byte[] memory, int at, long bound) {
    int end = (int) (at + bound);
    int i = at;
    for (; i <= end - Long.BYTES; i += Long.BYTES) {
      long word = LittleEndian.getLong(memory, i);
      // The lowest bit that is left belongs to the first zero.
      long zeros = (word - ONES) & ~word & (ONES << 7);
      if (zeros != 0) return i + (Long.numberOfTrailingZeros(zeros) >> 3);
    }
    for (; i < end; ++i) {
      if (memory[i] == 0) return i;
    }
    return end;
  }
}
