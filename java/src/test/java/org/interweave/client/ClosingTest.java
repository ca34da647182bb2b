package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.TimedOutException;
import org.interweave.wire.protocol.SessionCodec.MessageType;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The last close of a segment, and threads that are inside of its locks [OPEN-3]. */
@Timeout(60)
class ClosingTest {
  private static final OpenOptions PATIENT = OpenOptions.DEFAULT.timeout(Duration.ofHours(1));

  private static Server server;
  private final Client client = new Client();

  @BeforeAll
  static void start() throws Exception {
    server = Server.start();
  }

  @AfterAll
  static void end() {
    server.close();
  }

  @AfterEach
  void stop() {
    client.close();
  }

  /** Another thread inside of a writer lock, until it is told to release. */
  private static final class Inside {
    private final CountDownLatch entered = new CountDownLatch(1);
    private final CountDownLatch leaves = new CountDownLatch(1);
    final CompletableFuture<Long> version;

    Inside(Segment segment) throws InterruptedException {
      version =
          CompletableFuture.supplyAsync(
              () ->
                  segment.write(
                      lock -> {
                        lock.allocate("int", 1, "n").set(7);
                        entered.countDown();
                        await(leaves);
                      }));
      await(entered);
    }

    private static void await(CountDownLatch latch) {
      try {
        assertTrue(latch.await(30, TimeUnit.SECONDS));
      } catch (InterruptedException nobodys) {
        throw new IllegalStateException(nobodys);
      }
    }

    void leave() {
      leaves.countDown();
    }
  }

  private static void awaitWaiting(Thread thread) {
    while (thread.getState() != Thread.State.TIMED_WAITING) {
      assertTrue(thread.isAlive(), "it ended without waiting");
      Thread.onSpinWait();
    }
  }

  @Test
  void theLastCloseWaitsForAWriterOfAnotherThread() throws Exception {
    Segment segment = client.open(server.url("/waits"));
    Inside other = new Inside(segment);
    Thread closing = new Thread(segment::close);
    closing.start();
    awaitWaiting(closing);
    other.leave();
    assertEquals(1, other.version.get(30, TimeUnit.SECONDS));
    closing.join();
    assertTrue(segment.isOver());
  }

  @Test
  void aCloseThatWaitsTooLongLeavesTheSegmentOpen() throws Exception {
    OpenOptions hasty = OpenOptions.DEFAULT.timeout(Duration.ofMillis(50));
    Segment segment = client.open(server.url("/hasty"), hasty);
    Inside other = new Inside(segment);
    assertThrows(TimedOutException.class, segment::close);
    assertFalse(segment.isOver());
    other.leave();
    assertEquals(1, other.version.get(30, TimeUnit.SECONDS));
    segment.close();
    assertTrue(segment.isOver());
  }

  @Test
  void ownLocksEndWithTheLastClose() {
    Segment segment = client.open(server.url("/own"));
    WriteLock lock = segment.write();
    lock.allocate("int", 1, "n").set(7);
    segment.close();
    assertThrows(InterweaveException.class, lock::release);
    try (Segment again = client.open(server.url("/own"))) {
      assertEquals(0, again.newestVersion());
    }
  }

  /** It waits for a reader, whose thread closes the segment, and with it its lock. */
  @Test
  void aWriterThatWaitsIsToldOfTheClosing() throws Exception {
    Segment segment = client.open(server.url("/told"));
    segment.write(lock -> lock.allocate("int", 1, "n"));
    ReadLock reading = segment.read();
    Value value = reading.value("n");
    AtomicReference<InterweaveException> told = new AtomicReference<>();
    Thread waiting =
        new Thread(() -> told.set(assertThrows(InterweaveException.class, segment::write)));
    waiting.start();
    awaitWaiting(waiting);
    segment.close();
    waiting.join();
    assertEquals(Error.NOT_OPEN, told.get().code());
    assertEquals(Error.NO_LOCK, assertThrows(InterweaveException.class, value::integer).code());
    reading.close();
  }

  @Test
  void aClientClosesAllSegmentsThatItCan() throws Exception {
    Client own = new Client();
    OpenOptions hasty = OpenOptions.DEFAULT.timeout(Duration.ofMillis(50));
    List<Segment> segments = new ArrayList<>();
    for (int i = 0; i < 8; ++i) segments.add(own.open(server.url("/all" + i), hasty));
    Inside other = new Inside(segments.get(3));
    assertThrows(TimedOutException.class, own::close);
    for (Segment each : segments) assertEquals(each != segments.get(3), each.isOver());
    other.leave();
    assertEquals(1, other.version.get(30, TimeUnit.SECONDS));
    own.close();
    assertTrue(segments.get(3).isOver());
  }

  @Test
  void eachOpeningIsClosedOnce() {
    Segment first = client.open(server.url("/twice"));
    Segment second = client.open(server.url("/twice"));
    first.close();
    assertFalse(second.isOver());
    second.close();
    InterweaveException wrong = assertThrows(InterweaveException.class, second::close);
    assertEquals(Error.NOT_OPEN, wrong.code());
  }

  /** The answer comes after the test's end; a close that waited for it would, too. */
  @Test
  void aCloseWaitsForNoAnswer() throws Exception {
    try (SlowServer slow = new SlowServer();
        Client own = new Client()) {
      giveUpOpening(own, slow);
      own.open(server.url("/elsewhere")).close();
      own.open(slow.url("/quick")).close();
    }
  }

  /** [OPEN-2] */
  @Test
  void anOpeningFollowsTheCloseOfTheOneBefore() throws Exception {
    try (SlowServer slow = new SlowServer();
        Client own = new Client()) {
      giveUpOpening(own, slow);
      Thread again = new Thread(() -> own.open(slow.url("/slow"), PATIENT).close());
      again.start();
      awaitWaiting(again);
      slow.hurry();
      again.join();
      assertEquals(MessageType.CLOSE_SEGMENT, slow.heard());
      assertEquals(MessageType.OPEN_SEGMENT, slow.heard());
      assertEquals(MessageType.CLOSE_SEGMENT, slow.heard());
    }
  }

  /** An opening that was lost still waits for its answer, because its number would be reused. */
  @Test
  void anOpeningFollowsTheCloseOfALostOne() throws Exception {
    try (SlowServer slow = new SlowServer();
        Client own = new Client()) {
      String url = slow.url("/slow");
      AtomicReference<InterweaveException> told = new AtomicReference<>();
      Thread first = beginOpening(own, url, told);
      assertEquals(MessageType.OPEN_SEGMENT, slow.heard());
      awaitWaiting(first);
      lose(own.opened(url));
      Thread again = new Thread(() -> own.open(url, PATIENT).close());
      again.start();
      awaitWaiting(again);
      slow.hurry();
      again.join();
      first.join();
      assertEquals(Error.SEGMENT_LOST, told.get().code());
      assertEquals(MessageType.CLOSE_SEGMENT, slow.heard());
      assertEquals(MessageType.OPEN_SEGMENT, slow.heard());
      assertEquals(MessageType.CLOSE_SEGMENT, slow.heard());
    }
  }

  private static Thread beginOpening(
      Client client, String url, AtomicReference<InterweaveException> told) {
    Thread opening =
        new Thread(
            () ->
                told.set(
                    assertThrows(InterweaveException.class, () -> client.open(url, PATIENT))));
    opening.start();
    return opening;
  }

  private static void lose(Segment segment) {
    segment.link().lock.lock();
    try {
      segment.opening().exchange.conversation.lose("the test wants it so");
    } finally {
      segment.link().lock.unlock();
    }
  }

  /** As after an opening that its thread's interrupt has ended. */
  @Test
  void anInterruptedThreadGivesItsOpeningUp() throws Exception {
    Segment segment = client.open(server.url("/interrupted"));
    Inside other = new Inside(segment);
    CompletableFuture<Boolean> isInterrupted = new CompletableFuture<>();
    Thread closing =
        new Thread(
            () -> {
              Thread.currentThread().interrupt();
              client.close(segment, false);
              isInterrupted.complete(Thread.interrupted());
            });
    closing.start();
    awaitWaiting(closing);
    other.leave();
    assertEquals(1, other.version.get(30, TimeUnit.SECONDS));
    assertTrue(isInterrupted.get(30, TimeUnit.SECONDS));
    assertTrue(segment.isOver());
  }

  /** The release waits for the link's lock, which the closing thread has. */
  @Test
  void aCloseLeavesAReleaseOfAnotherThreadAlone() throws Exception {
    Segment segment = client.open(server.url("/released"));
    WriteLock lock = segment.write();
    lock.allocate("int", 1, "n").set(7);
    CompletableFuture<Long> version = new CompletableFuture<>();
    Thread releasing = new Thread(() -> version.complete(lock.release()));
    segment.link().lock.lock();
    try {
      releasing.start();
      while (releasing.getState() != Thread.State.WAITING) Thread.onSpinWait();
      lock.close();
      lock.abort();
      assertThrows(InterweaveException.class, lock::release);
    } finally {
      segment.link().lock.unlock();
    }
    assertEquals(1, version.get(30, TimeUnit.SECONDS));
  }

  /** Another segment keeps the connection. */
  private static void giveUpOpening(Client client, SlowServer slow) throws Exception {
    client.open(slow.url("/stays"));
    assertEquals(MessageType.OPEN_SEGMENT, slow.heard());
    AtomicReference<InterweaveException> told = new AtomicReference<>();
    Thread opening = beginOpening(client, slow.url("/slow"), told);
    assertEquals(MessageType.OPEN_SEGMENT, slow.heard());
    awaitWaiting(opening);
    opening.interrupt();
    opening.join();
    assertEquals(Error.CANCELLED, told.get().code());
  }
}
