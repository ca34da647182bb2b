package org.interweave.client;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.interweave.IW_Elements;
import org.interweave.IW_Object;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.types.Type;

/**
 * A writer lock. `release` makes the changes a version. A lock that is closed without a release, as
 * by an exception, undoes the changes, and says so with ROLLED_BACK if there were any.
 */
public final class WriteLock extends SegmentLock {
  private final SegmentLocks locks;
  private final Writing writing;
  /** Given back, or a release is under way, which other threads then leave alone. */
  private final AtomicBoolean isOver = new AtomicBoolean();

  WriteLock(Segment segment, SegmentLocks locks, Writing writing) {
    super(segment);
    this.locks = locks;
    this.writing = writing;
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
   * A new block of several elements of a generated class, all zeros. `new node(segment, name)`
   * makes a block of one.
   *
   * @param <T> the class
   * @param type a generated class
   * @param count how many elements
   * @param name "" for none
   * @return the elements
   */
  public <T extends IW_Object> IW_Elements<T> allocate(Class<T> type, int count, String name) {
    segment.changes();
    return segment.objects().map().allocate(type, count, name);
  }

  /**
   * Frees an object's block and all that it owns. Setters, getters and pointers of its objects
   * throw NO_BLOCK from now on.
   *
   * @param object of this segment
   */
  public void free(IW_Object object) {
    segment.changes();
    segment.objects().map().free(object);
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
    segment.free(value.block);
  }

  /**
   * Makes the changes a version. The lock is still held after STORE_FULL, STORE_ALONE, STORE_AWAY,
   * TIMED_OUT and TOO_LARGE, and after an error of this program's values, as BAD_VALUE: the release
   * may be tried again. After TOO_LARGE it must be a smaller one. After any other error the changes
   * are undone.
   *
   * @return the version; the one before if nothing was changed
   */
  public long release() {
    if (isOver.getAndSet(true)) throw givenBack();
    boolean isDone = false;
    try {
      long version = locks.release(writing);
      isDone = true;
      return version;
    } finally {
      // Whatever was thrown, a section that is under way needs a lock that ends it.
      if (!isDone && isUnderWay()) isOver.set(false);
    }
  }

  /**
   * Makes the changes a version, without waiting for the server. The lock is given back whatever
   * becomes of the release: after any error the changes are undone. Store nothing until the future
   * is done. Cancelling the future does not stop the release. The segment's timeout is the
   * deadline. The next lock of the calling thread, and the last close of the segment, wait for the
   * release. A nested lock is given back at once, and the release is that of the last one.
   *
   * @return the version; fails as {@link #release} would
   */
  public CompletableFuture<Long> releaseAsync() {
    if (isOver.getAndSet(true)) return CompletableFuture.failedFuture(givenBack());
    return locks.releaseAsync(writing);
  }

  boolean isUnderWay() {
    return locks.isUnderWay(writing);
  }

  private InterweaveException givenBack() {
    return InterweaveException.of(
        Error.NO_LOCK, segment.url() + ": the writer lock was given back");
  }

  boolean isOver() {
    return isOver.get();
  }

  /** Undoes the changes and gives the lock back. */
  public void abort() {
    if (isOver.getAndSet(true)) return;
    locks.abort(writing);
  }

  /**
   * Undoes the changes if the lock was neither released nor aborted. Does nothing while another
   * thread releases the lock.
   */
  @Override
  public void close() {
    if (isOver.getAndSet(true)) return;
    if (locks.closeUnreleased(writing)) {
      throw InterweaveException.of(
          Error.ROLLED_BACK,
          segment.url() + ": the writer lock was closed without release(), and its changes were"
              + " undone");
    }
  }
}
