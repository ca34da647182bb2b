package org.interweave.client;

import java.util.concurrent.locks.ReentrantLock;

/**
 * The one clock of the client, in nanoseconds [FRESH-1]. It never goes back, and counts suspend.
 * The monotonic clock may stand still while the machine sleeps; the wall clock does not. A step of
 * the wall clock that is a second larger than that of the monotonic clock therefore counts. A wall
 * clock set forward makes copies seem older than they are, which is safe.
 *
 * <p>Reading the wall clock takes a third of a cached reader lock's time, so it is read at most
 * every 100 microseconds. A machine that wakes takes longer than that before programs run.
 */
final class Clock {
  private static final long MILLISECOND = 1_000_000;
  private static final long LEAST_STEP = 1_000 * MILLISECOND;
  private static final long COMPARING = 100_000;

  private static final ReentrantLock LOCK = new ReentrantLock();
  /** How far the wall clock was before the monotonic clock when last compared. */
  private static volatile long distance = distance(System.nanoTime());
  /** When the clocks were last compared. */
  private static volatile long compared = System.nanoTime();
  private static volatile long slept;

  private Clock() {}

  private static long distance(long monotonic) {
    return System.currentTimeMillis() * MILLISECOND - monotonic;
  }

  static long now() {
    long monotonic = System.nanoTime();
    if (monotonic - compared > COMPARING) compare(monotonic);
    return monotonic + slept;
  }

  private static void compare(long monotonic) {
    long found = distance(monotonic);
    if (Math.abs(found - distance) > LEAST_STEP) stepped(found);
    compared = monotonic;
  }

  private static void stepped(long found) {
    LOCK.lock();
    try {
      slept += Math.max(0, found - distance);
      distance = found;
    } finally {
      LOCK.unlock();
    }
  }
}
