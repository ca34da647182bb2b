package org.interweave.diff;

import java.lang.ref.SoftReference;
import java.util.HashMap;
import java.util.Map;

/**
 * The pristine copies of large blocks after their sections, for the next ones: fresh memory costs
 * three times as much as the copy. The collector takes them when memory is short.
 */
final class Spares {
  private final Map<Long, SoftReference<byte[]>> bySerial = new HashMap<>();

  /** Returns a copy of the block's memory. */
  byte[] copyOf(CopiedBlock block) {
    byte[] spare = take(block);
    if (spare == null) return block.memory().clone();
    System.arraycopy(block.memory(), 0, spare, 0, spare.length);
    return spare;
  }

  /** Takes the kept array of the block's length. Returns null if none is kept. */
  private byte[] take(CopiedBlock block) {
    SoftReference<byte[]> kept = block.isLarge() ? bySerial.remove(block.serial) : null;
    byte[] spare = kept == null ? null : kept.get();
    return spare == null || spare.length != block.length() ? null : spare;
  }

  /** Returns an array of the block's length. Its bytes have any values. */
  byte[] arrayFor(CopiedBlock block) {
    byte[] spare = take(block);
    return spare == null ? new byte[block.length()] : spare;
  }

  /** Keeps an array that the block needs no longer. */
  void keep(CopiedBlock block, byte[] array) {
    bySerial.put(block.serial, new SoftReference<>(array));
  }

  /** Ends the pristine copy of a block. */
  void keep(CopiedBlock block) {
    if (block.isLive() && block.isLarge()) keep(block, block.pristine());
    block.pristine(null);
  }

  void forget(CopiedBlock block) {
    if (block.isLarge()) bySerial.remove(block.serial);
  }
}
