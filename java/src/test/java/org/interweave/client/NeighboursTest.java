package org.interweave.client;

import static org.interweave.client.SegmentTest.fails;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.interweave.Interface.Error;
import org.interweave.objects.shapes.node;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Objects whose pointers lead into another segment, which is opened, closed or lost. */
@Timeout(60)
class NeighboursTest {
  private static Server server;
  private final Client writer = new Client();
  private final Client reader = new Client();

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
    writer.close();
    reader.close();
  }

  /** A block `head` whose pointer leads to the block `target` of the other segment. */
  private void link(String path) {
    Segment there = writer.open(server.url(path + "/there"));
    Segment here = writer.open(server.url(path + "/here"));
    there.write(lock -> new node(there, "target").value = 42);
    try (ReadLock read = there.read(); WriteLock lock = here.write()) {
      new node(here, "head").next = read.object("target", node.class);
      lock.release();
    }
    there.close();
    here.close();
  }

  private static node head(SegmentLock lock) {
    return lock.object("head", node.class);
  }

  /** The field is null, but the target can be found by the time of the release. */
  @Test
  void aTargetThatIsOpenedWithinTheSectionKeepsItsPointer() {
    link("/within");
    Segment here = reader.open(server.url("/within/here"));
    here.write(
        lock -> {
          node head = head(lock);
          assertNull(head.next);
          head.value = 9;
          reader.open(server.url("/within/there")).read().close();
        });
    Segment there = reader.open(server.url("/within/there"));
    try (ReadLock second = there.read(); ReadLock lock = here.read()) {
      assertSame(second.object("target", node.class), head(lock).next);
      assertEquals(9, head(lock).value);
    }
    assertEquals(1, here.stats().unmappedPointers());
  }

  @Test
  void aNullThatReplacesAnAssignedPointerIsStored() {
    link("/null");
    Segment here = reader.open(server.url("/null/here"));
    try (WriteLock lock = here.write()) {
      node head = head(lock);
      assertNull(head.next);
      head.next = head;
      lock.release();
    }
    here.write(lock -> head(lock).next = null);
    link("/assigned");
    Segment other = reader.open(server.url("/assigned/here"));
    try (WriteLock lock = other.write()) {
      node head = head(lock);
      try (ReadLock read = reader.open(server.url("/assigned/there")).read()) {
        head.next = read.object("target", node.class);
      }
      assertEquals(1, lock.release(), "the pointer led there before");
    }
    other.write(lock -> head(lock).next = null);
    assertEquals(2, other.version());
    reader.open(server.url("/null/there")).read().close();
    try (ReadLock lock = here.read()) {
      assertNull(head(lock).next);
    }
  }

  @Test
  void aSegmentThatIsOpenedAgainIsLedToAgain() {
    link("/again");
    Segment here = reader.open(server.url("/again/here"));
    node before;
    Segment there = reader.open(server.url("/again/there"));
    there.read().close();
    try (ReadLock lock = here.read()) {
      before = head(lock).next;
      assertEquals(42, before.value);
    }
    there.close();
    fails(Error.NOT_OPEN, before::get_value);
    try (ReadLock lock = here.read()) {
      assertNull(head(lock).next);
    }
    here.write(lock -> head(lock).value += 1);
    Segment again = reader.open(server.url("/again/there"));
    try (ReadLock second = again.read(); ReadLock lock = here.read()) {
      assertSame(second.object("target", node.class), head(lock).next);
      assertEquals(42, head(lock).next.get_value());
    }
    again.close();
    Segment third = reader.open(server.url("/again/there"));
    try (ReadLock second = third.read(); ReadLock lock = here.read()) {
      assertSame(second.object("target", node.class), head(lock).next, "no lock between");
    }
  }

  /** A method that called itself for each node would need many times the stack of a thread. */
  @Test
  void aListThatAlternatesBetweenSegmentsNeedsNoStack() {
    int count = 20_000;
    Segment here = writer.open(server.url("/zigzag/here"));
    Segment there = writer.open(server.url("/zigzag/there"));
    try (WriteLock one = here.write(); WriteLock two = there.write()) {
      node last = null;
      for (int i = 0; i < count; ++i) {
        Segment segment = i % 2 == 1 ? here : there;
        node made = new node(segment, i == count - 1 ? "head" : null);
        made.next = last;
        last = made;
      }
      two.release();
      one.release();
    }
    Segment seen = reader.open(server.url("/zigzag/here"));
    reader.open(server.url("/zigzag/there")).read().close();
    try (ReadLock lock = seen.read()) {
      int found = 0;
      for (node at = head(lock); at != null; at = at.next) ++found;
      assertEquals(count, found);
    }
  }
}
