package org.interweave.client;

import java.util.List;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.types.Type;

/**
 * A writer lock. `release` makes the changes a version. A lock that is closed without a release, as
 * by an exception, undoes the changes, and says so with ROLLED_BACK if there were any.
 */
public final class WriteLock implements AutoCloseable {
  private final Segment segment;
  private final SegmentLocks locks;
  private final Writing writing;
  private boolean isOver;

  WriteLock(Segment segment, SegmentLocks locks, Writing writing) {
    this.segment = segment;
    this.locks = locks;
    this.writing = writing;
  }

  /**
   * A block by its name. NO_BLOCK if there is none.
   *
   * @param block its name
   * @return a view of its value
   */
  public Value value(String block) {
    return segment.value(block);
  }

  /**
   * A block by its serial. NO_BLOCK if there is none.
   *
   * @param serial its number in the segment
   * @return a view of its value
   */
  public Value value(long serial) {
    return segment.value(serial);
  }

  /**
   * All blocks, those that sequences own among them.
   *
   * @return views of their values
   */
  public List<Value> values() {
    return segment.values();
  }

  /**
   * A new block, all zeros.
   *
   * @param type the name of a type of the segment, or of a primitive
   * @param count how many elements
   * @param name "" for none
   * @return a view of its value
   */
  public Value allocate(String type, long count, String name) {
    return allocate(segment.type(type), count, name);
  }

  /**
   * A new block, all zeros, of a declared type, which the segment gets if it lacks it.
   *
   * @param type as declared in the program
   * @param count how many elements
   * @param name "" for none
   * @return a view of its value
   */
  public Value allocate(Types type, long count, String name) {
    return allocate(segment.type(type.declared()), count, name);
  }

  private Value allocate(Type type, long count, String name) {
    return Value.of(segment, segment.allocate(type, count, name));
  }

  /**
   * Frees a block and all that it owns.
   *
   * @param value a view of the block
   */
  public void free(Value value) {
    value.checkReadable();
    if (value.segment != segment) {
      throw InterweaveException.of(
          Error.BAD_ARGUMENT, value + " is not in " + segment.url());
    }
    segment.changes().free(value.block);
  }

  /**
   * Makes the changes a version. After STORE_FULL and TIMED_OUT the lock is still held, and the
   * release may be tried again; after any other error the changes are undone.
   *
   * @return the version; the one before if nothing was changed
   */
  public long release() {
    if (isOver) throw givenBack();
    boolean isDone = true;
    try {
      return locks.release(writing);
    } catch (InterweaveException wrong) {
      isDone = !isUnderWay();
      throw wrong;
    } finally {
      isOver = isDone;
    }
  }

  boolean isUnderWay() {
    return locks.isUnderWay(writing);
  }

  private InterweaveException givenBack() {
    return InterweaveException.of(
        Error.NO_LOCK, segment.url() + ": the writer lock was given back");
  }

  /** Undoes the changes and gives the lock back. */
  public void abort() {
    if (isOver) return;
    isOver = true;
    locks.abort(writing);
  }

  /** Undoes the changes if the lock was neither released nor aborted. */
  @Override
  public void close() {
    if (isOver) return;
    isOver = true;
    if (locks.closeUnreleased(writing)) {
      throw InterweaveException.of(
          Error.ROLLED_BACK,
          segment.url() + ": the writer lock was closed without release(), and its changes were"
              + " undone");
    }
  }
}
