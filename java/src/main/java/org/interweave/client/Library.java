package org.interweave.client;

import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import org.interweave.Interface;
import org.interweave.InterweaveException;

/**
 * The library's thread, which alone touches channels. Threads of the program never do, because
 * Thread.interrupt closes the channel that its thread waits on, and with it everybody's connection.
 */
final class Library implements Runnable {
  /** How often timers are looked at. */
  private static final long TICK_MS = 100;

  private static Library only;

  private final Selector selector;
  private final byte[] input = new byte[256 << 10];
  private final BlockingQueue<Runnable> calls = new LinkedBlockingQueue<>();
  private final List<Link> links = new CopyOnWriteArrayList<>();

  private Library(Selector selector) {
    this.selector = selector;
  }

  /** Starts the thread with the first call. */
  static synchronized Library get() {
    if (only != null) return only;
    try {
      only = new Library(Selector.open());
    } catch (IOException wrong) {
      throw InterweaveException.of(Interface.Error.NO_MEMORY, "no selector: " + wrong.getMessage());
    }
    start(only, "interweave");
    start(only.new Calling(), "interweave-calls");
    return only;
  }

  private static void start(Runnable body, String name) {
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

  void add(Link link) {
    links.add(link);
    wakeup();
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
    calls.add(callback);
  }

  @Override
  public void run() {
    try {
      while (true) {
        if (links.isEmpty()) selector.select();
        else selector.select(TICK_MS);
        for (SelectionKey key : selector.selectedKeys()) ((Link) key.attachment()).ready(key);
        selector.selectedKeys().clear();
        for (Link link : links) link.attend();
      }
    } catch (IOException | RuntimeException | Error wrong) {
      for (Link link : links) link.failed(wrong);
    }
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
        } catch (RuntimeException wrong) {
          self.getUncaughtExceptionHandler().uncaughtException(self, wrong);
        }
      }
    }
  }
}
