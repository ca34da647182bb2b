package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.interweave.objects.shapes.node;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Locks that the program has lost without giving them back, and segments without locks. */
@Timeout(60)
class OpeningTest {
  private static final Logger LOGGER = Logger.getLogger("org.interweave");

  private Server server;
  private final Client client = new Client();
  private final Client other = new Client();
  private final BlockingQueue<String> said = new LinkedBlockingQueue<>();
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord record) {
          said.add(record.getMessage());
        }

        @Override
        public void flush() {
          said.removeIf(String::isEmpty);
        }

        @Override
        public void close() {
          said.clear();
        }
      };

  @BeforeEach
  void start() throws Exception {
    server = Server.start();
    LOGGER.addHandler(handler);
    LOGGER.setUseParentHandlers(false);
  }

  @AfterEach
  void stop() {
    LOGGER.removeHandler(handler);
    LOGGER.setUseParentHandlers(true);
    client.close();
    other.close();
    server.close();
  }

  /** Has no reference to the segment when it has returned, but that of an abandoned lock. */
  private void lose(String path) {
    Segment segment = client.open(server.url(path));
    segment.write(lock -> lock.allocate("int", 1, "n").set(1));
    segment.write().value("n").set(2);
  }

  private void awaitWarning(String path) throws InterruptedException {
    String text = null;
    while (text == null) {
      System.gc();
      text = said.poll(20, TimeUnit.MILLISECONDS);
    }
    assertTrue(text.startsWith(server.url(path) + ": a lock was not given back"), text);
    assertTrue(text.contains("-Dinterweave.openings=true"), text);
  }

  /** Its writer lock would keep others out for ever, because the library renews the lease. */
  @Test
  void aLostSegmentIsClosedAndNamedOnce() throws Exception {
    lose("/lost");
    awaitWarning("/lost");
    Segment seen = other.open(server.url("/lost"));
    assertEquals(2, seen.write(lock -> lock.value("n").set(lock.value("n").integer() + 4)));
    try (Segment again = client.open(server.url("/lost"));
        ReadLock lock = again.read()) {
      assertEquals(5, lock.value("n").integer());
    }
    assertEquals(List.of(), List.copyOf(said));
  }

  private node first(String path) {
    Segment segment = client.open(server.url(path));
    segment.write(lock -> new node(segment, "first").value = 7);
    try (ReadLock lock = segment.read()) {
      return lock.object("first", node.class);
    }
  }

  /** A block `head` of /here whose pointer leads to the block `first` of /there. */
  private void link(Client by) {
    Segment there = by.open(server.url("/there"));
    Segment here = by.open(server.url("/here"));
    there.write(lock -> new node(there, "first").value = 7);
    try (ReadLock read = there.read()) {
      node first = read.object("first", node.class);
      here.write(lock -> new node(here, "head").next = first);
    }
  }

  /** Otherwise it would depend on the collector whether a pointer is null. */
  @Test
  void aSegmentWithoutLocksStaysOpenForPointers() throws Exception {
    link(other);
    client.open(server.url("/there")).read().close();
    lose("/lost");
    awaitWarning("/lost");
    try (Segment here = client.open(server.url("/here"));
        ReadLock lock = here.read()) {
      assertEquals(7, lock.object("head", node.class).next.value);
    }
    assertEquals(List.of(), List.copyOf(said));
  }

  private static void storeAsThePaperDoes(String url) {
    IWSegment segment = new IWSegment(url);
    segment.wl_acquire();
    new node(segment, "first").value = 8;
  }

  @Test
  void aSegmentOfThePaperStaysOpenWithItsLock() throws Exception {
    String url = server.url("/paper");
    storeAsThePaperDoes(url);
    lose("/lost");
    awaitWarning("/lost");
    assertEquals(8, ((node) IWSegment.mip_to_ptr(url + "#first")).value);
    assertEquals(List.of(), List.copyOf(said));
    Client.shared().opened(url).close();
  }

  @Test
  void aSegmentWithListenersStaysOpenWithItsLock() throws Exception {
    BlockingQueue<Long> heard = new LinkedBlockingQueue<>();
    node kept = first("/objects");
    client.open(server.url("/heard")).onChange(Runnable::run, heard::add);
    client.open(server.url("/heard")).read();
    lose("/lost");
    awaitWarning("/lost");
    assertEquals(7, kept.get_value());
    other.open(server.url("/heard")).write(lock -> lock.allocate("int", 1, "n"));
    assertEquals(1, heard.take());
    assertEquals(List.of(), List.copyOf(said));
  }

  /** The first thread that notices may be one that opens the same URL. */
  @Test
  void aLostUrlCanBeOpenedAtOnce() {
    for (int i = 0; i < 20; ++i) {
      lose("/again" + i);
      System.gc();
      client.open(server.url("/again" + i)).close();
    }
  }

  /** Of two threads that notice the loss, the slower one may find what the other has opened. */
  @Test
  void aSegmentThatLivesIsNotTakenForALostOne() {
    Segment segment = client.open(server.url("/lives"));
    client.lost(segment.opening());
    assertEquals(1, segment.write(lock -> lock.allocate("int", 1, "n").set(1)));
    assertEquals(List.of(), List.copyOf(said));
  }

  @Test
  void aSwitchAddsWhereItWasOpened() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Dinterweave.openings=true",
                "-cp",
                System.getProperty("java.class.path"),
                Losing.class.getName(),
                server.url("/traced"))
            .redirectErrorStream(true)
            .start();
    String text = new String(process.getInputStream().readAllBytes());
    assertEquals(0, process.waitFor(), text);
    assertTrue(text.contains("opened here"), text);
    assertTrue(text.contains("OpeningTest$Losing.read("), text);
  }

  /** Loses a lock, and ends when that was logged. */
  static final class Losing {
    private static void read(String url) {
      Client.shared().open(url).read();
    }

    public static void main(String[] arguments) throws Exception {
      BlockingQueue<LogRecord> logged = new LinkedBlockingQueue<>();
      LOGGER.setFilter(record -> logged.add(record));
      read(arguments[0]);
      LogRecord found = null;
      while (found == null) {
        System.gc();
        found = logged.poll(20, TimeUnit.MILLISECONDS);
      }
      found.getThrown().printStackTrace(System.out);
    }
  }
}
