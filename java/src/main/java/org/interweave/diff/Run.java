package org.interweave.diff;

import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.wire.Cursor;

/** Units of a block that a diff changes. */
public record Run(long first, long count) {
  public long end() {
    return first + count;
  }

  /**
   * Takes the next run's gap and count off a block's diff; `position` is the unit after the
   * previous run. Null at the end.
   */
  public static Run next(long units, long position, Cursor input) {
    if (input.isAtEnd()) return null;
    long gap = input.varint();
    long count = input.varint();
    if (count > 0 && gap <= units - position && count <= units - position - gap) {
      return new Run(position + gap, count);
    }
    throw new InterweaveException(
        Error.MALFORMED,
        "a run of " + count + " units, " + gap + " after unit " + position + ", in a block of "
            + units + " units");
  }
}
