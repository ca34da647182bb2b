package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.UnreachableException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Segments at the real server: what one client or program writes, another reads. */
@Timeout(60)
class SegmentTest {
  static final Types NODE =
      Types.record("node").with("key", Types.INT).with("next", Types.pointer("node"));

  private Server server;
  private final Client writer = new Client();
  private final Client reader = new Client();

  @BeforeEach
  void start() throws Exception {
    server = Server.start();
  }

  @AfterEach
  void stop() throws Exception {
    writer.close();
    reader.close();
    server.close();
  }

  static void fails(Error code, Runnable body) {
    InterweaveException wrong = assertThrows(InterweaveException.class, body::run);
    assertEquals(code, wrong.code(), wrong.getMessage());
  }

  @Test
  void anotherClientReadsAList() {
    Segment own = writer.open(server.url("/list"));
    try (WriteLock lock = own.write()) {
      Value head = lock.allocate(NODE, 1, "head");
      Value next = lock.allocate("node", 1, "");
      head.field("key").set(1);
      next.field("key").set(2);
      head.field("next").point(next);
      assertEquals(1, lock.release());
    }
    Segment other = reader.open(server.url("/list"));
    try (ReadLock lock = other.read()) {
      assertEquals(1, lock.version());
      Value head = lock.value("head");
      assertEquals(1, head.field("key").integer());
      Value next = head.field("next").target();
      assertEquals(2, next.field("key").integer());
      assertNull(next.field("next").target());
      assertEquals(server.url("/list") + "#head", head.mip());
    }
  }

  @Test
  void programsOfTheCommandLineAndJavaShare() throws Exception {
    Segment own = writer.open(server.url("/figures"));
    try (WriteLock lock = own.write()) {
      Value row = lock.allocate(Types.DOUBLE, 1000, "row");
      double[] values = new double[1000];
      for (int i = 0; i < 1000; ++i) values[i] = i / 4.0;
      row.set(values);
      lock.allocate(NODE, 1, "head").field("key").set(5);
      lock.release();
    }
    assertEquals("249.75", Server.run("get", server.url("/figures") + "#row#999"));
    Server.run("set", server.url("/figures") + "#head#key", "7");
    try (ReadLock lock = own.read()) {
      assertEquals(2, lock.version());
      assertEquals(7, lock.value("head").field("key").integer());
      assertEquals(249.75, lock.value("row").doubles()[999]);
    }
  }

  @Test
  void programsInCppAndJavaShare() throws Exception {
    Segment own = writer.open(server.url("/numbers"));
    try (Agent agent = new Agent(server.url("/numbers"))) {
      agent.run("wl", "make numbers 1000", "put numbers 999 5", "release");
      own.write(
          lock -> {
            int[] numbers = lock.value("numbers").ints();
            assertEquals(5, numbers[999]);
            numbers[3] = 7;
            lock.value("numbers").set(numbers);
            lock.allocate("int", 2, "mine").at(1).set(8);
          });
      agent.run("rl");
      assertEquals("7", agent.ask("get numbers 3"));
      assertEquals("8", agent.ask("get mine 1"));
      agent.run("rl_release", "wl", "free mine", "release");
      try (ReadLock lock = own.read()) {
        fails(Error.NO_BLOCK, () -> lock.value("mine"));
      }
    }
  }

  @Test
  void aSocketFileServesAsWell(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("s");
    try (Server local = Server.onSocket(file);
        Client client = new Client()) {
      Segment segment = client.open(local.url("/x"));
      segment.write(lock -> lock.allocate("int", 1, "n").set(3));
      try (ReadLock lock = segment.read()) {
        assertEquals(3, lock.value("n").get());
      }
    }
  }

  @Test
  void largeDiffsTravelInPieces() {
    int count = 1_000_000;
    double[] values = new double[count];
    for (int i = 0; i < count; ++i) values[i] = Math.sin(i);
    Segment own = writer.open(server.url("/large"));
    own.write(lock -> lock.allocate(Types.DOUBLE, count, "row").set(values));
    Segment other = reader.open(server.url("/large"));
    try (ReadLock lock = other.read()) {
      assertArrayEquals(values, lock.value("row").doubles());
    }
    values[17] = 1;
    own.write(lock -> lock.value("row").at(17).set(1.0));
    long before = other.stats().bytesReceived();
    try (ReadLock lock = other.read()) {
      assertArrayEquals(values, lock.value("row").doubles());
    }
    assertTrue(other.stats().bytesReceived() - before < 64, "a small change is a small diff");
  }

  @Test
  void anExceptionUndoesWhatWasWritten() {
    Segment own = writer.open(server.url("/abort"));
    own.write(lock -> lock.allocate(NODE, 1, "head").field("key").set(1));
    IllegalStateException thrown =
        assertThrows(
            IllegalStateException.class,
            () -> {
              try (WriteLock lock = own.write()) {
                lock.value("head").field("key").set(2);
                lock.allocate(Types.INT, 3, "more");
                throw new IllegalStateException("of the program");
              }
            });
    assertEquals("of the program", thrown.getMessage());
    try (ReadLock lock = own.read()) {
      assertEquals(1, lock.value("head").field("key").integer());
      fails(Error.NO_BLOCK, () -> lock.value("more"));
    }
    WriteLock forgotten = own.write();
    forgotten.value("head").field("key").set(3);
    fails(Error.ROLLED_BACK, forgotten::close);
    try (WriteLock unchanged = own.write()) {
      assertEquals(1, unchanged.value("head").field("key").integer());
    }
    assertEquals(1, own.version());
  }

  private static final Types KINDS =
    Types.record("kinds")
        .with("c", Types.CHAR).with("uc", Types.UCHAR).with("s", Types.SHORT)
        .with("us", Types.USHORT).with("i", Types.INT).with("ui", Types.UINT)
        .with("h", Types.HYPER).with("uh", Types.UHYPER).with("f", Types.FLOAT)
        .with("d", Types.DOUBLE).with("b", Types.BOOL)
        .with("colour", Types.enumeration("colour", Map.of("RED", 1)))
        .with("short", Types.string(8)).with("long", Types.string(40))
        .with("text", Types.text()).with("kids", Types.sequence("kinds"))
        .with("row", Types.array(Types.array(Types.INT, 3), 2))
        .with("choice", Types.union("choice", "which", Types.INT)
            .with("number", Types.INT, 1).with("words", Types.text(), 2)
            .otherwise("", null));

  @Test
  void everyKindOfValueArrives() {
    Segment own = writer.open(server.url("/kinds"));
    own.write(
        lock -> {
          Value value = lock.allocate(KINDS, 1, "all");
          value.field("c").set(-3);
          value.field("uc").set(200);
          value.field("s").set(-300);
          value.field("us").set(60_000);
          value.field("i").set(-70_000);
          value.field("ui").set(4_000_000_000L);
          value.field("h").set(-1L << 40);
          value.field("uh").set(-1L);
          value.field("f").set(0.5);
          value.field("d").set(0.1);
          value.field("b").set(true);
          value.field("colour").set(1);
          value.field("short").set("eight ch");
          value.field("long").set("späte Texte");
          value.field("text").set("of any length");
          value.field("kids").resize(2).at(1).field("i").set(9);
          value.field("row").at(1).at(2).set(6);
          value.field("choice").select(2).set("words");
        });
    Segment other = reader.open(server.url("/kinds"));
    try (ReadLock lock = other.read()) {
      Value value = lock.value("all");
      @SuppressWarnings("unchecked")
      Map<String, Object> all = (Map<String, Object>) value.get();
      assertEquals((byte) -3, all.get("c"));
      assertEquals((short) 200, all.get("uc"));
      assertEquals((short) -300, all.get("s"));
      assertEquals(60_000, all.get("us"));
      assertEquals(-70_000, all.get("i"));
      assertEquals(4_000_000_000L, all.get("ui"));
      assertEquals(-1L << 40, all.get("h"));
      assertEquals(-1L, all.get("uh"));
      assertEquals(0.5f, all.get("f"));
      assertEquals(0.1, all.get("d"));
      assertEquals(true, all.get("b"));
      assertEquals(1, all.get("colour"));
      assertEquals("eight ch", all.get("short"));
      assertEquals("späte Texte", all.get("long"));
      assertEquals("of any length", all.get("text"));
      assertEquals(2, value.field("kids").length());
      assertEquals(9, value.field("kids").at(1).field("i").integer());
      assertEquals(List.of(List.of(0, 0, 0), List.of(0, 0, 6)), all.get("row"));
      assertEquals(Map.of("which", 2, "words", "words"), all.get("choice"));
    }
    int before = blocksOf(own);
    own.write(
        lock -> {
          lock.value("all").field("text").set("");
          lock.value("all").field("kids").resize(0);
          assertNull(lock.value("all").field("choice").select(7));
        });
    assertEquals(before - 3, blocksOf(other), "what a field owned is freed [COPY-4]");
  }

  private static int blocksOf(Segment segment) {
    try (ReadLock lock = segment.read()) {
      return lock.values().size();
    }
  }

  @Test
  void wrongValuesAndUsesAreRefused() {
    Segment own = writer.open(server.url("/wrong"));
    try (WriteLock lock = own.write()) {
      Value head = lock.allocate(NODE, 1, "head");
      Value number = lock.allocate("uchar", 1, "n");
      fails(Error.BAD_VALUE, () -> number.set(256));
      fails(Error.BAD_ARGUMENT, () -> number.set(0.5));
      fails(Error.BAD_ARGUMENT, () -> head.field("none"));
      fails(Error.BAD_POINTER, () -> head.field("next").point(number));
      fails(Error.BAD_NAME, () -> lock.allocate("int", 1, "head"));
      fails(Error.BAD_NAME, () -> lock.allocate("int", 1, "1st"));
      fails(Error.UNKNOWN_TYPE, () -> lock.allocate("missing", 1, ""));
      Types other = Types.record("node").with("key", Types.DOUBLE);
      fails(Error.TYPE_CONFLICT, () -> lock.allocate(other, 1, ""));
      lock.release();
      fails(Error.NO_LOCK, () -> head.field("key").set(1));
      fails(Error.NO_LOCK, lock::release);
    }
    try (ReadLock lock = own.read()) {
      Value head = lock.value("head");
      fails(Error.NO_LOCK, () -> head.field("key").set(1));
      fails(Error.WOULD_DEADLOCK, own::write);
    }
    Segment readOnly = reader.open(server.url("/wrong"), OpenOptions.DEFAULT.readOnly());
    fails(Error.READ_ONLY, readOnly::write);
    fails(Error.NO_SEGMENT,
        () -> reader.open(server.url("/missing"), OpenOptions.DEFAULT.existing()));
    fails(Error.BAD_URL, () -> reader.open("no url"));
  }

  @Test
  void anAbsentServerIsUnreachableAtOnce() throws Exception {
    String url = server.url("/x");
    server.kill();
    assertThrows(UnreachableException.class, () -> writer.open(url));
  }

  @Test
  void oneClientHasOneCopyOfASegment() {
    Segment first = writer.open(server.url("/one"));
    Segment again = writer.open(server.url("/one"));
    assertSame(first, again);
    first.close();
    try (ReadLock lock = again.read()) {
      assertEquals(0, lock.version());
    }
    again.close();
    fails(Error.NOT_OPEN, again::read);
    writer.open(server.url("/one")).read(Duration.ofSeconds(5)).close();
  }

  @Test
  void moreBlocksThanAGrantHasSerials() {
    Segment own = writer.open(server.url("/many"));
    own.write(lock -> {
      for (int i = 0; i < 20_000; ++i) lock.allocate("int", 1, "").set(i);
    });
    assertEquals(20_000, blocksOf(reader.open(server.url("/many"))));
  }

  @Test
  void aPointerLeadsIntoAnotherSegment() {
    Segment there = writer.open(server.url("/there"));
    Segment here = writer.open(server.url("/here"));
    there.write(lock -> lock.allocate(NODE, 1, "target").field("key").set(42));
    try (ReadLock read = there.read(); WriteLock lock = here.write()) {
      lock.allocate(NODE, 1, "head").field("next").point(read.value("target"));
      lock.release();
    }
    Segment other = reader.open(server.url("/here"));
    try (ReadLock lock = other.read()) {
      fails(Error.NOT_OPEN, () -> lock.value("head").field("next").target());
      Segment target = reader.open(server.url("/there"));
      try (ReadLock second = target.read()) {
        assertEquals(42, lock.value("head").field("next").target().field("key").integer());
        assertEquals(1, second.version());
      }
    }
  }
}
