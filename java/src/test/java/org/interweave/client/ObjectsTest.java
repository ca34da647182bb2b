package org.interweave.client;

import static org.interweave.client.SegmentTest.fails;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.interweave.IW_Elements;
import org.interweave.IW_Memory;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Ref;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.RolledBackException;
import org.interweave.objects.shapes.color;
import org.interweave.objects.shapes.node;
import org.interweave.objects.shapes.point;
import org.interweave.objects.shapes.shape;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Objects of generated classes at the real server: what one client stores, another sees. */
@Timeout(60)
class ObjectsTest {
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

  private Segment own(String path) {
    return writer.open(server.url(path));
  }

  private Segment others(String path) {
    return reader.open(server.url(path));
  }

  @Test
  void aListIsSharedAsObjects() {
    Segment own = own("/list");
    try (WriteLock lock = own.write()) {
      node head = new node(own, "head");
      head.next = new node(own, null);
      head.next.value = 2;
      head.value = 1;
      assertEquals(1, lock.release());
    }
    Segment other = others("/list");
    node seen;
    try (ReadLock lock = other.read()) {
      seen = lock.object("head", node.class);
      assertEquals(1, seen.value);
      assertEquals(2, seen.next.value);
      assertNull(seen.next.next);
      assertEquals(List.of(seen, seen.next), lock.objects(node.class));
      assertTrue(lock.find("none", node.class).isEmpty());
      assertSame(seen, lock.find("head", node.class).get());
      fails(Error.NO_BLOCK, () -> lock.object("none", node.class));
      fails(Error.UNKNOWN_TYPE, () -> lock.object("head", point.class));
    }
    own.write(
        lock -> {
          node head = lock.object("head", node.class);
          node third = new node(own, null);
          third.value = 3;
          head.next.next = third;
        });
    other.read().close();
    assertEquals(3, seen.next.next.value, "an update changes the objects that are there");
  }

  @Test
  void everyKindOfFieldArrives() {
    Segment own = own("/shape");
    own.write(lock -> fill(new shape(own, "s")));
    try (ReadLock lock = others("/shape").read()) {
      shape seen = lock.object("s", shape.class);
      assertEquals(250, seen.get_uc());
      assertEquals(4_000_000_000L, seen.get_at_y());
      assertArrayEquals(new double[] {0, 2.5, 0, 0}, seen.row);
      assertArrayEquals(new boolean[] {false, true}, seen.flags);
      assertEquals("Grüße", seen.name);
      assertEquals("as long as it gets", seen.text);
      assertArrayEquals(new int[] {3, 1, 2}, seen.numbers);
      assertEquals(7, seen.more.get(1).value);
      assertSame(seen.more.get(1), seen.first);
      assertSame(seen.nodes.get(2), seen.several[1]);
      assertEquals("eight888", seen.drawings.get(1).label);
      assertEquals("shape", lock.value("s").typeName());
    }
  }

  private static void fill(shape made) {
    made.set_uc(250);
    made.set_at_y(4_000_000_000L);
    made.row[1] = 2.5;
    made.flags[1] = true;
    made.name = "Grüße";
    made.text = "as long as it gets";
    made.numbers = new int[] {3, 1, 2};
    made.more.resize(2);
    made.more.get(1).value = 7;
    made.first = made.more.get(1);
    made.several[1] = made.nodes.get(2);
    made.drawings.get(1).kind = color.GREEN;
    made.drawings.get(1).label = "eight888";
  }

  @Test
  void abortedChangesAreGoneFromObjects() {
    Segment own = own("/abort");
    own.write(lock -> new node(own, "n").value = 1);
    node[] made = new node[1];
    try (WriteLock lock = own.write()) {
      node found = lock.object("n", node.class);
      found.value = 2;
      made[0] = new node(own, "m");
      lock.free(found);
      fails(Error.NO_BLOCK, found::get_value);
      lock.abort();
      assertEquals(1, found.get_value());
    }
    fails(Error.NO_BLOCK, made[0]::get_value);
    WriteLock forgotten = own.write();
    forgotten.object("n", node.class).set_value(3);
    assertThrows(RolledBackException.class, forgotten::close);
    assertThrows(
        IllegalStateException.class,
        () ->
            own.write(
                lock -> {
                  lock.object("n", node.class).value = 4;
                  throw new IllegalStateException();
                }));
    try (ReadLock lock = own.read()) {
      assertEquals(1, lock.object("n", node.class).value);
      assertEquals(1, lock.version());
    }
  }

  /** The quota refuses the release, and the objects show what they showed before. */
  @Test
  void aRefusedReleaseIsGoneFromObjects() {
    Segment own = writer.open(server.url("/small"), OpenOptions.DEFAULT.quotaBytes(10_000));
    own.write(lock -> new shape(own, "s").numbers = new int[] {1});
    try (WriteLock lock = own.write()) {
      shape found = lock.object("s", shape.class);
      found.text = "x".repeat(20_000);
      found.numbers = new int[] {2, 2};
      fails(Error.QUOTA, lock::release);
      assertNull(found.text);
      assertArrayEquals(new int[] {1}, found.numbers);
      fails(Error.NO_LOCK, () -> found.set_c((byte) 1));
    }
  }

  private static final class Plain extends node {
    Plain(IW_Place place) {
      super(place);
    }
  }

  @Test
  void aPlainObjectIsRefusedWithTheFieldsName() {
    Segment own = own("/plain");
    try (WriteLock lock = own.write()) {
      node made = new node(own, "n");
      made.next = new Plain(null);
      InterweaveException refused = assertThrows(InterweaveException.class, lock::release);
      assertEquals(Error.BAD_VALUE, refused.code());
      assertTrue(refused.getMessage().contains("node.next"), refused.getMessage());
      made.next = made;
      assertEquals(1, lock.release(), "the lock was still held");
    }
  }

  private static final class Unknown extends IW_Object {
    Unknown(Segment segment) {
      super(segment, "u");
    }

    @Override
    public void iw_transfer(IW_Memory memory) {}
  }

  @Test
  void objectsNeedLocksAndClasses() {
    Segment own = own("/locks");
    own.write(lock -> new node(own, "n"));
    node found;
    try (ReadLock lock = own.read()) {
      found = lock.object("n", node.class);
      fails(Error.NO_LOCK, () -> found.set_value(1));
      fails(Error.NO_LOCK, () -> new node(own, null));
    }
    try (WriteLock lock = own.write()) {
      fails(Error.UNKNOWN_TYPE, () -> new Unknown(own));
      InterweaveException refused =
          assertThrows(
              InterweaveException.class, () -> lock.value("n").field("value").set(1));
      assertEquals(Error.BAD_ARGUMENT, refused.code(), "the object would store over the value");
      lock.abort();
    }
    own.close();
    fails(Error.NOT_OPEN, found::get_value);
  }

  @Test
  void interiorPointersAreReferences() {
    Segment own = own("/inside");
    String mip = server.url("/inside") + "#s";
    own.write(
        lock -> {
          shape made = new shape(own, "s");
          made.at_x = 5;
          made.set_h(77);
          IW_Ref toNode = lock.reference(made.nodes.get(1).iw_mip());
          made.anything = toNode;
          made.inside = lock.reference(mip + "#1");
        });
    Segment other = others("/inside");
    try (ReadLock lock = other.read()) {
      shape seen = lock.object("s", shape.class);
      assertSame(seen.nodes.get(1), seen.anything.object(node.class));
      assertNull(seen.anything.object(point.class));
      assertEquals(mip.replace("#s", "#1"), seen.inside.mip().replaceAll("#1$", ""));
      assertEquals(0, lock.value(seen.inside).integer());
      assertEquals("uchar", lock.value(seen.inside).typeName());
      assertNull(seen.corner);
    }
    own.write(
        lock -> {
          shape made = lock.object("s", shape.class);
          made.inside = null;
          made.corner = made.anything;
        });
    other.refresh();
    try (ReadLock lock = other.read()) {
      shape seen = lock.object("s", shape.class);
      assertNull(seen.inside);
      assertEquals(seen.anything, seen.corner);
    }
  }

  @Test
  void mipsOfElementsHaveOffsets() {
    Segment own = own("/rows");
    own.write(
        lock -> {
          IW_Elements<node> five = lock.allocate(node.class, 5, "five");
          five.get(4).value = 44;
          lock.allocate("int", 1, "one").set(7);
        });
    Segment other = others("/rows");
    String url = server.url("/rows");
    try (ReadLock lock = other.read()) {
      IW_Elements<node> five = lock.elements("five", node.class);
      assertEquals(url + "#five#8", five.get(4).iw_mip());
      assertSame(five.get(4), lock.at(url + "#five#8"));
      assertSame(five.get(0), lock.at(url + "#five"));
      assertEquals(44, lock.at(url + "#five#8") instanceof node found ? found.value : 0);
      assertEquals(7, lock.at(url + "#one"), "a block of a single number is its wrapper");
      assertSame(five.get(1), lock.at(url + "#five#2"));
      assertEquals(5, lock.objects(node.class).size());
      fails(Error.BAD_POINTER, () -> lock.at(url + "#five#99"));
      fails(Error.NO_BLOCK, () -> lock.at(url + "#none"));
      fails(Error.BAD_POINTER, () -> lock.at(server.url("/others") + "#five"));
    }
    assertEquals(7, reader.at(url + "#one"));
  }

  @Test
  void storesPastSettersAreCounted() {
    Segment own = own("/counts");
    own.write(lock -> new node(own, "n").set_value(1));
    assertEquals(0, own.stats().unmarkedObjects());
    own.write(lock -> lock.object("n", node.class).value = 2);
    assertEquals(1, own.stats().unmarkedObjects());
    assertEquals(2, own.stats().releases());
    assertTrue(own.stats().bytesSent() > 0);
    own.write(lock -> lock.object("n", node.class).set_value(2));
    assertEquals(2, own.version(), "the same value is no change");
  }

  @Test
  void freedBlocksOfAnUpdateThrow() {
    Segment own = own("/freed");
    own.write(lock -> new node(own, "n").next = new node(own, "m"));
    Segment other = others("/freed");
    node seen;
    node next;
    try (ReadLock lock = other.read()) {
      seen = lock.object("n", node.class);
      next = seen.next;
      assertNotNull(next);
    }
    own.write(
        lock -> {
          node found = lock.object("n", node.class);
          lock.free(found.next);
          found.next = null;
        });
    other.read().close();
    assertNull(seen.next);
    fails(Error.NO_BLOCK, next::get_value);
    fails(Error.NO_BLOCK, next::iw_mip);
  }

  @Test
  void listenersAndCoherenceModelsServeObjects() throws Exception {
    Segment own = own("/news");
    own.write(lock -> new node(own, "n").value = 1);
    Segment other = others("/news");
    BlockingQueue<Long> told = new LinkedBlockingQueue<>();
    node seen;
    try (ReadLock lock = other.read()) {
      seen = lock.object("n", node.class);
    }
    other.onChange(Runnable::run, told::add);
    other.coherence(Coherence.NULL);
    own.write(lock -> lock.object("n", node.class).value = 2);
    assertEquals(2L, told.take());
    other.read().close();
    assertEquals(1, seen.value, "any copy will do");
    other.refresh();
    assertEquals(2, seen.value);
  }

  /** Another client's diff names the row's block alone, which an assignment here has made. */
  @Test
  void storesOfOthersIntoAReplacedRowAreSeen() {
    Segment own = own("/replaced");
    Segment other = others("/replaced");
    own.write(
        lock -> {
          shape made = new shape(own, "s");
          made.numbers = new int[] {1, 2, 3};
          made.many = new node[] {null, made.nodes.get(1)};
        });
    other.write(
        lock -> {
          shape seen = lock.object("s", shape.class);
          seen.numbers[0] = 9;
          seen.many[0] = seen.many[1];
        });
    own.refresh();
    own.write(
        lock -> {
          shape found = lock.object("s", shape.class);
          assertArrayEquals(new int[] {9, 2, 3}, found.numbers);
          assertSame(found.nodes.get(1), found.many[0]);
          for (Value each : lock.values()) {
            if (each.typeName().equals("int")) fails(Error.BAD_ARGUMENT, () -> each.at(0).set(4));
          }
          found.h = 1;
        });
    try (ReadLock lock = other.read()) {
      assertArrayEquals(new int[] {9, 2, 3}, lock.object("s", shape.class).numbers);
    }
  }

  // ---- two segments ----

  private void link() {
    Segment there = own("/there");
    Segment here = own("/here");
    there.write(lock -> new node(there, "target").value = 42);
    try (ReadLock read = there.read(); WriteLock lock = here.write()) {
      new node(here, "head").next = read.object("target", node.class);
      lock.release();
    }
  }

  @Test
  void pointersLeadIntoSegmentsThatAreOpenedLater() {
    link();
    Segment here = others("/here");
    node head;
    try (ReadLock lock = here.read()) {
      head = lock.object("head", node.class);
      assertNull(head.next);
      assertEquals(1, here.stats().unmappedPointers());
    }
    here.write(lock -> head.value = 9);
    Segment there = others("/there");
    try (ReadLock second = there.read(); ReadLock lock = here.read()) {
      assertEquals(2, lock.version());
      assertEquals(42, head.next.value, "the release kept the pointer");
      assertSame(second.object("target", node.class), head.next);
    }
  }

  @Test
  void twoSegmentsCloseInEitherOrder() {
    link();
    for (boolean isTargetFirst : new boolean[] {true, false}) {
      Client client = new Client();
      Segment there = client.open(server.url("/there"));
      Segment here = client.open(server.url("/here"));
      node head;
      try (ReadLock first = there.read(); ReadLock lock = here.read()) {
        head = lock.object("head", node.class);
        assertEquals(42, head.next.value);
        assertEquals(1, first.version());
      }
      node target = head.next;
      (isTargetFirst ? there : here).close();
      fails(Error.NOT_OPEN, (isTargetFirst ? target : head)::get_value);
      if (isTargetFirst) {
        here.write(lock -> head.value += 1);
        here.close();
      } else {
        there.write(lock -> target.value += 0);
        there.close();
      }
      client.close();
    }
    Segment again = others("/here");
    try (ReadLock target = others("/there").read(); ReadLock lock = again.read()) {
      assertEquals(1, target.version());
      assertEquals(1, lock.object("head", node.class).value);
      assertEquals(42, lock.object("head", node.class).next.value, "no pointer was lost");
    }
  }

  @Test
  void aNewPointerToAClosedSegmentIsRefused() {
    link();
    Segment there = own("/there");
    Segment here = own("/here");
    node target;
    try (ReadLock read = there.read()) {
      target = read.object("target", node.class);
    }
    there.close();
    there.close();
    try (WriteLock lock = here.write()) {
      new node(here, "more").next = target;
      InterweaveException refused = assertThrows(InterweaveException.class, lock::release);
      assertEquals(Error.NOT_OPEN, refused.code());
      assertTrue(refused.getMessage().contains("node.next"), refused.getMessage());
      lock.abort();
    }
  }

  // ---- many ----

  @Test
  void moreOwnedBlocksThanAGrantHasSerials() {
    Segment own = own("/owned");
    own.write(
        lock -> {
          for (int i = 0; i < 3000; ++i) new shape(own, null).text = "text " + i;
        });
    try (ReadLock lock = others("/owned").read()) {
      List<shape> seen = lock.objects(shape.class);
      assertEquals(3000, seen.size());
      assertEquals("text 2999", seen.get(2999).text);
    }
  }

  /** Counts under monitors, which threads of one writer lock share, and under locks of segments. */
  @Test
  void threadsShareObjectsUnderMonitorsAndLocks() throws Exception {
    int threads = 8;
    int rounds = 40;
    Segment own = own("/threads");
    own.write(
        lock -> {
          for (int i = 0; i < threads; ++i) new node(own, "n" + i);
        });
    List<Thread> running = new ArrayList<>();
    List<Throwable> wrong = java.util.Collections.synchronizedList(new ArrayList<>());
    for (int t = 0; t < threads; ++t) {
      Segment segment = t % 2 == 0 ? own : others("/threads");
      String mine = "n" + t;
      Runnable counting =
          () -> {
            for (int i = 0; i < rounds; ++i) {
              segment.write(
                  lock -> {
                    node first = lock.object("n0", node.class);
                    first.set_value(first.get_value() + 1);
                    lock.object(mine, node.class).next = first;
                  });
              try (ReadLock lock = segment.read()) {
                node found = lock.object(mine, node.class);
                synchronized (found) {
                  assertSame(lock.object("n0", node.class), found.get_next());
                }
              }
            }
          };
      Thread thread = new Thread(counting);
      thread.setUncaughtExceptionHandler((who, what) -> wrong.add(what));
      thread.start();
      running.add(thread);
    }
    for (Thread each : running) each.join();
    assertEquals(List.of(), wrong);
    try (ReadLock lock = own.readNewest()) {
      assertEquals(threads * rounds, lock.object("n0", node.class).value);
    }
  }

  @Test
  void threadsOfOneWriterLockMarkTheSameObject() throws Exception {
    Segment own = own("/marks");
    int fields = 4;
    try (WriteLock lock = own.write()) {
      shape made = new shape(own, "s");
      lock.allocate(node.class, 1, "n");
      List<Thread> running = new ArrayList<>();
      for (int t = 0; t < fields; ++t) {
        int field = t;
        Thread thread =
            new Thread(
                () -> {
                  for (int i = 0; i <= 1000; ++i) {
                    if (field == 0) made.set_c((byte) (i & 1));
                    if (field == 1) made.set_uc(i & 1);
                    if (field == 2) made.set_h(i);
                    if (field == 3) made.set_d(i);
                    if (i % 100 == 0) new node(own, null).set_value(field);
                  }
                });
        thread.start();
        running.add(thread);
      }
      for (Thread each : running) each.join();
      assertEquals(0xf, Integer.bitCount(made.iw_word()) * 0xf / fields);
      lock.release();
    }
    try (ReadLock lock = others("/marks").read()) {
      shape seen = lock.object("s", shape.class);
      assertEquals(1000, seen.h);
      assertEquals(1000.0, seen.d);
      assertEquals(45, lock.objects(node.class).size());
      assertFalse(seen.b);
    }
  }
}
