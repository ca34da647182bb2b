package org.interweave.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Space;
import org.interweave.Interface.Connection;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.coherence.Bound;
import org.interweave.coherence.Freshness;
import org.interweave.coherence.Knowledge;
import org.interweave.diff.Changes;
import org.interweave.diff.CopiedBlock;
import org.interweave.diff.Copy;
import org.interweave.objects.MappedBlocks;
import org.interweave.objects.ObjectMap;
import org.interweave.session.Conversation;
import org.interweave.types.Declared;
import org.interweave.types.Interning;
import org.interweave.types.Type;
import org.interweave.wire.SegmentUrl;

/**
 * One segment, open at its server, with this program's copy of it. All threads that open the
 * segment by one client share the copy. Values are read and written under locks:
 *
 * <pre>{@code
 * try (Segment list = Segment.open("iw://localhost/list");
 *     WriteLock lock = list.write()) {
 *   lock.value("head").field("key").set(7);
 *   lock.release();
 * }
 * }</pre>
 *
 * <p>A lock belongs to its object, which any thread may close. Safe for several threads.
 */
public final class Segment implements IW_Space, AutoCloseable {
  private final Client client;
  private final String url;
  private final String path;
  private final OpenOptions options;
  private final Link link;
  private final Copy copy;
  private final Exchange exchange;
  private final SegmentLocks locks;
  private final SegmentObjects objects;
  private final Opening opening;
  /** How often it was opened and not closed; the client guards it. */
  int openings;

  Segment(Client client, Link link, String url, String path, OpenOptions options) {
    this.client = client;
    this.link = link;
    this.url = url;
    this.path = path;
    this.options = options;
    copy = new Copy(options.maxBytes(), new MappedBlocks());
    opening = new Opening(this, client, link, url, path, options);
    exchange = opening.exchange;
    objects = new SegmentObjects(this, client);
    locks = new SegmentLocks(link, exchange, copy, this, client.gate);
  }

  /**
   * Opens a segment by the program's shared client, and makes it if it does not exist.
   *
   * @param url iw://host:port/path, iws://host:port/path, or unix:FILE:/path
   * @return the segment; the same object for each opening until it is closed as often
   */
  public static Segment open(String url) {
    return Client.shared().open(url, OpenOptions.DEFAULT);
  }

  /**
   * Opens a segment by the program's shared client.
   *
   * @param url iw://host:port/path, iws://host:port/path, or unix:FILE:/path
   * @param options the first opening's count, until the segment is closed
   * @return the segment
   */
  public static Segment open(String url, OpenOptions options) {
    return Client.shared().open(url, options);
  }

  /**
   * Opens a segment by the program's shared client, without waiting for it.
   *
   * @param url iw://host:port/path, iws://host:port/path, or unix:FILE:/path
   * @return as {@link Client#openAsync} says
   */
  public static CompletableFuture<Segment> openAsync(String url) {
    return Client.shared().openAsync(url, OpenOptions.DEFAULT);
  }

  void open() {
    link.lock.lock();
    try {
      exchange.open(deadline(options.timeout()), true, true);
    } finally {
      link.lock.unlock();
    }
  }

  /**
   * Closes the segment after as many calls as there were openings; a further call is NOT_OPEN. The
   * last one ends the locks of the calling thread, and waits until no other thread is inside of a
   * lock. TIMED_OUT says that this took longer than the segment's timeout; the segment is then
   * open.
   */
  @Override
  public void close() {
    client.close(this);
  }

  /** False: other threads are inside of locks. */
  boolean tryClose() {
    link.lock.lock();
    try {
      if (locks.hasOthers()) return false;
      closeNow();
      return true;
    } finally {
      link.lock.unlock();
    }
  }

  void awaitOthers(long deadline, boolean isInterruptible) {
    locks.awaitOthers(deadline, isInterruptible);
  }

  void closeNow() {
    link.lock.lock();
    try {
      locks.endOnClose();
      exchange.close();
      objects.close();
    } finally {
      link.lock.unlock();
    }
  }

  /** Lost or removed, and opened anew: what is here can be read until the last close [LOST-5]. */
  void retire() {
    link.lock.lock();
    try {
      exchange.retire();
    } finally {
      link.lock.unlock();
    }
  }

  private static long deadline(long timeout) {
    return Math.min(Clock.now() + timeout, Freshness.FOREVER);
  }

  // ---- what is known ----

  /**
   * The segment's name.
   *
   * @return its canonical URL
   */
  public String url() {
    return url;
  }

  /**
   * The version of the copy.
   *
   * @return 0 for the empty segment
   */
  public long version() {
    link.lock.lock();
    try {
      return conversation().state().have().number();
    } finally {
      link.lock.unlock();
    }
  }

  /**
   * The newest version that this program has heard of.
   *
   * @return its number
   */
  public long newestVersion() {
    link.lock.lock();
    try {
      return conversation().state().newest().number();
    } finally {
      link.lock.unlock();
    }
  }

  /**
   * The time since the copy is known to have been the newest [FRESH-6].
   *
   * @return null: it never was
   */
  public Duration staleness() {
    link.lock.lock();
    try {
      long confirmed = Freshness.confirmedAt(locks.knowledge());
      if (confirmed <= Freshness.NEVER) return null;
      return Duration.ofNanos(Math.max(0, Clock.now() - confirmed));
    } finally {
      link.lock.unlock();
    }
  }

  /**
   * Whether the segment is closed, removed or lost, so that no lock can be taken any more.
   *
   * @return true if so
   */
  public boolean isOver() {
    link.lock.lock();
    try {
      return conversation().isOver();
    } finally {
      link.lock.unlock();
    }
  }

  /**
   * What this segment has cost so far.
   *
   * @return the counts
   */
  public SegmentStats stats() {
    link.lock.lock();
    try {
      ObjectMap map = objects.known();
      return new SegmentStats(
          locks.localReads,
          locks.asked,
          locks.diffs,
          exchange.bytesReceived(),
          locks.releases,
          locks.bytesSent,
          exchange.messagesSent(),
          map == null ? 0 : map.unmarkedObjects(),
          map == null ? 0 : map.unmappedPointers());
    } finally {
      link.lock.unlock();
    }
  }

  // ---- coherence ----

  /**
   * How recent the copy must be for a reader. The next lock obeys it [COH-10].
   *
   * @param model FULL unless it is said otherwise
   */
  public void coherence(Coherence model) {
    link.lock.lock();
    try {
      opening.coherence(model);
    } finally {
      link.lock.unlock();
    }
  }

  Bound bound() {
    return opening.bound();
  }

  boolean isRecent(Knowledge known, long began, long now) {
    return opening.isRecent(known, began, now);
  }

  /** Subscribes if that is worth it. */
  void watch() {
    opening.watch();
  }

  /**
   * Calls back when there is a newer version, once for the newest one. After a lost connection is
   * made again, the call comes for what was missed. A segment with listeners stays open until it is
   * closed.
   *
   * @param executor runs the listener, which may take locks
   * @param listener is given the newest version's number
   */
  public void onChange(Executor executor, LongConsumer listener) {
    keepOpen();
    link.lock.lock();
    try {
      opening.listen(executor, listener);
    } finally {
      link.lock.unlock();
    }
  }

  /**
   * Calls back when the connection to the server is lost, when the segment is open on another one,
   * and when the segment is lost [CONN-3]. Of several changes since its last call the listener is
   * told the last.
   *
   * @param executor runs the listener, which may take locks
   * @param listener is given the connection's state
   */
  public void onConnection(Executor executor, Consumer<Connection> listener) {
    keepOpen();
    opening.listenToConnection(executor, listener);
  }

  /** Until it is closed, also if the program loses its locks. */
  void keepOpen() {
    opening.keep(this);
  }

  Opening opening() {
    return opening;
  }

  // ---- locks ----

  /**
   * Takes a reader lock on a copy that is as recent as the coherence model asks.
   *
   * @return the lock, to be closed
   */
  public ReadLock read() {
    return entered(locks.read(Thread.currentThread(), false, deadline(options.timeout())));
  }

  /**
   * Takes a reader lock.
   *
   * @param longest how long to wait, else TIMED_OUT
   * @return the lock, to be closed
   */
  public ReadLock read(Duration longest) {
    return entered(locks.read(Thread.currentThread(), false, deadline(longest.toNanos())));
  }

  /**
   * Takes a reader lock on the newest version, whatever the coherence model accepts.
   *
   * @return the lock, to be closed
   */
  public ReadLock readNewest() {
    return entered(locks.read(Thread.currentThread(), true, deadline(options.timeout())));
  }

  /**
   * Takes a reader lock on the newest version, whatever the coherence model accepts.
   *
   * @param longest how long to wait, else TIMED_OUT
   * @return the lock, to be closed
   */
  public ReadLock readNewest(Duration longest) {
    return entered(locks.read(Thread.currentThread(), true, deadline(longest.toNanos())));
  }

  /**
   * Takes the writer lock.
   *
   * @return the lock, to be released
   */
  public WriteLock write() {
    return entered(locks.write(Thread.currentThread(), deadline(options.timeout())));
  }

  /**
   * Takes the writer lock.
   *
   * @param longest how long to wait, else TIMED_OUT; zero: only if nobody has it
   * @return the lock, to be released
   */
  public WriteLock write(Duration longest) {
    return entered(locks.write(Thread.currentThread(), deadline(longest.toNanos())));
  }

  /**
   * Asks for a reader lock, without waiting for it, with the segment's timeout.
   *
   * @return as {@link #readAsync(Duration)} says
   */
  public CompletableFuture<ReadLock> readAsync() {
    return readAsync(Duration.ofNanos(options.timeout()));
  }

  /**
   * Asks for a reader lock, without waiting for it. The lock belongs to the future and to no
   * thread: any thread may close it, no lock is nested in it, and the last close of the segment
   * waits for it.
   *
   * <p>A future that is cancelled, or completed otherwise, gives the wait up. If the lock comes all
   * the same, the library gives the lock back. Stages that depend on the future run on a thread of
   * the library, and may wait.
   *
   * @param longest how long to wait, else TIMED_OUT
   * @return the lock, to be closed; fails as {@link #read(Duration)} would
   */
  public CompletableFuture<ReadLock> readAsync(Duration longest) {
    long deadline = deadline(longest.toNanos());
    return Waits.begin(
        () -> entered(locks.read(new Object(), false, deadline)), ReadLock::close);
  }

  /**
   * Asks for the writer lock, without waiting for it, with the segment's timeout.
   *
   * @return as {@link #writeAsync(Duration)} says
   */
  public CompletableFuture<WriteLock> writeAsync() {
    return writeAsync(Duration.ofNanos(options.timeout()));
  }

  /**
   * Asks for the writer lock, without waiting for it. What {@link #readAsync(Duration)} says of the
   * future and the lock's owner is true here, too: a second future waits for the release of the
   * first one's lock.
   *
   * @param longest how long to wait, else TIMED_OUT
   * @return the lock, to be released; fails as {@link #write(Duration)} would
   */
  public CompletableFuture<WriteLock> writeAsync(Duration longest) {
    long deadline = deadline(longest.toNanos());
    return Waits.begin(() -> entered(locks.write(new Object(), deadline)), WriteLock::abort);
  }

  /**
   * Takes the writer lock, calls the function and releases the lock. An exception of the function
   * undoes its changes.
   *
   * @param section what to do under the lock
   * @return the version that was made
   */
  public long write(Section section) {
    try (WriteLock lock = write()) {
      try {
        section.run(lock);
      } catch (RuntimeException | java.lang.Error wrong) {
        lock.abort();
        throw wrong;
      }
      return lock.release();
    }
  }

  /** What is done under a writer lock. */
  public interface Section {
    /**
     * Makes the changes.
     *
     * @param lock the writer lock
     */
    void run(WriteLock lock);
  }

  /** Gives the lock back if the objects cannot be made what the segments say now. */
  private <T extends AutoCloseable> T entered(T lock) {
    boolean isDone = false;
    try {
      objects.entered();
      isDone = true;
      return lock;
    } finally {
      if (!isDone) giveBack(lock);
    }
  }

  private static void giveBack(AutoCloseable lock) {
    if (lock instanceof ReadLock reading) reading.close();
    else ((WriteLock) lock).abort();
  }

  /**
   * Fetches the newest version now, whatever the coherence model accepts. If the thread holds a
   * lock, the copy stays as it is.
   */
  public void refresh() {
    readNewest().close();
  }

  boolean isReadOnly() {
    return options.isReadOnly();
  }

  long timeoutDeadline() {
    return deadline(options.timeout());
  }

  // ---- for values and for objects over blocks ----

  Link link() {
    return link;
  }

  CopiedBlock block(String name) {
    checkReadable();
    CopiedBlock block = copy.block(name);
    if (block == null) throw noBlock("`" + name + "`");
    return block;
  }

  CopiedBlock block(long serial) {
    checkReadable();
    CopiedBlock block = copy.block(serial);
    if (block == null) throw noBlock(Long.toString(serial));
    return block;
  }

  List<Value> values() {
    checkReadable();
    List<Value> values = new ArrayList<>();
    for (CopiedBlock block : copy.blocks()) values.add(Value.of(this, block));
    return values;
  }

  private InterweaveException noBlock(String which) {
    return InterweaveException.of(
        Error.NO_BLOCK, url + " has no block " + which + " in version " + copy.version());
  }

  /** The canonical URL that a slot's text stands for. */
  String urlOf(String slot) {
    return slot.startsWith("/") ? server() + slot : SegmentUrl.canonical(slot);
  }

  /** The segment that a slot's text names. NOT_OPEN if this client does not have it open. */
  Segment neighbour(String slot) {
    String there = urlOf(slot);
    Segment found = client.opened(there);
    if (found != null) return found;
    throw InterweaveException.of(
        Error.NOT_OPEN, "a pointer leads into " + there + ": open that segment first");
  }

  private String server() {
    return url.substring(0, url.length() - path.length());
  }

  /** The text of the slot for pointers to a segment. */
  String slotTextOf(String there) {
    String prefix = server() + "/";
    return there.startsWith(prefix) ? there.substring(prefix.length() - 1) : there;
  }

  /** The slot of this segment for pointers into another one. */
  int slotOf(Segment other) {
    return other == this ? 0 : changes().slotOf(slotTextOf(other.url));
  }

  private Conversation conversation() {
    return exchange.conversation;
  }

  /** For the holder of a lock. */
  Copy copy() {
    return copy;
  }

  SegmentObjects objects() {
    return objects;
  }

  Shown shown() {
    return new Shown(this);
  }

  /** For generated constructors, as in `new node(segment, "head")`, under the writer lock. */
  @Override
  public IW_Place allocate(IW_Object object, String name) {
    changes();
    return objects.map().allocate(object, name);
  }

  /** The changes of the writer section under way. NO_LOCK without one. */
  Changes changes() {
    return locks.writing().changes;
  }

  /** Before a store into memory that a program makes by a view. */
  void touch(CopiedBlock block) {
    Changes changes = changes();
    if (block.isMapped()) {
      throw InterweaveException.of(
          Error.BAD_ARGUMENT,
          url + "#" + block.serial + " has objects of a generated class in this program, which a"
              + " release compares with it: store into their fields");
    }
    changes.touch(block);
  }

  void checkReadable() {
    locks.checkReadable();
  }

  void moreSerials() {
    link.lock.lock();
    try {
      locks.writing().moreSerials(timeoutDeadline());
    } finally {
      link.lock.unlock();
    }
  }

  /** A new block under the writer lock, all zeros; `name` is "" for none. */
  CopiedBlock allocate(Type type, long count, String name) {
    Changes changes = changes();
    if (changes.serialsLeft() <= 0) moreSerials();
    client.gate.lock();
    try {
      return changes.allocate(type, count, name);
    } finally {
      client.gate.unlock();
    }
  }

  void free(CopiedBlock block) {
    client.gate.lock();
    try {
      changes().free(block);
    } finally {
      client.gate.unlock();
    }
  }

  /** The segment's type of that name. UNKNOWN_TYPE if there is none. */
  Type type(String name) {
    Type type = copy.types().byName(name);
    if (type != null) return type;
    throw InterweaveException.of(Error.UNKNOWN_TYPE, url + " has no type `" + name + "`");
  }

  /** The segment's type that is the declared one; under the writer lock it is added. */
  Type type(Declared declared) {
    Interning interning = new Interning(copy.types(), declared);
    long serial = interning.serial();
    if (!interning.missing().isEmpty()) changes().addTypes(interning.missing());
    return copy.types().get(serial);
  }

  @Override
  public String toString() {
    return "Segment " + url + ", version " + version();
  }
}
