package org.interweave.client;

import java.io.IOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;

/**
 * The library's one thread, which alone touches channels. Threads of the program never do, because
 * Thread.interrupt closes the channel that its thread waits on, and with it everybody's connection.
 */
final class Library implements Runnable {
  /** How often timers are looked at. */
  private static final long TICK_MS = 100;

  private static Library only;

  private final Selector selector;
  private final byte[] input = new byte[256 << 10];
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
      throw InterweaveException.of(Error.NO_MEMORY, "no selector: " + wrong.getMessage());
    }
    Thread thread = new Thread(only, "interweave");
    thread.setDaemon(true);
    thread.start();
    return only;
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

  @Override
  public void run() {
    while (true) {
      try {
        if (links.isEmpty()) selector.select();
        else selector.select(TICK_MS);
      } catch (IOException | ClosedSelectorException wrong) {
        for (Link link : links) link.failed(wrong);
        return;
      }
      for (SelectionKey key : selector.selectedKeys()) ((Link) key.attachment()).ready(key);
      selector.selectedKeys().clear();
      for (Link link : links) link.attend();
    }
  }
}
