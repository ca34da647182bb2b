package org.interweave.diff;

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

  public final long serial;
  public final Type type;
  public final int count;
  /** "" for a block without a name. */
  public final String name;
  public final byte[] memory;
  private boolean isLive = true;
  /** The memory before the writer's first store; null while no store is looked for. */
  byte[] pristine;
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
