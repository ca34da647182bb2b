package org.interweave.client;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.interweave.Interface.Connection;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;

/** What the library told this program of one segment: `listen` and `told` of the agent. */
final class Listening {
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition heard = lock.newCondition();
  private long newest;
  private String connection = "";

  Listening(Segment segment) {
    segment.onChange(Runnable::run, this::versionIs);
    segment.onConnection(Runnable::run, this::connectionIs);
  }

  private void versionIs(long version) {
    lock.lock();
    try {
      newest = version;
      heard.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void connectionIs(Connection state) {
    lock.lock();
    try {
      connection = state.name().toLowerCase();
      heard.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Waits for a version that is at least `what`, or for the connection to be in that state. */
  String told(String what, double seconds) {
    boolean isVersion = Character.isDigit(what.charAt(0));
    long left = ConformanceAgent.seconds(seconds).toNanos();
    lock.lock();
    try {
      while (isVersion ? newest < Long.parseLong(what) : !connection.equals(what)) {
        if (connection.equals("lost")) {
          throw InterweaveException.of(Error.SEGMENT_LOST, "the library said so");
        }
        if (left <= 0) throw InterweaveException.of(Error.TIMED_OUT, "not told");
        left = heard.awaitNanos(left);
      }
      return isVersion ? Long.toString(newest) : "";
    } catch (InterruptedException nobodys) {
      throw new IllegalStateException(nobodys);
    } finally {
      lock.unlock();
    }
  }
}
