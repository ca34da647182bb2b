package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.RolledBackException;
import org.interweave.SegmentLostException;
import org.interweave.TimedOutException;
import org.interweave.objects.fragile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of copies and locks when connections, servers, leases and threads end. */
@Timeout(60)
class LossTest {
  private final Client writer = new Client();
  private final Client reader = new Client();

  @AfterEach
  void stop() {
    writer.close();
    reader.close();
  }

  private static void put(Segment segment, int value) {
    segment.write(lock -> lock.allocate("int", 1, "n").set(value));
  }

  private static void change(Segment segment, int value) {
    segment.write(lock -> lock.value("n").set(value));
  }

  private static long get(Segment segment) {
    try (ReadLock lock = segment.read()) {
      return lock.value("n").integer();
    }
  }

  /** [CONN-1] */
  @Test
  void aSegmentIsOpenedAgainAtARestartedServer(@TempDir Path store) throws Exception {
    try (Server server = Server.start("--store", store.toString())) {
      Segment own = writer.open(server.url("/kept"));
      Segment other = reader.open(server.url("/kept"));
      put(own, 1);
      assertEquals(1, get(other));
      server.kill();
      assertThrows(InterweaveException.class, () -> other.read(Duration.ofMillis(100)));
      server.restart();
      change(own, 2);
      assertEquals(2, get(other));
      assertEquals(2, other.version());
    }
  }

  /** [LOST-1, LOST-4, LOST-6] */
  @Test
  void aSegmentThatTheServerLostIsLost() throws Exception {
    try (Server server = Server.start()) {
      Segment own = writer.open(server.url("/lost"));
      put(own, 1);
      own.write(lock -> new fragile(own, "f").value = 7);
      fragile seen;
      try (ReadLock lock = own.read()) {
        seen = lock.object("f", fragile.class);
      }
      server.kill();
      server.restart();
      assertThrows(SegmentLostException.class, own::read);
      assertThrows(SegmentLostException.class, own::write);
      assertTrue(own.isOver());
      Segment anew = writer.open(server.url("/lost"));
      put(anew, 2);
      assertEquals(2, get(anew));
      assertEquals(server.url("/lost") + "#f", seen.iw_mip(), "it can be read [LOST-5]");
      assertThrows(SegmentLostException.class, own::read);
      own.close();
      assertThrows(InterweaveException.class, seen::iw_mip);
      change(anew, 3);
      assertEquals(3, get(anew));
    }
  }

  /** [LOCK-10] */
  @Test
  void aLockDoesNotOutliveItsServer(@TempDir Path store) throws Exception {
    try (Server server = Server.start("--store", store.toString())) {
      Segment own = writer.open(server.url("/fenced"));
      put(own, 1);
      WriteLock lock = own.write();
      lock.value("n").set(2);
      server.kill();
      server.restart();
      // FENCED if the client knew of the new session, ROLLED_BACK if it found out on the way.
      assertThrows(RolledBackException.class, lock::release);
      assertEquals(1, get(own));
      change(own, 3);
      assertEquals(3, get(own));
    }
  }

  /** [LOCK-5, COPY-2] */
  @Test
  void aLockHeldTooLongIsLostAndItsChangesAreUndone() throws Exception {
    try (Server server = Server.start("--store", "memory", "--lease", "1", "--max-hold", "1")) {
      Segment own = writer.open(server.url("/held"));
      Segment other = reader.open(server.url("/held"));
      put(own, 1);
      WriteLock lock = own.write();
      lock.value("n").set(2);
      change(other, 3);
      RolledBackException wrong = assertThrows(RolledBackException.class, lock::release);
      assertEquals(Error.FENCED, wrong.code());
      assertEquals(3, get(own));
    }
  }

  /** [LOCK-3] */
  @Test
  void aLeaseIsRenewedWhileTheLockIsHeld() throws Exception {
    try (Server server = Server.start("--store", "memory", "--lease", "1")) {
      Segment own = writer.open(server.url("/renewed"));
      Segment other = reader.open(server.url("/renewed"));
      put(own, 1);
      try (WriteLock lock = own.write()) {
        lock.value("n").set(2);
        assertThrows(TimedOutException.class, () -> other.write(Duration.ofMillis(2500)));
        lock.release();
      }
      assertEquals(2, get(other));
    }
  }

  /** Thread.interrupt ends the wait of that thread, and nothing else. */
  @Test
  void anInterruptedWaitLeavesTheConnectionAlone() throws Exception {
    try (Server server = Server.start()) {
      Segment own = writer.open(server.url("/interrupted"));
      Segment other = reader.open(server.url("/interrupted"));
      put(own, 1);
      AtomicReference<Error> code = new AtomicReference<>();
      AtomicBoolean wasKept = new AtomicBoolean();
      WriteLock lock = own.write();
      Thread waiting =
          new Thread(
              () -> {
                try {
                  other.write().abort();
                } catch (InterweaveException wrong) {
                  code.set(wrong.code());
                }
                wasKept.set(Thread.currentThread().isInterrupted());
              });
      waiting.start();
      while (waiting.getState() != Thread.State.TIMED_WAITING) Thread.onSpinWait();
      waiting.interrupt();
      waiting.join();
      assertEquals(Error.CANCELLED, code.get());
      assertTrue(wasKept.get());
      lock.abort();
      change(other, 2);
      assertEquals(2, get(own));
    }
  }

  /** An interrupted thread still learns what became of its release. */
  @Test
  void anInterruptedThreadReleases() throws Exception {
    try (Server server = Server.start()) {
      Segment own = writer.open(server.url("/released"));
      try (WriteLock lock = own.write()) {
        lock.allocate("int", 1, "n").set(4);
        Thread.currentThread().interrupt();
        assertEquals(1, lock.release());
      }
      assertTrue(Thread.interrupted());
      assertEquals(4, get(reader.open(server.url("/released"))));
    }
  }

  /** [CONN-2] */
  @Test
  void listenersHearOfVersionsAlsoAfterARestart(@TempDir Path store) throws Exception {
    try (Server server = Server.start("--store", store.toString())) {
      Segment own = writer.open(server.url("/heard"));
      Segment other = reader.open(server.url("/heard"));
      BlockingQueue<Long> heard = new LinkedBlockingQueue<>();
      // A listener may take locks.
      other.onChange(Runnable::run, version -> heard.add(get(other)));
      put(own, 1);
      assertEquals(1, heard.poll(20, TimeUnit.SECONDS));
      server.kill();
      server.restart();
      change(own, 2);
      assertEquals(2, heard.poll(20, TimeUnit.SECONDS));
      assertEquals(2, get(other));
    }
  }

  /** [PROC-1] */
  @Test
  void threadsOfOneClientExcludeOneAnother() throws Exception {
    try (Server server = Server.start()) {
      Segment own = writer.open(server.url("/threads"));
      put(own, 0);
      Thread[] threads = new Thread[8];
      for (int i = 0; i < threads.length; ++i) {
        threads[i] =
            new Thread(
                () -> {
                  for (int k = 0; k < 25; ++k) {
                    own.write(lock -> lock.value("n").set(lock.value("n").integer() + 1));
                    get(own);
                  }
                });
        threads[i].start();
      }
      for (Thread thread : threads) thread.join();
      assertEquals(200, get(own));
      assertEquals(200, get(reader.open(server.url("/threads"))));
      assertEquals(201, own.version());
    }
  }

  /** [PROC-3, PROC-4] */
  @Test
  void locksOfOneThreadNest() throws Exception {
    try (Server server = Server.start()) {
      Segment own = writer.open(server.url("/nested"));
      put(own, 1);
      Segment other = reader.open(server.url("/nested"));
      try (ReadLock outer = other.read()) {
        change(own, 2);
        try (ReadLock inner = other.read()) {
          assertEquals(outer.version(), inner.version());
        }
      }
      try (WriteLock outer = own.write()) {
        try (WriteLock inner = own.write();
            ReadLock reading = own.read()) {
          inner.value("n").set(3);
          assertEquals(3, reading.value("n").integer());
          inner.release();
        }
        outer.release();
      }
      assertEquals(3, get(other));
      assertFalse(other.isOver());
    }
  }

  /** A flush that runs out of memory says nothing about the lock, which must still end. */
  @Test
  void aWriterLockEndsWhateverTheReleaseThrows() throws Exception {
    try (Server server = Server.start()) {
      Segment own = writer.open(server.url("/thrown"));
      own.write(lock -> new fragile(own, "f").value = 1);
      WriteLock lock = own.write();
      fragile found = lock.object("f", fragile.class);
      found.value = 2;
      fragile.failsIn = 1;
      assertThrows(OutOfMemoryError.class, lock::release);
      assertThrows(RolledBackException.class, lock::close);
      assertEquals(1, found.value);
      WriteLock second = own.write();
      found.value = 3;
      fragile.failsIn = 1;
      assertThrows(OutOfMemoryError.class, second::close);
      assertEquals(1, found.value);
      Segment other = reader.open(server.url("/thrown"));
      other.write(Duration.ofSeconds(20)).abort();
      assertEquals(1, other.version());
    }
  }
}
