package org.interweave.objects;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.interweave.IW_Elements;
import org.interweave.IW_Field;
import org.interweave.IW_Memory;
import org.interweave.IW_Object;
import org.interweave.IW_Ref;
import org.interweave.IW_Space;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.diff.Changes;
import org.interweave.diff.CopiedBlock;
import org.interweave.diff.Copy;
import org.interweave.objects.shapes.color;
import org.interweave.objects.shapes.figure;
import org.interweave.objects.shapes.grid;
import org.interweave.objects.shapes.node;
import org.interweave.objects.shapes.point;
import org.interweave.objects.shapes.shape;
import org.interweave.objects.shapes.shapes_x;
import org.interweave.types.Type;
import org.interweave.wire.WirePointer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Objects are what memory says, and memory becomes what objects say. A second copy reads it. */
class ObjectMapTest {
  private static final long MAX_BYTES = 1L << 30;
  private static final long SERIALS = 2_000_000;
  private final Copy copy = new Copy(MAX_BYTES, new MappedBlocks());
  private final Copy reader = new Copy(MAX_BYTES, new MappedBlocks());
  private final Neighbours.None client = new Neighbours.None();
  private final ObjectMap map = new ObjectMap(copy, "iw://here/a", client);
  private final ObjectMap read = new ObjectMap(reader, "iw://here/a", new Neighbours.None());
  private Changes changes;
  private long nextSerial = 1;

  @BeforeEach
  void begin() {
    changes = new Changes(copy, nextSerial, SERIALS);
    nextSerial += SERIALS;
    client.write(changes);
  }

  /** Flushes, and gives the diff to the reader; whether there was one. */
  private boolean release() {
    map.flush();
    byte[] diff = changes.collect();
    if (diff != null) reader.apply(diff);
    changes.commit(reader.version(), false);
    read.refresh();
    begin();
    return diff != null;
  }

  private shape seen() {
    return (shape) read.object(reader.block("s"));
  }

  private static Type.Member member(CopiedBlock block, String name) {
    for (Type.Member each : block.type.fields()) if (each.name().equals(name)) return each;
    throw new AssertionError(name);
  }

  private static InterweaveException refused(Runnable action) {
    return assertThrows(InterweaveException.class, action::run);
  }

  @Test
  void numbersAndStringsReachAnotherCopy() {
    shape made = new shape(map, "s");
    made.c = -5;
    made.set_uc(250);
    made.s = -30000;
    made.set_us(60000);
    made.h = Long.MIN_VALUE;
    made.uh = -1L;
    made.f = 1.5f;
    made.d = Double.longBitsToDouble(0x7ff8000000000123L);
    made.b = true;
    made.k = color.GREEN;
    made.at_x = -7;
    made.set_at_y(4_000_000_000L);
    made.q[15] = 9;
    made.bytes[2] = 3;
    made.row[1] = 2.5;
    made.flags[1] = true;
    made.name = "Grüße";
    made.words[1] = "five5";
    made.text = "as long as it gets";
    made.numbers = new int[] {3, 1, 2};
    assertTrue(release());
    shape seen = seen();
    assertEquals(-5, seen.c);
    assertEquals(250, seen.get_uc());
    assertEquals(60000, seen.get_us());
    assertEquals(-30000, seen.s);
    assertEquals(Long.MIN_VALUE, seen.h);
    assertEquals(-1L, seen.uh);
    assertEquals(1.5f, seen.f);
    assertEquals(0x7ff8000000000123L, Double.doubleToRawLongBits(seen.d));
    assertTrue(seen.b);
    assertEquals(color.GREEN, seen.k);
    assertEquals(-7, seen.at_x);
    assertEquals(4_000_000_000L, seen.get_at_y());
    assertEquals(9, seen.q[15]);
    assertArrayEquals(new byte[] {0, 0, 3}, seen.bytes);
    assertArrayEquals(new double[] {0, 2.5, 0, 0}, seen.row);
    assertArrayEquals(new boolean[] {false, true}, seen.flags);
    assertEquals("Grüße", seen.name);
    assertArrayEquals(new String[] {"", "five5"}, seen.words);
    assertEquals("as long as it gets", seen.text);
    assertArrayEquals(new int[] {3, 1, 2}, seen.numbers);
    assertFalse(release(), "nothing changed since");
  }

  @Test
  void offsetsAreThoseOfTheDescriptor() throws ReflectiveOperationException {
    new shape(map, "s");
    for (Type.Member member : copy.types().byName("shape").fields()) {
      String name = member.name().equals("at") ? "at_x" : member.name();
      Field field = shape.class.getField(name);
      assertEquals(member.at(), field.getAnnotation(IW_Field.class).at(), name);
    }
    assertEquals(shapes_x.SIDES, shape.row_length);
    assertEquals(4, grid.length);
  }

  @Test
  void pointersAreReferencesAndKeepIdentity() {
    shape made = new shape(map, "s");
    node one = new node(map, "one");
    node two = new node(map, null);
    one.next = two;
    two.next = one;
    two.value = 22;
    made.first = one;
    made.several[1] = two;
    made.many = new node[] {two, null, one};
    made.several[0] = made.nodes.get(2);
    made.nodes.get(2).value = 77;
    made.sheet = new grid(map, null);
    made.sheet.array[3] = 0.25;
    assertTrue(release());
    shape seen = seen();
    assertSame(seen.first, seen.first.next.next);
    assertEquals(22, seen.first.next.value);
    assertSame(seen.first.next, seen.several[1]);
    assertSame(seen.first, seen.many[2]);
    assertNull(seen.many[1]);
    assertSame(seen.nodes.get(2), seen.several[0]);
    assertEquals(77, seen.several[0].value);
    assertEquals(0.25, seen.sheet.array[3]);
    assertSame(seen.first, read.object(reader.block("one")));
    made.first = null;
    made.many = new node[0];
    assertTrue(release());
    assertNull(seen.first);
    assertEquals(0, seen.many.length);
    assertNotNull(seen.several[1]);
  }

  @Test
  void interiorPointersAreBlockAndUnit() {
    shape made = new shape(map, "s");
    point alone = new point(map, "p");
    release();
    CopiedBlock block = copy.block("s");
    long unit = member(block, "at").unit();
    int corner = (int) member(block, "corner").at();
    changes.touch(block);
    new WirePointer(0, block.serial, unit).put(block.memory(), corner);
    map.reload();
    IW_Ref ref = made.corner;
    assertEquals(block.serial, ref.block());
    assertEquals(unit, ref.unit());
    made.anything = ref;
    assertTrue(release());
    assertEquals(unit, seen().anything.unit());
    new WirePointer(0, copy.block("p").serial, 0).put(block.memory(), corner);
    map.reload();
    assertSame(alone, made.corner.object(point.class));
  }

  @Test
  void unionsHoldOneArm() {
    shape made = new shape(map, "s");
    made.drawn.kind = color.RED;
    made.drawn.corner_x = 8;
    figure second = made.drawings.get(1);
    second.kind = color.GREEN;
    second.label = "eight888";
    assertTrue(release());
    shape seen = seen();
    assertEquals(8, seen.drawn.corner_x);
    assertEquals("eight888", seen.drawings.get(1).label);
    made.drawn.kind = color.GREEN;
    String refused = refused(map::flush).getMessage();
    assertTrue(refused.contains("shape.drawn: figure.corner_x or label"), refused);
    made.drawn.label = "";
    assertTrue(release());
    assertEquals(color.GREEN, seen.drawn.kind);
    assertEquals("", seen.drawn.label);
  }

  @Test
  void malformedTextSurvivesUnlessItIsAssigned() {
    shape made = new shape(map, "s");
    made.name = "before";
    release();
    CopiedBlock block = copy.block("s");
    int at = (int) member(block, "name").at();
    changes.touch(block);
    block.memory()[at] = (byte) 0xff;
    map.reload();
    byte[] there = Arrays.copyOfRange(block.memory(), at, at + 20);
    made.c = 1;
    assertTrue(release());
    assertArrayEquals(there, Arrays.copyOfRange(block.memory(), at, at + 20));
    made.name = made.name + "!";
    release();
    assertEquals((byte) 0xef, block.memory()[at], "the replacement character");
  }

  @Test
  void sequencesOfStructsAreResized() {
    shape made = new shape(map, "s");
    assertEquals(0, made.more.size());
    made.more.resize(3);
    made.more.get(2).value = 5;
    made.first = made.more.get(2);
    assertTrue(release());
    shape seen = seen();
    assertEquals(3, seen.more.size());
    assertSame(seen.more.get(2), seen.first);
    assertEquals(5, seen.first.value);
    made.first = null;
    made.more.resize(1);
    assertTrue(release());
    assertEquals(1, seen.more.size());
    made.numbers = new int[9];
    InterweaveException refused = refused(map::flush);
    assertEquals(Error.TOO_LARGE, refused.code());
    assertTrue(refused.getMessage().contains("shape.numbers"), refused.getMessage());
  }

  @Test
  void storesWithoutSettersAreFoundAndCounted() {
    node made = new node(map, "n");
    release();
    made.set_value(1);
    assertTrue(release());
    assertEquals(0, map.unmarkedObjects());
    made.value = 2;
    assertTrue(release());
    assertEquals(1, map.unmarkedObjects());
    assertEquals(2, ((node) read.object(reader.block("n"))).value);
    made.set_value(2);
    assertFalse(release(), "the same value is no change");
  }

  @Test
  void escapedRowsAreCompared() {
    shape made = new shape(map, "s");
    double[] escaped = made.row;
    release();
    Arrays.fill(escaped, 1.25);
    assertTrue(release());
    assertArrayEquals(new double[] {1.25, 1.25, 1.25, 1.25}, seen().row);
    assertSame(escaped, made.row);
    made.row = new double[5];
    InterweaveException refused = refused(map::flush);
    assertTrue(refused.getMessage().contains("shape.row"), refused.getMessage());
  }

  @Test
  void freedObjectsThrow() {
    node made = new node(map, "n");
    node other = new node(map, "o");
    release();
    node seen = (node) read.object(reader.block("n"));
    map.free(made);
    assertEquals(Error.NO_BLOCK, refused(made::get_value).code());
    assertEquals(Error.NO_BLOCK, refused(() -> made.set_value(1)).code());
    other.next = made;
    InterweaveException refused = refused(map::flush);
    assertEquals(Error.NO_BLOCK, refused.code());
    assertTrue(refused.getMessage().contains("node.next"), refused.getMessage());
    other.next = null;
    release();
    assertEquals(Error.NO_BLOCK, refused(seen::get_value).code());
  }

  @Test
  void storesNeedAWritersSectionAndFit() {
    node made = new node(map, "n");
    point limited = new point(map, null);
    assertEquals(Error.BAD_VALUE, refused(() -> limited.set_y(1L << 32)).code());
    client.write(null);
    assertEquals(Error.NO_LOCK, refused(() -> made.set_value(1)).code());
    assertEquals(Error.NO_LOCK, refused(() -> new node(map, null)).code());
  }

  private static final class Stranger extends IW_Object {
    Stranger(IW_Space space) {
      super(space, null);
    }

    @Override
    public void iw_transfer(IW_Memory memory) {}
  }

  @Test
  void classesThatAreNotRegisteredAreRefused() {
    InterweaveException refused = refused(() -> new Stranger(map));
    assertEquals(Error.UNKNOWN_TYPE, refused.code());
    assertTrue(refused.getMessage().contains("Stranger"), refused.getMessage());
    assertFalse(release(), "no block was made");
  }

  @Test
  void undoneChangesAreLoadedAgain() {
    node made = new node(map, "n");
    made.value = 1;
    release();
    made.value = 2;
    map.flush();
    changes.undo();
    map.reload();
    assertEquals(1, made.value);
  }

  @Test
  void blocksOfSeveralElementsAreLists() {
    IW_Elements<node> made = map.allocate(node.class, 5, "five");
    made.get(4).value = 44;
    made.get(0).next = made.get(4);
    assertTrue(release());
    IW_Elements<node> seen = read.elements(reader.block("five"), node.class);
    assertEquals(5, seen.size());
    assertSame(seen.get(4), seen.get(0).next);
    assertEquals(44, seen.get(4).value);
    assertEquals(8, seen.get(4).iw_place().unit());
  }

  /** A method that called itself for each node would need many times the stack of a thread. */
  @Test
  void aLongListNeedsNoStack() {
    int count = 100_000;
    node last = null;
    for (int i = 0; i < count; ++i) {
      node made = new node(map, i == count - 1 ? "head" : null);
      made.next = last;
      last = made;
    }
    assertTrue(release());
    int found = 0;
    for (node at = (node) read.object(reader.block("head")); at != null; at = at.next) ++found;
    assertEquals(count, found);
  }

  /** What could not be loaded is neither shown nor stored with the values of a new object. */
  @Test
  void anObjectThatCouldNotBeLoadedIsLoadedLater() {
    fragile made = new fragile(map, "one");
    made.value = 1;
    made.next = new fragile(map, null);
    made.next.value = 2;
    release();
    fragile.failsIn = 2;
    assertThrows(OutOfMemoryError.class, () -> read.object(reader.block("one")));
    fragile seen = (fragile) read.object(reader.block("one"));
    assertEquals(1, seen.value);
    assertEquals(2, seen.next.value);
    fragile.failsIn = 1;
    assertThrows(OutOfMemoryError.class, () -> new fragile(map, "unmade"));
    assertFalse(release(), "no block was made");
  }

  /** One collection may leave what a reference handler or another thread still has. */
  private static long usedMemory() {
    long used = Long.MAX_VALUE;
    while (true) {
      System.gc();
      long now = Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
      if (now >= used) return used;
      used = now;
    }
  }

  /** 24 bytes are the block's own memory; 140 are for the block, its object and what finds them. */
  @Test
  void aBlockTakesFewBytes() {
    int count = 65_000;
    node last = null;
    for (int i = 0; i < count; ++i) {
      node made = new node(map, i == count - 1 ? "head" : null);
      made.next = last;
      last = made;
    }
    map.flush();
    byte[] diff = changes.collect();
    long before = usedMemory();
    reader.apply(diff);
    node head = (node) read.object(reader.block("head"));
    long bytes = (usedMemory() - before) / count;
    assertNotNull(head.next.next);
    // Otherwise a collection may free the writer's objects, too, and the figure is less.
    Reference.reachabilityFence(diff);
    Reference.reachabilityFence(last);
    assertTrue(bytes < 24 + 120, bytes + " bytes a block");
  }

  /** As after another incarnation of the server, whose types are others of the same structure. */
  @Test
  void classesAreFoundAfterACompleteCopy() {
    node made = new node(map, "n");
    made.value = 1;
    map.flush();
    byte[] complete = changes.collect();
    reader.apply(complete);
    node seen = (node) read.object(reader.block("n"));
    assertEquals(1, seen.value);
    reader.begin(List.of(), 0);
    reader.apply(complete);
    read.refresh();
    ObjectMap anew = new ObjectMap(reader, "iw://here/a", new Neighbours.None());
    assertTrue(anew.isOf(reader.block("n"), node.class));
    assertSame(seen, read.object(reader.block("n")));
    assertTrue(read.isOf(reader.block("n"), node.class));
  }

  /** A reader that only follows a segment must not keep what others made and freed there. */
  @Test
  void objectsOfFreedBlocksCanBeCollected() {
    List<WeakReference<shape>> seen = new ArrayList<>();
    for (int i = 0; i < 1000; ++i) {
      shape made = new shape(map, "s");
      release();
      seen.add(new WeakReference<>(seen()));
      map.free(made);
      release();
    }
    System.gc();
    long kept = seen.stream().filter(each -> each.get() != null).count();
    assertTrue(kept < 500, kept + " objects of freed blocks");
  }
}
