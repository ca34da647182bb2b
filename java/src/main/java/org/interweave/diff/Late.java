package org.interweave.diff;

import java.util.ArrayList;
import java.util.List;

/**
 * Bytes of a block that lie in a diff so far: those from `begin` up to `end` of its memory are
 * those of `from` from `at` on. Nothing else of the memory is old. A row of numbers that is sent or
 * that comes whole is so copied once, between the diff and the array of the program, and memory
 * gets it when somebody looks.
 */
record Late(byte[] from, int at, int begin, int end, Room room) {
  boolean covers(int first, int last) {
    return begin <= first && end >= last;
  }

  void settle(byte[] memory) {
    System.arraycopy(from, at, memory, begin, end - begin);
    left();
  }

  /** The block does not need the diff any more. */
  void left() {
    if (room != null) room.left(end - begin);
  }

  /** A diff of this copy, whose array serves again once no block needs it. */
  static final class Room {
    private final DiffArrays arrays;
    private final byte[] array;
    private final List<CopiedBlock> blocks = new ArrayList<>(1);
    /** How many bytes of blocks lie here. */
    private int used;
    private boolean mayServeAgain;

    Room(DiffArrays arrays, byte[] array) {
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

    /** Nobody but blocks of the copy has the array. */
    synchronized void isReturned() {
      mayServeAgain = true;
      giveBack();
    }

    private void giveBack() {
      if (used == 0 && mayServeAgain) arrays.keep(array);
    }

    /**
     * Whether much of the diff is of blocks that lie there. Otherwise they leave: a few rows would
     * keep diffs many times as large as they are.
     */
    boolean isWorthIt() {
      if (isMuchUsed()) return true;
      // Not with the room's lock, because another thread may hold that of a block.
      for (CopiedBlock each : blocks) each.leave(this);
      return false;
    }

    private synchronized boolean isMuchUsed() {
      return 4L * used >= array.length;
    }
  }
}
