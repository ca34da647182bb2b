package org.interweave.client;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.interweave.Interface.Connection;
import org.interweave.coherence.Bound;
import org.interweave.coherence.Knowledge;

/**
 * What the library itself holds of an open segment. A segment without locks stays open until it is
 * closed, also if the program has no reference to it: pointers of other segments lead there, and
 * must not depend on when Java collects garbage. While locks are held, the library holds the
 * segment weakly, so that a lock is noticed which the program lost: it would keep others out for
 * ever. What the library has to know without the program is here: listeners, and how recent the
 * copy must be. The link's lock guards it.
 */
final class Opening extends WeakReference<Segment> implements Exchange.Listener {
  private static final ReferenceQueue<Segment> LOST = new ReferenceQueue<>();
  private static final boolean IS_TRACED = Boolean.getBoolean("interweave.openings");

  private record Listening(Executor executor, LongConsumer listener) {}

  final String url;
  final Link link;
  final Exchange exchange;
  private final Client client;
  /** Where the segment was opened first; null: nobody asked for that. */
  private final Throwable place;
  private final List<Listening> listeners = new CopyOnWriteArrayList<>();
  private final ConnectionNews news = new ConnectionNews();
  private Coherence coherence = Coherence.FULL;
  /** The newest version that listeners were told of. */
  private long toldVersion;
  /** Listeners were called for the removal, because their next lock fails [GONE-1]. */
  private boolean toldRemoval;
  /** The segment, if it must stay open without the program; null while locks are held. */
  private Segment kept;
  /** The segment stays open whatever locks the program loses. */
  private boolean outlivesLocks;

  Opening(
      Segment segment, Client client, Link link, String url, String path, OpenOptions options) {
    super(segment, LOST);
    kept = segment;
    this.client = client;
    this.link = link;
    this.url = url;
    place = IS_TRACED ? new Throwable("opened here") : null;
    exchange = new Exchange(link, path, options, this);
  }

  /** The segment stays open until it is closed, though the program may lose its locks. */
  void keep(Segment segment) {
    link.lock.lock();
    try {
      outlivesLocks = true;
      kept = segment;
    } finally {
      link.lock.unlock();
    }
  }

  /** With the link's lock: locks of the segment are held, or the last one was given back. */
  void locksAre(Segment segment, boolean areHeld) {
    kept = areHeld && !outlivesLocks ? null : segment;
  }

  // ---- segments that were lost ----

  /** By the library's thread: closes those that collections have found since, on another thread. */
  static void look(Library library) {
    for (Object lost = LOST.poll(); lost != null; lost = LOST.poll()) {
      Opening opening = (Opening) lost;
      library.call(
          new Runnable() {
            @Override
            public void run() {
              opening.client.lost(opening);
            }
          });
    }
  }

  void end() {
    link.lock.lock();
    try {
      exchange.close();
    } finally {
      link.lock.unlock();
    }
  }

  void report() {
    String how =
        place == null ? "; -Dinterweave.openings=true adds where it was opened" : "";
    System.getLogger("org.interweave").log(
        System.Logger.Level.WARNING,
        url + ": a lock was not given back, and the program has no reference to it any more; the"
            + " segment is closed now, and changes are undone. Close locks, as in"
            + " try (WriteLock lock = segment.write()) {...}" + how,
        place);
  }

  // ---- coherence and listeners ----

  void coherence(Coherence model) {
    coherence = model;
    exchange.conversation.follow(bound());
    exchange.carryOut();
    exchange.changed.signalAll();
  }

  Bound bound() {
    return coherence.bound;
  }

  boolean isRecent(Knowledge known, long began, long now) {
    return coherence.isRecent(known, began, now);
  }

  /** Subscribes if that is worth it. */
  void watch() {
    exchange.conversation.watch();
    exchange.carryOut();
  }

  void listen(Executor executor, LongConsumer listener) {
    toldVersion = exchange.conversation.state().have().number();
    listeners.add(new Listening(executor, listener));
    exchange.conversation.listen(true);
    exchange.carryOut();
  }

  void listenToConnection(Executor executor, Consumer<Connection> listener) {
    news.listen(executor, listener);
  }

  @Override
  public void changed() {
    if (listeners.isEmpty()) return;
    long newest = exchange.conversation.state().newest().number();
    boolean isRemoved = exchange.conversation.isRemoved();
    if (newest == toldVersion && isRemoved == toldRemoval) return;
    toldVersion = newest;
    toldRemoval = isRemoved;
    for (Listening each : listeners) {
      Runnable told =
          new Runnable() {
            @Override
            public void run() {
              each.listener.accept(newest);
            }
          };
      Library.get().call(
          new Runnable() {
            @Override
            public void run() {
              each.executor.execute(told);
            }
          });
    }
  }

  @Override
  public void connectionIs(Connection state) {
    news.is(state);
  }
}
