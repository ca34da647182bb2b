package org.interweave.client;

import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import org.interweave.Interface;
import org.interweave.InterweaveException;
import org.interweave.flight.Flight;

/**
 * The library's thread, which alone touches channels. Threads of the program never do, because
 * Thread.interrupt closes the channel that its thread waits on, and with it everybody's connection.
 *
 * <p>The thread ends with the last link, because a virtual machine that exits waits 300 ms for a
 * thread that is inside of a system call.
 */
final class Library implements Runnable {
  /** How often timers are looked at. */
  private static final long TICK_MS = 100;
  private static final long MILLISECOND = 1_000_000;

  private static Library only;

  private final Selector selector;
  private final byte[] input = new byte[256 << 10];
  private final BlockingQueue<Runnable> calls = new LinkedBlockingQueue<>();
  /** The thread for callbacks starts with the first. */
  private final AtomicBoolean isCalling = new AtomicBoolean();
  private final List<Link> links = new CopyOnWriteArrayList<>();
  /** Guards `isRunning`, and the beginning and end of `links`. */
  private final ReentrantLock lock = new ReentrantLock();
  private boolean isRunning;

  private Library(Selector selector) {
    this.selector = selector;
  }

  static synchronized Library get() {
    if (only != null) return only;
    try {
      only = new Library(Selector.open());
    } catch (IOException wrong) {
      throw InterweaveException.of(Interface.Error.NO_MEMORY, "no selector: " + wrong.getMessage());
    }
    return only;
  }

  static void start(Runnable body, String name) {
    Thread thread = new Thread(body, name);
    thread.setDaemon(true);
    thread.start();
  }

  Selector selector() {
    return selector;
  }

  /** Where the library's thread reads to. */
  byte[] inputBytes() {
    return input;
  }

  /** Starts the thread with the first link. */
  void add(Link link) {
    lock.lock();
    try {
      links.add(link);
      if (!isRunning) start(this, "interweave");
      isRunning = true;
    } finally {
      lock.unlock();
    }
    wakeup();
  }

  private boolean hasEnded() {
    lock.lock();
    try {
      if (links.isEmpty()) isRunning = false;
      return !isRunning;
    } finally {
      lock.unlock();
    }
  }

  void remove(Link link) {
    links.remove(link);
  }

  /** There is something to send, or to connect to. */
  void wakeup() {
    selector.wakeup();
  }

  /** Runs it on another thread, which may take locks, after those that were given before. */
  void call(Runnable callback) {
    if (!isCalling.getAndSet(true)) start(new Calling(), "interweave-calls");
    calls.add(callback);
  }

  @Override
  public void run() {
    try {
      long looked = Clock.now();
      while (!hasEnded()) {
        selector.select(TICK_MS);
        for (SelectionKey key : selector.selectedKeys()) ((Link) key.attachment()).ready(key);
        selector.selectedKeys().clear();
        for (Link link : links) link.attend();
        // Not at once: the recorder's classes would make programs start later.
        if (Clock.now() - looked < TICK_MS * MILLISECOND) continue;
        looked = Clock.now();
        Flight.look();
        Opening.look(this);
      }
    } catch (IOException | RuntimeException | Error wrong) {
      ended(wrong);
    }
  }

  /** Its links have failed. The next link gets another library, with a selector of its own. */
  private void ended(Throwable why) {
    forget(this);
    List<Link> failing;
    lock.lock();
    try {
      isRunning = false;
      failing = List.copyOf(links);
      links.clear();
    } finally {
      lock.unlock();
    }
    for (Link link : failing) link.failed(why);
  }

  private static synchronized void forget(Library ended) {
    if (only == ended) only = null;
  }

  /** Gives callbacks to the program's executors. */
  private final class Calling implements Runnable {
    @Override
    public void run() {
      Thread self = Thread.currentThread();
      while (true) {
        try {
          calls.take().run();
        } catch (InterruptedException nobodys) {
          // The thread is the library's alone.
        } catch (RuntimeException | Error wrong) {
          report(self, wrong);
        }
      }
    }

    /** The thread lives on, whatever the program's handler does. */
    private static void report(Thread self, Throwable wrong) {
      try {
        self.getUncaughtExceptionHandler().uncaughtException(self, wrong);
      } catch (RuntimeException | Error alsoWrong) {
        // As the virtual machine does with what a handler throws.
      }
    }
  }
}
