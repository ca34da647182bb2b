package org.interweave.diff;

import java.util.ArrayList;
import java.util.List;

/**
 * Bytes of a block that lie in a diff: in `from`, from `at` on. They are the block's bytes from
 * `begin` up to `end`, and only there the block's memory is old. So a row of numbers that is sent
 * or comes whole is copied once, between the diff and the program's array. `CopiedBlock.memory`
 * copies the bytes into the memory.
 */
record Late(byte[] from, int at, int begin, int end, Room room) {
  boolean covers(int first, int last) {
    return begin <= first && end >= last;
  }

  void settle(byte[] memory) {
    System.arraycopy(from, at, memory, begin, end - begin);
    left();
  }

  /** Tells the room that the block needs the diff no longer. */
  void left() {
    if (room != null) room.left(end - begin);
  }

  /** A diff of this copy, whose array serves again once no block needs it. */
  static final class Room {
    private final SparePair<byte[]> arrays;
    private final byte[] array;
    private final List<CopiedBlock> blocks = new ArrayList<>(1);
    /** How many bytes of blocks lie here. */
    private int used;
    private boolean mayServeAgain;

    Room(SparePair<byte[]> arrays, byte[] array) {
      this.arrays = arrays;
      this.array = array;
    }

    synchronized void used(CopiedBlock block, int count) {
      blocks.add(block);
      used += count;
    }

    synchronized void left(int count) {
      used -= count;
      giveBack();
    }

    /** No connection has the array. It serves again once no block lies in it. */
    synchronized void isReturned() {
      mayServeAgain = true;
      giveBack();
    }

    private void giveBack() {
      if (used == 0 && mayServeAgain) arrays.keep(array);
    }

    /**
     * Whether blocks need much of the diff. If not, the blocks leave, because a few rows would keep
     * a diff many times as large as the rows.
     */
    boolean isWorthIt() {
      if (isMuchUsed()) return true;
      // Without the room's lock, because another thread may hold a block's and wait for the room's.
      for (CopiedBlock each : blocks) each.leave(this);
      return false;
    }

    private synchronized boolean isMuchUsed() {
      return 4L * used >= array.length;
    }
  }
}
