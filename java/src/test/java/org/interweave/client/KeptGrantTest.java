package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.interweave.RolledBackException;
import org.interweave.objects.shapes.shape;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Grants that the real server leaves with a writer [LOCK-13..16]. */
@Timeout(60)
class KeptGrantTest {
  private static final int SECTIONS = 20;

  private final Client one = new Client();
  private final Client two = new Client();

  @AfterEach
  void stop() {
    one.close();
    two.close();
  }

  private static void add(Segment segment) {
    segment.write(
        lock -> {
          Value n = lock.value("n");
          n.set(n.integer() + 1);
        });
  }

  private static long get(Segment segment) {
    try (ReadLock lock = segment.readNewest()) {
      return lock.value("n").integer();
    }
  }

  /** The first three grants are asked for; the other sections send their release alone. */
  @Test
  void aLoneWriterSendsOneMessageASection() throws Exception {
    try (Server server = Server.start()) {
      Segment own = one.open(server.url("/alone"));
      own.write(lock -> lock.allocate("int", 1, "n"));
      long before = own.stats().messagesSent();
      for (int i = 0; i < SECTIONS; ++i) add(own);
      long sent = own.stats().messagesSent() - before;
      assertTrue(sent <= SECTIONS + 3, sent + " messages for " + SECTIONS + " sections");
      before = own.stats().messagesSent();
      own.write().abort();
      own.write(lock -> lock.value("n"));
      assertEquals(before, own.stats().messagesSent(), "nothing changed");
      assertEquals(SECTIONS, get(two.open(server.url("/alone"))));
    }
  }

  @Test
  void aWriterThatWaitsGetsAKeptGrant() throws Exception {
    try (Server server = Server.start()) {
      Segment own = one.open(server.url("/shared"));
      Segment other = two.open(server.url("/shared"));
      own.write(lock -> lock.allocate("int", 1, "n"));
      for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 5; ++i) add(own);
        add(other);
      }
      assertEquals(24, get(own));
      assertEquals(24, get(other));
    }
  }

  /** Blocks that are made under one grant have different serials. */
  @Test
  void serialsOfAKeptGrantAreNotUsedTwice() throws Exception {
    try (Server server = Server.start()) {
      Segment own = one.open(server.url("/serials"));
      for (int i = 0; i < SECTIONS; ++i) {
        String name = "n" + i;
        own.write(lock -> lock.allocate("int", 1, name).set(7));
        WriteLock undone = own.write();
        undone.allocate("int", 1, "undone");
        undone.abort();
      }
      try (ReadLock lock = two.open(server.url("/serials")).read()) {
        assertEquals(SECTIONS, lock.values().size());
        for (Value each : lock.values()) assertEquals(7, each.integer());
      }
    }
  }

  @Test
  void aKeptGrantEndsWithItsOpening() throws Exception {
    try (Server server = Server.start()) {
      Segment own = one.open(server.url("/cut"));
      own.write(lock -> lock.allocate("int", 1, "n"));
      for (int i = 0; i < 5; ++i) add(own);
      own.close();
      Segment again = one.open(server.url("/cut"));
      for (int i = 0; i < 5; ++i) add(again);
      assertEquals(10, get(again));
    }
  }

  /** Serials that a row of another length would need, in a section that nobody releases. */
  @Test
  void aSectionThatIsUndoneAsksForNoSerials() throws Exception {
    try (Server server = Server.start()) {
      Segment own = one.open(server.url("/undone"));
      for (int i = 0; i < 5; ++i) {
        String name = "s" + i;
        own.write(lock -> new shape(own, name));
      }
      WriteLock lock = own.write();
      lock.object("s0", shape.class).numbers = new int[] {1};
      while (own.changes().serialsLeft() > 0) lock.allocate("int", 1, "");
      long before = own.stats().messagesSent();
      assertThrows(RolledBackException.class, lock::close);
      assertEquals(before, own.stats().messagesSent());
    }
  }
}
