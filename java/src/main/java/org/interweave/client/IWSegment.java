package org.interweave.client;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.interweave.IWObject;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Space;
import org.interweave.IW_Types;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.objects.ObjectMap;

/**
 * A segment as Figure 2 of the paper has it, over {@link Segment} and the program's shared client.
 * The locks belong to the calling thread. Their methods return 0, or the negative number of an
 * {@link Error}.
 *
 * <pre>{@code
 * IWSegment seg = new IWSegment(url);
 * seg.wl_acquire();
 * MyType myobj = new MyType(seg, blkname);
 * myobj.field = 7;
 * seg.wl_release();
 * }</pre>
 */
public class IWSegment implements IW_Space, AutoCloseable {
  private static final ThreadLocal<String> FAILURE = new ThreadLocal<>();

  private final Segment segment;
  private final ReentrantLock guard = new ReentrantLock();
  /** The locks of each thread, the last one first. */
  private final Map<Thread, Deque<SegmentLock>> held = new HashMap<>();

  /**
   * Opens a segment, and makes it if it does not exist.
   *
   * @param URL iw://host:port/path, iws://host:port/path, or unix:FILE:/path
   */
  public IWSegment(String URL) {
    this(URL, Boolean.TRUE);
  }

  /**
   * Opens a segment.
   *
   * @param URL iw://host:port/path, iws://host:port/path, or unix:FILE:/path
   * @param iscreate whether to make it if it does not exist; otherwise NO_SEGMENT
   */
  public IWSegment(String URL, Boolean iscreate) {
    OpenOptions options = OpenOptions.DEFAULT;
    segment = Client.shared().open(URL, iscreate ? options : options.existing());
    // The paper's programs close nothing, and reach a segment by its URL alone.
    segment.keepOpen();
  }

  /**
   * The segment, with exceptions for errors.
   *
   * @return the same object for all that open the URL
   */
  public Segment segment() {
    return segment;
  }

  // ---- for all segments ----

  /**
   * Makes a class known to the library. Generated classes do so by themselves when they are first
   * used. A class that was written by hand is described by reflection: it extends IW_Object, its
   * shared fields have an {@link org.interweave.IW_Field}, and it has the constructors (IW_Space,
   * String) and (IW_Place) of generated classes. Classes that its pointers lead to are registered
   * with it.
   *
   * @param type the class
   * @return 0, or the number of UNKNOWN_TYPE, or of BAD_ARGUMENT if a field cannot be shared
   */
  public static int RegisterClass(Class<?> type) {
    try {
      if (ObjectMap.register(type)) return 0;
      return failed(
          InterweaveException.of(Error.UNKNOWN_TYPE, type.getName() + " is not an IW_Object"));
    } catch (InterweaveException wrong) {
      return failed(wrong);
    }
  }

  /**
   * Where a machine-independent pointer leads, as {@link Client#at} says.
   *
   * @param mip url#block or url#block#unit
   * @return an object; of a block of a single number its wrapper, as Integer; null if the pointer
   *     leads nowhere
   */
  public static Object mip_to_ptr(String mip) {
    try {
      return Client.shared().at(mip);
    } catch (InterweaveException wrong) {
      if (wrong.code() == Error.NO_BLOCK || wrong.code() == Error.NO_SEGMENT) return null;
      throw wrong;
    }
  }

  /**
   * The machine-independent pointer to an object.
   *
   * @param obj of a generated class
   * @return url#block or url#block#unit
   */
  public static String ptr_to_mip(IWObject obj) {
    return ((IW_Object) obj).iw_mip();
  }

  // ---- locks ----

  /**
   * Takes the writer lock, and waits for it.
   *
   * @return 0, or the number of an error
   */
  public int wl_acquire() {
    try {
      return keep(segment.write());
    } catch (InterweaveException wrong) {
      return failed(wrong);
    }
  }

  /**
   * Makes the changes a version, and gives the writer lock back.
   *
   * @return 0, or the number of an error. After STORE_FULL, STORE_ALONE, STORE_AWAY, TIMED_OUT,
   *     TOO_LARGE, and an error in a value of the program, the lock is still held. After any other
   *     error the changes are undone.
   */
  public int wl_release() {
    SegmentLock lock = last();
    if (!(lock instanceof WriteLock writing)) return noLock();
    try {
      writing.release();
    } catch (InterweaveException wrong) {
      if (writing.isOver()) drop();
      return failed(wrong);
    }
    drop();
    return 0;
  }

  /**
   * Undoes the changes, and gives the writer lock back.
   *
   * @return 0, or the number of an error
   */
  public int wl_abort() {
    SegmentLock lock = last();
    if (!(lock instanceof WriteLock writing)) return noLock();
    drop();
    writing.abort();
    return 0;
  }

  /**
   * Takes a reader lock.
   *
   * @return 0, or the number of an error
   */
  public int rl_acquire() {
    try {
      return keep(segment.read());
    } catch (InterweaveException wrong) {
      return failed(wrong);
    }
  }

  /**
   * Gives the reader lock back.
   *
   * @return 0, or the number of an error
   */
  public int rl_release() {
    SegmentLock lock = last();
    if (!(lock instanceof ReadLock)) return noLock();
    drop();
    lock.close();
    return 0;
  }

  /**
   * What the last failed lock method of the calling thread found.
   *
   * @return "" if none has failed
   */
  public static String IW_strerror() {
    String text = FAILURE.get();
    return text == null ? "" : text;
  }

  private static int failed(InterweaveException wrong) {
    FAILURE.set(wrong.getMessage());
    return wrong.code().number;
  }

  private int noLock() {
    return failed(
        InterweaveException.of(
            Error.NO_LOCK, segment.url() + ": the last lock of the thread is not of this kind"));
  }

  private int keep(SegmentLock lock) {
    guard.lock();
    try {
      Thread thread = Thread.currentThread();
      Deque<SegmentLock> own = held.get(thread);
      if (own == null) {
        own = new ArrayDeque<>();
        held.put(thread, own);
      }
      own.push(lock);
      return 0;
    } finally {
      guard.unlock();
    }
  }

  /** Of the calling thread; null: it has none. */
  private SegmentLock last() {
    guard.lock();
    try {
      Deque<SegmentLock> own = held.get(Thread.currentThread());
      return own == null ? null : own.peek();
    } finally {
      guard.unlock();
    }
  }

  private void drop() {
    guard.lock();
    try {
      Deque<SegmentLock> own = held.get(Thread.currentThread());
      own.pop();
      if (own.isEmpty()) held.remove(Thread.currentThread());
    } finally {
      guard.unlock();
    }
  }

  // ---- blocks ----

  /** For generated constructors, under the writer lock. */
  @Override
  public IW_Place allocate(IW_Object object, String name) {
    return segment.allocate(object, name);
  }

  /** Closes the segment. Changes that were not released are undone. */
  @Override
  public void close() {
    segment.close();
  }

  @Override
  public String toString() {
    return segment.toString();
  }
}
