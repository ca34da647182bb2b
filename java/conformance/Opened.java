package org.interweave.client;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;

/** A segment that the agent has open, with the locks that the agent holds. */
final class Opened {
  final Segment segment;
  private final Deque<ReadLock> reads = new ArrayDeque<>();
  private final Deque<WriteLock> writes = new ArrayDeque<>();
  private Listening listening;

  Opened(Segment segment) {
    this.segment = segment;
  }

  boolean isLocked() {
    return !reads.isEmpty() || !writes.isEmpty();
  }

  void read(Duration longest, boolean isFresh) {
    if (longest == null) reads.push(segment.read());
    else reads.push(isFresh ? segment.readNewest(longest) : segment.read(longest));
  }

  void write(Duration longest) {
    writes.push(longest == null ? segment.write() : segment.write(longest));
  }

  void releaseReader() {
    if (reads.isEmpty()) throw noLock();
    reads.pop().close();
  }

  /** A refused release leaves the lock to the agent, as it does to a program. */
  void releaseWriter() {
    if (writes.isEmpty()) throw noLock();
    WriteLock lock = writes.peek();
    try {
      lock.release();
      writes.pop();
    } catch (InterweaveException refused) {
      if (!lock.isUnderWay()) writes.clear();
      throw refused;
    }
  }

  void abort() {
    if (writes.isEmpty()) throw noLock();
    writes.peek().abort();
    writes.clear();
  }

  private InterweaveException noLock() {
    return InterweaveException.of(Error.NO_LOCK, segment.url() + ": the agent has no such lock");
  }

  String listen() {
    listening = new Listening(segment);
    return "";
  }

  String told(String what, double seconds) {
    if (listening == null) throw new IllegalArgumentException("the segment has no listener");
    return listening.told(what, seconds);
  }
}
