package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.TimedOutException;
import org.interweave.objects.shapes.shape;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What waits, as futures. */
@Timeout(60)
class AsyncTest {
  private static Server server;
  private final Client client = new Client();
  private final Client other = new Client();

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
    other.close();
  }

  private Segment made(String path) {
    Segment segment = client.open(server.url(path));
    segment.write(lock -> lock.allocate("int", 1, "n").set(1));
    return segment;
  }

  private static long read(Segment segment) {
    try (ReadLock lock = segment.read()) {
      return lock.value("n").integer();
    }
  }

  private static Throwable causeOf(CompletableFuture<?> failed) {
    return assertThrows(CompletionException.class, failed::join).getCause();
  }

  @Test
  void aProgramNeedNotWait() {
    CompletableFuture<Long> version =
        client
            .openAsync(server.url("/chain"))
            .thenCompose(Segment::writeAsync)
            .thenCompose(
                lock -> {
                  lock.allocate("int", 1, "n").set(7);
                  return lock.releaseAsync();
                });
    assertEquals(1, version.join());
    try (ReadLock lock =
        other.openAsync(server.url("/chain")).thenCompose(Segment::readAsync).join()) {
      assertEquals(7, lock.value("n").integer());
    }
  }

  /** One after another they would run on the same thread, whose locks would nest. */
  @Test
  void theirLocksBelongToNoThread() {
    Segment segment = made("/nobodys");
    WriteLock first = segment.writeAsync().join();
    CompletableFuture<WriteLock> second = segment.writeAsync();
    first.value("n").set(2);
    assertFalse(second.isDone());
    assertEquals(2, first.release());
    WriteLock next = second.join();
    next.value("n").set(3);
    assertEquals(3, next.release());
    Segment seen = other.open(server.url("/nobodys"));
    ReadLock old = seen.readAsync().join();
    segment.write(lock -> lock.value("n").set(4));
    CompletableFuture<ReadLock> fresh = seen.readAsync();
    assertEquals(3, old.value("n").integer());
    old.close();
    try (ReadLock lock = fresh.join()) {
      assertEquals(4, lock.value("n").integer());
    }
  }

  @Test
  void theirDeadlinesCount() {
    Segment segment = made("/late");
    try (WriteLock held = segment.write()) {
      Duration soon = Duration.ofMillis(50);
      assertInstanceOf(TimedOutException.class, causeOf(segment.writeAsync(soon)));
      assertInstanceOf(TimedOutException.class, causeOf(segment.readAsync(soon)));
      held.release();
    }
    Segment wrong = client.open(server.url("/late"));
    assertEquals(1, read(wrong));
  }

  @Test
  void aCancelledWaitIsGivenUp() {
    Segment segment = made("/cancelled");
    Segment waiting = other.open(server.url("/cancelled"));
    CompletableFuture<WriteLock> given;
    CompletableFuture<WriteLock> late;
    try (WriteLock held = segment.write()) {
      given = waiting.writeAsync();
      assertTrue(given.cancel(true));
      late = waiting.writeAsync().orTimeout(20, TimeUnit.MILLISECONDS);
      causeOf(late);
      held.release();
    }
    assertThrows(CancellationException.class, given::join);
    assertEquals(2, waiting.write(lock -> lock.value("n").set(5)));
  }

  /** However the cancelling and the grant meet, the lock is free afterwards. */
  @Test
  void aLockThatComesToACancelledFutureIsGivenBack() {
    Segment segment = made("/met");
    List<CompletableFuture<?>> all = new ArrayList<>();
    for (int i = 0; i < 50; ++i) {
      CompletableFuture<WriteLock> write = segment.writeAsync();
      CompletableFuture<ReadLock> read = segment.readAsync();
      if (i % 2 == 0) all.add(read.thenAccept(ReadLock::close));
      else if (!read.cancel(true)) read.join().close();
      if (i % 3 == 0) all.add(write.thenAccept(WriteLock::abort));
      else if (!write.cancel(true)) write.join().abort();
    }
    all.forEach(CompletableFuture::join);
    assertEquals(2, segment.write(lock -> lock.value("n").set(6)));
    CompletableFuture<Segment> opening = other.openAsync(server.url("/met"));
    if (!opening.cancel(true)) opening.join().close();
    try (Segment again = other.open(server.url("/met"))) {
      assertEquals(6, read(again));
    }
  }

  @Test
  void aReleaseThatFailsEndsTheSection() {
    Segment segment = made("/failed");
    segment.write(lock -> new shape(segment, "s").name = "good");
    WriteLock lock = segment.write();
    shape seen = lock.object("s", shape.class);
    seen.name = null;
    Throwable wrong = causeOf(lock.releaseAsync());
    assertEquals(Error.BAD_VALUE, ((InterweaveException) wrong).code());
    assertEquals("good", seen.name);
    assertEquals(Error.NO_LOCK, ((InterweaveException) causeOf(lock.releaseAsync())).code());
    lock.close();
    assertEquals(3, segment.write(again -> seen.name = "better"));
  }

  @Test
  void aCancelledReleaseIsMadeAllTheSame() {
    Segment segment = made("/sure");
    WriteLock lock = segment.write();
    lock.value("n").set(8);
    lock.releaseAsync().cancel(true);
    lock.close();
    assertEquals(8, read(segment));
  }

  /** The thread that began the release has no part in the section any more. */
  @Test
  void aCloseWaitsForARelease() {
    for (int i = 1; i <= 20; ++i) {
      Segment segment = client.open(server.url("/leaving"));
      WriteLock lock = segment.write();
      if (i == 1) lock.allocate("int", 1, "n");
      lock.value("n").set(i);
      CompletableFuture<Long> version = lock.releaseAsync();
      segment.close();
      assertEquals(i, version.join());
    }
    assertEquals(20, read(other.open(server.url("/leaving"))));
  }

  @Test
  void theNextLockWaitsForARelease() {
    Segment segment = made("/next");
    for (int i = 0; i < 20; ++i) {
      WriteLock first = segment.write();
      first.value("n").set(2 * i + 10);
      CompletableFuture<Long> version = first.releaseAsync();
      WriteLock second = segment.write();
      second.value("n").set(2 * i + 11);
      assertEquals(2 * i + 3, second.release());
      assertEquals(2 * i + 2, version.join());
    }
    assertEquals(49, read(other.open(server.url("/next"))));
  }

  @Test
  void aNestedLockIsGivenBackAtOnce() {
    Segment segment = made("/nested");
    for (int i = 0; i < 20; ++i) {
      WriteLock outer = segment.write();
      WriteLock inner = segment.write();
      inner.value("n").set(i + 9);
      CompletableFuture<Long> before = inner.releaseAsync();
      assertEquals(i + 2, outer.release());
      assertEquals(i + 1, before.join());
    }
    assertEquals(28, read(other.open(server.url("/nested"))));
  }

  @Test
  void aCloseWaitsForTheirLocks() {
    OpenOptions hasty = OpenOptions.DEFAULT.timeout(Duration.ofMillis(50));
    Segment segment = client.open(server.url("/closing"), hasty);
    ReadLock lock = segment.readAsync().join();
    assertThrows(TimedOutException.class, segment::close);
    lock.close();
    segment.close();
    assertTrue(segment.isOver());
  }
}
