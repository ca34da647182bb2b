package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.List;
import org.interweave.IWObject;
import org.interweave.IW_Array;
import org.interweave.IW_Object;
import org.interweave.Interface.Error;
import org.interweave.objects.shapes.grid;
import org.interweave.objects.shapes.node;
import org.interweave.objects.shapes.node_t;
import org.interweave.objects.shapes.shape;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The fifth paper's interface: the program of section 3.1, and the signatures of Figure 2. */
@Timeout(60)
class PaperTest {
  private static final String C_PROGRAM =
      System.getenv().getOrDefault("IW_TEST_C", Agent.sibling("c_test"));

  private Server server;

  @BeforeEach
  void start() throws Exception {
    server = Server.start();
  }

  @AfterEach
  void stop() {
    Client.shared().close();
    server.close();
  }

  /** The statements of section 3.1; MyType is a class of this file, blkname a name. */
  @Test
  void theProgramOfSection3Runs() {
    String url = server.url("/paper");
    String blkname = "first";
    IWSegment seg = new IWSegment(url);
    seg.wl_acquire();
    node myobj = new node(seg, blkname);
    myobj.value = 7;
    assertEquals(0, seg.wl_release());
    assertSame(myobj, IWSegment.mip_to_ptr(url + "#first"));
    assertEquals(url + "#first", IWSegment.ptr_to_mip(myobj));
    seg.close();
    IWSegment again = new IW_Segment(url, Boolean.FALSE);
    assertEquals(0, again.rl_acquire());
    node seen = (node) IWSegment.mip_to_ptr(url + "#first");
    assertEquals(7, seen.value);
    assertEquals(0, again.rl_release());
    again.close();
  }

  @Test
  void figure2HasItsSignatures() throws Exception {
    assertTrue(IWObject.class.isAssignableFrom(IW_Object.class));
    assertTrue(IWSegment.class.isAssignableFrom(IW_Segment.class));
    for (Class<?> type : List.of(IWSegment.class, IW_Segment.class)) {
      assertTrue(Modifier.isPublic(type.getConstructor(String.class).getModifiers()));
      assertTrue(
          Modifier.isPublic(type.getConstructor(String.class, Boolean.class).getModifiers()));
      for (String lock : List.of("wl_acquire", "wl_release", "rl_acquire", "rl_release")) {
        Method method = type.getMethod(lock);
        assertSame(int.class, method.getReturnType(), lock);
        assertFalse(Modifier.isStatic(method.getModifiers()), lock);
      }
      isStatic(int.class, type.getMethod("RegisterClass", Class.class));
      isStatic(Object.class, type.getMethod("mip_to_ptr", String.class));
      isStatic(String.class, type.getMethod("ptr_to_mip", IWObject.class));
    }
  }

  private static void isStatic(Class<?> result, Method method) {
    assertSame(result, method.getReturnType(), method.toString());
    assertTrue(Modifier.isStatic(method.getModifiers()), method.toString());
    assertTrue(Modifier.isPublic(method.getModifiers()), method.toString());
  }

  @Test
  void section3_2_1MapsTypes() throws Exception {
    assertTrue(IW_Array.class.isAssignableFrom(grid.class));
    assertEquals(
        Modifier.PUBLIC | Modifier.STATIC | Modifier.FINAL,
        grid.class.getField("length").getModifiers());
    assertSame(double[].class, grid.class.getField("array").getType());
    assertSame(int.class, shape.class.getField("at_x").getType(), "an embedded struct");
    assertSame(IW_Object.class, node.class.getSuperclass());
  }

  @Test
  void registerClassAnswersWithACode() {
    assertEquals(0, IWSegment.RegisterClass(node.class));
    assertEquals(Error.UNKNOWN_TYPE.number, IWSegment.RegisterClass(String.class));
  }

  @Test
  void locksAnswerWithCodes() {
    IWSegment seg = new IWSegment(server.url("/codes"));
    assertEquals(Error.NO_LOCK.number, seg.wl_release());
    assertEquals(0, seg.rl_acquire());
    assertEquals(Error.WOULD_DEADLOCK.number, seg.wl_acquire());
    assertTrue(IWSegment.IW_strerror().contains("reader lock"), IWSegment.IW_strerror());
    assertEquals(Error.NO_LOCK.number, seg.wl_release());
    assertEquals(0, seg.rl_release());
    assertEquals(0, seg.wl_acquire());
    node made = new node(seg, "n");
    made.next = new node(seg, null);
    assertEquals(0, seg.wl_abort());
    assertNull(IWSegment.mip_to_ptr(server.url("/codes") + "#n"));
    assertNull(IWSegment.mip_to_ptr(server.url("/missing") + "#n"));
    seg.close();
  }

  @Test
  void aBlockOfASingleNumberIsItsWrapper() {
    String url = server.url("/numbers");
    IWSegment seg = new IWSegment(url);
    seg.segment()
        .write(
            lock -> {
              lock.allocate("int", 1, "i").set(5);
              lock.allocate("double", 1, "d").set(0.5);
            });
    assertEquals(Integer.valueOf(5), IWSegment.mip_to_ptr(url + "#i"));
    assertEquals(Double.valueOf(0.5), IWSegment.mip_to_ptr(url + "#d"));
    seg.close();
  }

  static String c(String... arguments) throws Exception {
    List<String> command = new java.util.ArrayList<>(List.of(C_PROGRAM));
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes()).strip();
    assertEquals(0, process.waitFor(), said);
    return said;
  }

  /** C makes the list of Figure 1 of the first paper; Java walks it, inserts, and C searches. */
  @Test
  void aListOfCIsAListOfJava() throws Exception {
    String url = server.url("/list");
    assertEquals("ok", c(url));
    IWSegment seg = new IWSegment(url, false);
    node_t head = (node_t) IWSegment.mip_to_ptr(url + "#head");
    assertEquals(0, seg.wl_acquire());
    int sum = 0;
    for (node_t at = head.next; at != null; at = at.next) sum += at.key;
    assertEquals(15, sum);
    while (head.next.key != 1) head.next = head.next.next;
    for (int key = 2; key <= 5; ++key) {
      node_t made = new node_t(seg, null);
      made.key = key;
      made.next = head.next;
      head.next = made;
    }
    assertEquals(0, seg.wl_release());
    seg.close();
    assertEquals("ok", c(url, "search"));
  }

  /** A program that has named no class yet finds the classes of a segment by the index. */
  @Test
  void anIndexNamesTheClassesOfTypes() throws Exception {
    String url = server.url("/indexed");
    assertEquals("ok", c(url));
    String root = System.getProperty("interweave.root");
    Path index = Path.of(root, "java", "src", "test", "java");
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path") + File.pathSeparator + index,
                Reading.class.getName(),
                url + "#head")
            .redirectErrorStream(true)
            .start();
    String said = new String(process.getInputStream().readAllBytes()).strip();
    assertEquals("org.interweave.objects.shapes.node_t", said);
    assertEquals(0, process.waitFor());
  }

  /** Says the class of what a pointer leads to. */
  static final class Reading {
    public static void main(String[] arguments) {
      System.out.println(IWSegment.mip_to_ptr(arguments[0]).getClass().getName());
      Client.shared().close();
    }
  }

  @Test
  void blocksAreRecordsAsWell() throws Exception {
    String url = server.url("/records");
    assertEquals("ok", c(url));
    try (ReadLock lock = Segment.open(url).read()) {
      assertEquals("node_t", lock.value("head").typeName());
      assertEquals(5, lock.value("head").field("next").target().field("key").integer());
      assertInstanceOf(node_t.class, lock.object("head", node_t.class));
    }
  }
}
