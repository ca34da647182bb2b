package org.interweave.client;

import java.util.concurrent.atomic.AtomicBoolean;

/** A reader lock: the copy stays at one version until the lock is closed. */
public final class ReadLock extends SegmentLock {
  private final SegmentLocks locks;
  private final Thread thread;
  private final boolean isStrict;
  private final AtomicBoolean isClosed = new AtomicBoolean();

  ReadLock(Segment segment, SegmentLocks locks, Thread thread, boolean isStrict) {
    super(segment);
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

  /** Gives the lock back. A second call does nothing. */
  @Override
  public void close() {
    if (isClosed.compareAndSet(false, true)) locks.leave(thread, isStrict);
  }
}
