package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.interweave.objects.shapes.node;
import org.interweave.objects.shapes.test_pad;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Long lists and many locks. IW_TEST_MANY=1000000 asks for more than the short run has. */
@Timeout(600)
class ManyObjectsTest {
  private static final int MANY =
      Integer.parseInt(System.getenv().getOrDefault("IW_TEST_MANY", "20000"));

  private Server server;
  private final Client writer = new Client();
  private final Client reader = new Client();

  @BeforeEach
  void start() throws Exception {
    server = Server.start();
  }

  @AfterEach
  void stop() {
    writer.close();
    reader.close();
    server.close();
  }

  /** On the default stack. A method that called itself for each node would end by 10,000. */
  @Test
  void aLongListOpens() {
    Segment own = writer.open(server.url("/long"));
    own.write(
        lock -> {
          node last = null;
          for (int i = 0; i < MANY; ++i) {
            node made = new node(own, i == MANY - 1 ? "head" : null);
            made.next = last;
            last = made;
          }
        });
    try (ReadLock lock = reader.open(server.url("/long")).read()) {
      int found = 0;
      node at = lock.object("head", node.class);
      for (; at != null; at = at.next) ++found;
      assertEquals(MANY, found);
    }
  }

  /** What a cycle kept would be there after many of them. */
  @Test
  void lockCyclesKeepNothing() {
    Segment own = writer.open(server.url("/cycles"));
    Segment other = reader.open(server.url("/cycles"));
    own.write(lock -> new node(own, "n"));
    cycles(own, other, MANY / 10);
    long before = usedMemory();
    cycles(own, other, MANY);
    long grown = usedMemory() - before;
    assertTrue(grown < 2_000_000 + 8L * MANY / 10, grown + " bytes after " + MANY + " cycles");
    assertEquals(0, other.stats().unmappedPointers());
  }

  private static void cycles(Segment own, Segment other, int count) {
    node seen = null;
    for (int i = 0; i < count; ++i) {
      if (i % 50 == 0) {
        own.write(
            lock -> {
              node found = lock.object("n", node.class);
              found.set_value(found.value + 1);
              found.next = new node(own, null);
            });
        own.write(
            lock -> {
              node found = lock.object("n", node.class);
              lock.free(found.next);
              found.next = null;
            });
      }
      try (ReadLock lock = other.read()) {
        node found = lock.object("n", node.class);
        if (seen != null) assertSame(seen, found);
        seen = found;
      }
    }
  }

  private static long usedMemory() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  /** A collection frees no block, because the segment holds them all. */
  @Test
  void collectionsFreeNoBlocks() {
    Segment own = writer.open(server.url("/kept"));
    own.write(
        lock -> {
          for (int i = 0; i < 1000; ++i) new node(own, null).value = i;
        });
    for (int i = 0; i < 5; ++i) System.gc();
    try (ReadLock lock = own.read()) {
      int sum = 0;
      for (node each : lock.objects(node.class)) sum += each.value;
      assertEquals(499_500, sum);
    }
  }

  @Test
  void ownedFieldsOfJavaAreThoseOfCpp() throws Exception {
    Segment own = writer.open(server.url("/pad"));
    try (Agent agent = new Agent(server.url("/pad"))) {
      own.write(
          lock -> {
            test_pad made = new test_pad(own, "pad");
            made.title = "Title";
            made.marks = new int[] {1, 2, 3};
            made.extra.kind = 1;
            made.extra.text = "more";
            made.kids.resize(2);
            made.kids.get(0).name = "Ann";
            made.kids.get(1).name = "Bob";
            made.kids.get(1).kids.resize(1);
            made.kids.get(1).kids.get(0).name = "Eve";
          });
      agent.run("rl");
      String said = agent.ask("pad pad");
      agent.run("rl_release");
      assertEquals("Title,1,2,3/more{Ann{}Bob{Eve{}}}", said);
    }
  }
}
