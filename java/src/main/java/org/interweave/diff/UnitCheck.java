package org.interweave.diff;

import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.types.Leaf;
import org.interweave.types.Plan;
import org.interweave.wire.Cursor;
import org.interweave.wire.LittleEndian;
import org.interweave.wire.WirePointer;

/** Checks values in travelling form (spec/format/wire-format.md), taking them off a cursor. */
public final class UnitCheck implements Plan.Visit {
  private final Cursor input;
  /** The length of the slot table. */
  private final int slots;

  public UnitCheck(Cursor input, int slots) {
    this.input = input;
    this.slots = slots;
  }

  @Override
  public void leaves(Leaf leaf, long at, long units) {
    switch (leaf.kind) {
      case PLAIN -> input.skip(leaf.width * units);
      case BOOL, ENUM -> checkNumbers(leaf, units);
      case POINTER, OWNED -> checkPointers(leaf, units);
      case STRING -> {
        if (!leaf.isLongString()) checkShortStrings((int) leaf.width, units);
        else for (long i = 0; i < units; ++i) checkLongString(leaf.width);
      }
      case UNION -> {
        for (long i = 0; i < units; ++i) checkUnion(leaf.choice);
      }
    }
  }

  /** Skips the numbers, because a number may have any value. */
  @Override
  public boolean repeated(Plan.Numbers numbers, int at, int stride, int times) {
    input.skip((long) numbers.wireBytes() * times);
    return true;
  }

  private void checkNumbers(Leaf leaf, long units) {
    for (int at = input.skip(4 * units); at < input.at(); at += 4) {
      Values.checkNumber(leaf, LittleEndian.getInt(input.bytes, at));
    }
  }

  private void checkPointers(Leaf leaf, long units) {
    int at = input.skip(WirePointer.BYTES * units);
    for (; at < input.at(); at += WirePointer.BYTES) {
      check(WirePointer.at(input.bytes, at), leaf.kind == Leaf.Kind.OWNED);
    }
  }

  /** [WIRE-6] */
  private void check(WirePointer pointer, boolean isOwned) {
    String wrong;
    if (pointer.isNull()) return;
    if (pointer.slot() > slots) {
      wrong = "slot " + pointer.slot() + " is not in the table of " + slots;
    } else if (pointer.serial() == 0) {
      wrong = "no block, but not NULL";
    } else if (isOwned && (pointer.slot() != 0 || pointer.offset() != 0)) {
      wrong = "an owned block lies in its own segment, offset 0";
    } else {
      return;
    }
    throw new InterweaveException(
        Error.BAD_POINTER,
        "a pointer (slot " + pointer.slot() + ", serial " + pointer.serial() + ", offset "
            + Long.toUnsignedString(pointer.offset()) + ") is refused: " + wrong);
  }

  private void checkShortStrings(int bound, long units) {
    byte[] bytes = input.bytes;
    int at = input.skip(bound * units);
    for (int end = input.at(); at < end; at += bound) {
      for (int i = at + 1; i < at + bound; ++i) {
        if (bytes[i - 1] != 0 || bytes[i] == 0) continue;
        throw Values.bad("bytes follow the end of a string");
      }
    }
  }

  private void checkLongString(long bound) {
    int length = LittleEndian.getShort(input.bytes, input.skip(2)) & 0xffff;
    if (length > bound) {
      throw Values.bad("a string of " + length + " bytes where " + bound + " is the most");
    }
    int at = input.skip(length);
    if (Values.endOfString(input.bytes, at, length) < at + length) {
      throw Values.bad("a NUL inside a string");
    }
  }

  private void checkUnion(Leaf.Choice choice) {
    Plan arm = Values.arm(choice, LittleEndian.getInt(input.bytes, input.skip(4)));
    if (arm != Plan.VOID) arm.walk(0, this);
  }
}
