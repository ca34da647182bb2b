package org.interweave.client;

import java.util.List;

/** A reader lock: the copy stays at one version until the lock is closed. */
public final class ReadLock implements AutoCloseable {
  private final Segment segment;
  private final SegmentLocks locks;
  private final Thread thread;
  private final boolean isStrict;
  /** Guarded by the link's lock. */
  private boolean isClosed;

  ReadLock(Segment segment, SegmentLocks locks, Thread thread, boolean isStrict) {
    this.segment = segment;
    this.locks = locks;
    this.thread = thread;
    this.isStrict = isStrict;
  }

  /**
   * The version of the copy.
   *
   * @return its number
   */
  public long version() {
    return segment.copy().version();
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

  /** Gives the lock back. A second call does nothing. */
  @Override
  public void close() {
    locks.leave(this);
  }

  /** Whether this is the first call, under the link's lock. */
  boolean closes() {
    if (isClosed) return false;
    isClosed = true;
    return true;
  }

  Thread thread() {
    return thread;
  }

  boolean isStrict() {
    return isStrict;
  }
}
