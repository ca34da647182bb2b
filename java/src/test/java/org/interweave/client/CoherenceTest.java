package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.interweave.TimedOutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Coherence models and subscriptions at the real server. */
@Timeout(60)
class CoherenceTest {
  private static final int COUNT = 100;

  private Server server;
  private final Client writer = new Client();
  private final Client reader = new Client();
  private Segment own;
  private Segment other;

  @BeforeEach
  void start() throws Exception {
    server = Server.start();
    own = writer.open(server.url("/coherence"));
    other = reader.open(server.url("/coherence"));
    own.write(lock -> lock.allocate(Types.INT, COUNT, "row"));
  }

  @AfterEach
  void stop() {
    writer.close();
    reader.close();
    server.close();
  }

  private void change() {
    own.write(lock -> lock.value("row").at(0).set(own.version() + 1));
  }

  private long read() {
    try (ReadLock lock = other.read()) {
      return lock.version();
    }
  }

  /** [COH-1] */
  @Test
  void fullReadsTheNewest() {
    assertEquals(1, read());
    change();
    assertEquals(2, read());
  }

  /** [COH-3] */
  @Test
  void nullKeepsItsFirstCopy() {
    other.coherence(Coherence.NULL);
    assertEquals(1, read());
    change();
    assertEquals(1, read());
    try (ReadLock lock = other.readNewest()) {
      assertEquals(2, lock.version());
    }
  }

  /** [COH-4, COH-10] */
  @Test
  void deltaIsBehindBySoManyVersionsAtMost() {
    other.coherence(Coherence.delta(2));
    assertEquals(1, read());
    change();
    change();
    assertEquals(1, read());
    change();
    assertEquals(4, read());
    change();
    other.coherence(Coherence.FULL);
    assertEquals(5, read());
  }

  /** [COH-5] */
  @Test
  void temporalAsksNothingInsideItsTime() {
    other.coherence(Coherence.temporal(Duration.ofHours(1)));
    assertEquals(1, read());
    change();
    long asked = other.stats().asked();
    assertEquals(1, read());
    assertEquals(asked, other.stats().asked());
    other.coherence(Coherence.temporal(Duration.ZERO));
    assertEquals(2, read());
    assertTrue(other.staleness().compareTo(Duration.ofSeconds(30)) < 0);
  }

  /** [COH-6] */
  @Test
  void diffFetchesOnceEnoughHasChanged() {
    other.coherence(Coherence.diff(10));
    assertEquals(1, read());
    change();
    assertEquals(1, read());
    own.write(lock -> lock.value("row").set(new int[COUNT]));
    own.write(
        lock -> {
          for (int i = 0; i < COUNT / 2; ++i) lock.value("row").at(i).set(i + 1);
        });
    assertEquals(own.version(), read());
  }

  /** A seventh definition: odd versions will do. */
  @Test
  void aProgramMayDecideItself() {
    other.coherence(Coherence.own((version, newest, staleness) -> version % 2 == 1));
    assertEquals(1, read());
    change();
    assertEquals(1, read());
    try (ReadLock lock = other.readNewest()) {
      assertEquals(2, lock.version());
    }
    change();
    assertEquals(3, read(), "version 2 is not recent enough");
    change();
    assertEquals(3, read());
  }

  /** [COH-2] */
  @Test
  void strictKeepsWritersOut() {
    other.coherence(Coherence.STRICT);
    try (ReadLock lock = other.read()) {
      assertThrows(TimedOutException.class, () -> own.write(Duration.ofMillis(200)));
      assertEquals(1, lock.version());
    }
    change();
    assertEquals(2, read());
  }

  /** [POLL-1, NOT-2] */
  @Test
  void aCopyThatIsReadOftenIsWatchedAndPushed() throws Exception {
    BlockingQueue<Long> heard = new LinkedBlockingQueue<>();
    assertEquals(1, read());
    other.onChange(Runnable::run, heard::add);
    change();
    assertEquals(2, heard.poll(20, TimeUnit.SECONDS));
    long asked = other.stats().asked();
    assertEquals(2, read());
    assertEquals(asked, other.stats().asked(), "the diff was pushed");
  }

  /** [POLL-1] */
  @Test
  void pollingEndsAfterThreeAnswersThatNothingIsNew() {
    for (int i = 0; i < 200; ++i) assertEquals(1, read());
    assertTrue(other.stats().asked() < 20, "asked " + other.stats().asked() + " times");
    assertTrue(other.stats().localReads() > 180);
  }
}
