package org.interweave.objects;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.interweave.IW_Elements;
import org.interweave.IW_Object;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.diff.Changes;
import org.interweave.diff.CopiedBlock;
import org.interweave.diff.Copy;
import org.interweave.objects.shapes.paint;
import org.interweave.objects.shapes.pair;
import org.interweave.objects.shapes.point;
import org.interweave.wire.LittleEndian;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Rows and elements that are rewritten whole, now and then in a part, or not at all. */
class WholeRewritesTest {
  private static final long SEED = 20261129;
  private static final int POINTS = 1 << 13;
  private static final int OWNED = 1 << 14;
  private static final int PAIRS = 1 << 12;
  private static final int ROUNDS = 300;
  private static final long SERIALS = 100;

  private final Copy copy = new Copy(1 << 24, new MappedBlocks());
  private final Copy reader = new Copy(1 << 24, new MappedBlocks());
  private final Neighbours.None client = new Neighbours.None();
  private final ObjectMap map = new ObjectMap(copy, "iw://here/a", client);
  private final ObjectMap read = new ObjectMap(reader, "iw://here/a", new Neighbours.None());
  private final Random random = new Random(SEED);
  private long next = 1;
  private Changes changes;
  private byte[] diff;
  private wide_t wide;
  private owner_t owner;
  private IW_Elements<point> points;
  private IW_Elements<pair> pairs;
  private texts_t texts;
  private int wholeRows;
  private int wholeElements;

  /** The values of all objects. */
  private static final class Values implements Cloneable {
    double[] row = new double[wide_t.LENGTH];
    int[] owned = new int[OWNED];
    int[] points = new int[2 * POINTS];
    int[] pairs = new int[PAIRS];
    String[] texts = new String[texts_t.LENGTH];

    Values copy() {
      Values other = new Values();
      other.row = row.clone();
      other.owned = owned.clone();
      other.points = points.clone();
      other.pairs = pairs.clone();
      other.texts = texts.clone();
      return other;
    }
  }

  @BeforeEach
  void start() {
    // As if the program had carried much, so that generated classes carry numbers by themselves.
    LittleEndian.carried(1 << 25);
    ObjectMap.register(wide_t.class);
    ObjectMap.register(owner_t.class);
    ObjectMap.register(texts_t.class);
    begin();
    wide = new wide_t(map, "wide");
    owner = new owner_t(map, "owner");
    owner.owned = new int[OWNED];
    points = map.allocate(point.class, POINTS, "points");
    for (int i = 0; i < POINTS; ++i) points.get(i);
    pairs = map.allocate(pair.class, PAIRS, "pairs");
    for (int i = 0; i < PAIRS; ++i) pairs.get(i);
    texts = new texts_t(map, "texts");
    release();
    IW_Elements<point> there = read.elements(reader.block("points"), point.class);
    for (int i = 0; i < POINTS; ++i) there.get(i);
  }

  private void begin() {
    changes = new Changes(copy, next, SERIALS);
    next += SERIALS;
    client.write(changes);
  }

  private void release() {
    map.flush();
    diff = changes.collect();
    if (diff != null) reader.apply(diff.clone());
    changes.commit(reader.version(), true);
    client.write(null);
    read.refresh();
    if (diff == null) return;
    if (liesInDiff("wide")) ++wholeRows;
    if (liesInDiff("points")) ++wholeElements;
  }

  private boolean liesInDiff(String name) {
    CopiedBlock block = copy.block(name);
    return block.bytes(0, block.length()).from() == diff;
  }

  /** The values that change in this round, from the first number up to the second. */
  private int[] range(int length) {
    int how = random.nextInt(12);
    if (how == 0) return new int[] {0, 0};
    if (how > 2) return new int[] {0, length};
    int begin = random.nextInt(length);
    return new int[] {begin, begin + random.nextInt(length - begin)};
  }

  private void store(Values to) {
    int[] part = range(to.row.length);
    for (int i = part[0]; i < part[1]; ++i) wide.row[i] = to.row[i] += 1 + random.nextInt(3);
    part = range(OWNED);
    for (int i = part[0]; i < part[1]; ++i) owner.owned[i] = to.owned[i] += 1 + random.nextInt(3);
    part = range(POINTS);
    boolean isMarked = random.nextInt(8) > 0;
    for (int i = part[0]; i < part[1]; ++i) {
      point each = points.get(i);
      to.points[2 * i] += 1 + random.nextInt(3);
      to.points[2 * i + 1] ^= random.nextInt();
      if (isMarked || IW_Object.iw_isTracked()) {
        each.set_x(to.points[2 * i]);
        each.set_y(to.points[2 * i + 1] & 0xffffffffL);
      } else {
        each.x = to.points[2 * i];
        each.y = to.points[2 * i + 1];
      }
    }
    part = range(PAIRS);
    for (int i = part[0]; i < part[1]; ++i) {
      int value = to.pairs[i] += 1 + random.nextInt(3);
      pairs.get(i).set_i(value);
      pairs.get(i).set_d(-value);
    }
    part = range(texts_t.LENGTH);
    for (int i = part[0]; i < part[1]; ++i) texts.row[i] = to.texts[i] = text();
  }

  /** A text of up to 20 bytes, sometimes with letters of several bytes. */
  private String text() {
    String letters = random.nextInt(4) > 0 ? "abcdefg" : "aéß€";
    StringBuilder built = new StringBuilder();
    for (int i = random.nextInt(7); i > 0; --i) {
      built.append(letters.charAt(random.nextInt(letters.length())));
    }
    return random.nextInt(20) == 0 ? "12345678901234567890" : built.toString();
  }

  private void check(Values wanted, String where) {
    assertArrayEquals(wanted.row, wide.row, where);
    assertArrayEquals(wanted.owned, owner.owned, where);
    check(wanted.points, points, where);
    assertArrayEquals(wanted.row, ((wide_t) seen("wide")).row, where);
    assertArrayEquals(wanted.owned, ((owner_t) seen("owner")).owned, where);
    check(wanted.points, read.elements(reader.block("points"), point.class), where);
    assertArrayEquals(wanted.texts, texts.row, where);
    assertArrayEquals(wanted.texts, ((texts_t) seen("texts")).row, where);
    IW_Elements<pair> there = read.elements(reader.block("pairs"), pair.class);
    for (int i = 0; i < PAIRS; ++i) {
      int value = wanted.pairs[i];
      boolean isRight = pairs.get(i).i == value && pairs.get(i).d == -value;
      assertTrue(isRight && there.get(i).i == value && there.get(i).d == -value, where);
    }
  }

  private IW_Object seen(String name) {
    return read.object(reader.block(name));
  }

  private static void check(int[] wanted, IW_Elements<point> points, String where) {
    for (int i = 0; i < POINTS; ++i) {
      if (points.get(i).x == wanted[2 * i] && points.get(i).y == wanted[2 * i + 1]) continue;
      assertEquals(wanted[2 * i] + "," + wanted[2 * i + 1],
          points.get(i).x + "," + points.get(i).y, where + ", point " + i);
    }
  }

  @Test
  void allThatIsStoredArrivesOrIsUndone() {
    rewrite();
    assertTrue(wholeRows > ROUNDS / 6, wholeRows + " rows were taken whole");
    assertEquals(0, wholeElements, "no release passes over elements without a mark");
  }

  /** A promise that all stores are marked holds for a whole virtual machine. */
  @Test
  void soDoesAllThatIsMarked() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Dinterweave.marks=true",
                "-cp",
                System.getProperty("java.class.path"),
                WholeRewritesTest.class.getName())
            .redirectErrorStream(true)
            .start();
    String said = new String(process.getInputStream().readAllBytes()).strip();
    assertEquals("rows and elements were taken whole", said);
  }

  private void store(String[] texts, int from) {
    begin();
    for (int i = 0; i < texts.length; ++i) texts[i] = "text " + (from + i);
    release();
  }

  /** A text that does not fit is refused with the field's name, and the section continues. */
  @Test
  void aTextThatDoesNotFitIsRefusedAlsoAmongManyThatAreNotCompared() {
    for (int round = 0; round < 4; ++round) store(texts.row, 10_000 * round);
    CopiedBlock block = copy.block("texts");
    byte[] before = block.memory();
    store(texts.row, 50_000);
    assertNotSame(before, block.memory(), "it is taken whole");
    begin();
    for (int i = 0; i < texts.row.length; ++i) texts.row[i] = "other " + i;
    for (String wrong : new String[] {"123456789012345678901", "a\0", null}) {
      texts.row[77] = wrong;
      InterweaveException thrown = assertThrows(InterweaveException.class, map::flush);
      assertEquals(Error.BAD_VALUE, thrown.code());
      assertTrue(thrown.getMessage().contains("row"), thrown.getMessage());
    }
    texts.row[77] = "right";
    release();
    assertArrayEquals(texts.row, ((texts_t) seen("texts")).row);
  }

  /** The values of an enum are checked before they are sent, and the section continues. */
  @Test
  void whatIsNoMemberIsRefusedAlsoInARowThatIsNotCompared() {
    begin();
    paint paint = new paint(map, "paint");
    release();
    for (int round = 0; round < 6; ++round) {
      begin();
      Arrays.fill(paint.array, 1 + round % 2);
      if (round > 3) {
        byte[] before = copy.block("paint").memory().clone();
        paint.array[77] = 3;
        map.flush();
        assertArrayEquals(before, copy.block("paint").memory(), "it is taken whole");
        InterweaveException thrown =
            assertThrows(InterweaveException.class, () -> changes.collect());
        assertEquals(Error.BAD_VALUE, thrown.code());
        paint.array[77] = 2;
      }
      release();
      assertArrayEquals(paint.array, ((paint) seen("paint")).array);
    }
  }

  /** After a refused release the program puts a part of the values back, and marks that part. */
  @Test
  void whatIsPutBackAfterARefusedReleaseIsNotSent() {
    begin();
    paint row = new paint(map, "paint");
    row.iw_setAlone();
    release();
    for (int round = 0; round < 6; ++round) {
      begin();
      for (int i = 0; i < paint.length; ++i) row.set(i, 1 + round % 2);
      if (round > 3) {
        map.flush();
        changes.collect();
        for (int i = 0; i < paint.length / 2; ++i) row.set(i, 2 - round % 2);
      }
      release();
      assertArrayEquals(row.array, ((paint) seen("paint")).array);
      assertArrayEquals(row.array, ints("paint"));
    }
  }

  private int[] ints(String name) {
    byte[] memory = copy.block(name).memory();
    int[] values = new int[memory.length / 4];
    for (int i = 0; i < values.length; ++i) values[i] = LittleEndian.getInt(memory, 4 * i);
    return values;
  }

  /** Bytes that are not UTF-8 stay, unless the program assigns the string. */
  @Test
  void malformedTextsStayAmongManyThatAreNotCompared() {
    for (int round = 0; round < 4; ++round) store(texts.row, 10_000 * round);
    begin();
    CopiedBlock block = copy.block("texts");
    changes.touch(block);
    block.memory()[texts_t.BOUND * 5] = (byte) 0xff;
    diff = changes.collect();
    reader.apply(diff.clone());
    changes.commit(reader.version(), false);
    client.write(null);
    map.reload();
    for (int round = 5; round < 8; ++round) {
      begin();
      for (int i = 0; i < texts.row.length; ++i) {
        if (i != 5) texts.row[i] = "text " + (10_000 * round + i);
      }
      release();
      assertEquals((byte) 0xff, reader.block("texts").memory()[texts_t.BOUND * 5]);
    }
    assertTrue(texts.row[5].startsWith("\uFFFD"), texts.row[5]);
  }

  public static void main(String[] arguments) {
    WholeRewritesTest test = new WholeRewritesTest();
    test.start();
    test.rewrite();
    boolean isOften = test.wholeRows > ROUNDS / 6 && test.wholeElements > ROUNDS / 8;
    String said = isOften ? "rows and elements were taken whole" : "too seldom";
    System.out.println(test.equalValuesMakeAVersion() ? "equal values were sent" : said);
  }

  private boolean equalValuesMakeAVersion() {
    for (int round : new int[] {1, 2, 3, 4, 5, 5}) {
      begin();
      for (int i = 0; i < PAIRS; ++i) {
        pairs.get(i).set_i(-round);
        pairs.get(i).set_d(i);
      }
      release();
    }
    return diff != null;
  }

  private void rewrite() {
    Values wanted = new Values();
    Arrays.fill(wanted.texts, "");
    for (int round = 0; round < ROUNDS; ++round) {
      String where = "seed " + SEED + ", round " + round;
      Values stored = wanted.copy();
      begin();
      store(stored);
      int how = random.nextInt(10);
      // As after a refused release: the section continues.
      if (how < 2) map.flush();
      if (how == 0) changes.collect();
      if (how == 1) store(stored);
      if (how == 2) {
        if (random.nextBoolean()) map.flush();
        changes.undo();
        client.write(null);
        map.reload();
      } else {
        release();
        wanted = stored;
      }
      check(wanted, where);
    }
  }
}
