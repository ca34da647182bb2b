package org.interweave.client;

/** A reader lock: the copy stays at one version until the lock is closed. */
public final class ReadLock extends SegmentLock {
  private final SegmentLocks locks;
  private final Object owner;
  private final boolean isStrict;
  /** Guarded by the link's lock. */
  private boolean isClosed;

  ReadLock(Segment segment, SegmentLocks locks, Object owner, boolean isStrict) {
    super(segment);
    this.locks = locks;
    this.owner = owner;
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

  Object owner() {
    return owner;
  }

  boolean isStrict() {
    return isStrict;
  }
}
