package org.interweave.diff;

import java.lang.ref.SoftReference;
import org.interweave.wire.ByteWriter;

/**
 * Writers of large diffs that are finished, whose memory serves the next ones. The collector takes
 * them when memory is short.
 */
final class SpareWriters {
  /** Smaller writers are not kept. */
  private static final int LARGE = 1 << 16;
  private static final SoftReference<ByteWriter> NONE = new SoftReference<>(null);

  private SoftReference<ByteWriter> one = NONE;
  private SoftReference<ByteWriter> other = NONE;

  /** Returns an empty writer, which has the memory of a kept one if there is one. */
  ByteWriter take() {
    ByteWriter found = one.get();
    one = other;
    other = NONE;
    return found == null ? new ByteWriter() : found;
  }

  void keep(ByteWriter writer) {
    if (writer.room() < LARGE) return;
    writer.clear();
    other = one;
    one = new SoftReference<>(writer);
  }
}
