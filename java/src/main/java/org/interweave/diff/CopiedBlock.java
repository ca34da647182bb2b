package org.interweave.diff;

import java.util.Arrays;
import org.interweave.types.Plan;
import org.interweave.types.Type;

/**
 * An array of `count` elements of one type, in the cached copy. A segment may have millions of
 * blocks, so there is nothing here that can be computed, and the room objects extends this class
 * instead of having an object more.
 */
public class CopiedBlock implements Numbered {
  /** Makes the blocks of a copy. A room that keeps more of each block makes its own. */
  public interface Maker {
    /** All zeros. */
    CopiedBlock make(long serial, Type type, long count, String name);
  }

  /** For a copy of which the program has no objects. */
  static final class Plain implements Maker {
    static final Plain MAKER = new Plain();

    @Override
    public CopiedBlock make(long serial, Type type, long count, String name) {
      return new CopiedBlock(serial, type, count, name);
    }
  }

  /** Whole copies of smaller blocks cost little, so nothing is kept to spare them. */
  static final int LARGE = 1 << 16;

  public final long serial;
  public final Type type;
  public final int count;
  /** "" for a block without a name. */
  public final String name;
  private byte[] memory;
  private boolean isLive = true;
  /**
   * The memory before the writer's first store, as an array; or the part of the block that lies in
   * a diff, as a `Late`. There are never both: a pristine copy is made from `memory()`, which ends
   * the `Late`.
   */
  private volatile Object beside;
  /** Made in the section under way. */
  boolean isNew;

  /** All zeros. */
  public CopiedBlock(long serial, Type type, long count, String name) {
    this.serial = serial;
    this.type = type;
    this.count = Math.toIntExact(count);
    // A name that was decoded is a string of its own.
    this.name = name.isEmpty() ? "" : name;
    memory = new byte[Math.toIntExact(type.size() * count)];
  }

  /** Most blocks have one element, and share the plan of their type. */
  static Plan planOf(Type type, long count) {
    return count == 1 ? type.plan() : type.plan().repeated(count, type.size());
  }

  /** Of all elements. */
  public Plan plan() {
    return planOf(type, count);
  }

  @Override
  public long serial() {
    return serial;
  }

  public long units() {
    return type.units() * count;
  }

  /** The number of bytes of the memory. */
  public int length() {
    return memory.length;
  }

  public boolean isLarge() {
    return length() >= LARGE;
  }

  /** Returns the block's bytes. Several readers may call it at once. */
  public byte[] memory() {
    if (beside instanceof Late) settle();
    return memory;
  }

  private synchronized void settle() {
    if (!(beside instanceof Late late)) return;
    late.settle(memory);
    beside = null;
  }

  /**
   * A place of some of the block's bytes: in `from`, from `at` on. The bytes there are right until
   * an update or a store changes the block. Another call may return another place before.
   */
  public record Bytes(byte[] from, int at) {}

  /** Returns the place of the block's bytes from `begin` up to `end`. */
  public Bytes bytes(int begin, int end) {
    if (beside instanceof Late late && late.covers(begin, end)) {
      return new Bytes(late.from(), late.at() + begin - late.begin());
    }
    return new Bytes(memory(), begin);
  }

  /** Takes a part of a diff as that part of the block. REQUIRES: the block has no pristine copy. */
  synchronized void late(Late is) {
    Late before = beside instanceof Late known ? known : null;
    if (before != null && is.covers(before.begin(), before.end())) before.left();
    else if (before != null) before.settle(memory);
    if (is.room() != null) is.room().used(this, is.end() - is.begin());
    beside = is;
  }

  /** Copies the block's part out of that diff, if it lies there. */
  synchronized void leave(Late.Room room) {
    if (beside instanceof Late late && late.room() == room) settle();
  }

  /** Makes an array the block's memory. Returns the array of before. */
  synchronized byte[] replace(byte[] by) {
    byte[] before = memory;
    if (beside instanceof Late late) late.left();
    memory = by;
    beside = null;
    return before;
  }

  /** Sets all bytes to zero, as in a new block. */
  synchronized void clear() {
    if (beside instanceof Late late) late.left();
    beside = null;
    Arrays.fill(memory, (byte) 0);
  }

  /** The memory before the writer's first store; null while no store is looked for. */
  byte[] pristine() {
    return beside instanceof byte[] kept ? kept : null;
  }

  /** Sets the pristine copy; null ends it. REQUIRES: `memory` was called before. */
  void pristine(byte[] is) {
    beside = is;
  }

  /** False after the block is freed. References to it then lead nowhere. */
  public boolean isLive() {
    return isLive;
  }

  /** Whether the program has objects of the block, which a release compares with it. */
  public boolean isMapped() {
    return false;
  }

  /** The section under way has freed the block. */
  protected void freed() {}

  void live(boolean is) {
    isLive = is;
  }
}
