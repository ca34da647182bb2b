package org.interweave.vectors;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.interweave.diff.Changes;
import org.interweave.diff.CopiedBlock;
import org.interweave.diff.Copy;
import org.interweave.diff.Diff;
import org.interweave.types.Leaf;
import org.interweave.types.Plan;
import org.interweave.types.TypeTable;
import org.interweave.wire.ByteWriter;
import org.interweave.wire.LittleEndian;
import org.junit.jupiter.api.Test;

/** What a writer collects makes a reader's copy equal to the writer's, and undo is whole. */
class CollectingTest {
  private static final long SEED = 20261124;
  private static final long MAX_BYTES = 1 << 24;
  private static final long FIRST_SERIAL = 1000;

  /** Figure 3's structure: units i0 0, i1 1, i2 2, d0 3, d1 4, ptr 5. */
  @Test
  void theWorkedExampleIsCollectedByteForByte() {
    Vector vector = exampleVector();
    Copy copy = vector.copy();
    Changes changes = new Changes(copy, FIRST_SERIAL, 1);
    CopiedBlock block = copy.block(7);
    changes.touch(block);
    LittleEndian.putInt(block.memory(), 0, 1);
    LittleEndian.putInt(block.memory(), 8, 3);
    LittleEndian.putLong(block.memory(), 24, Double.doubleToRawLongBits(2.5));
    LittleEndian.putLong(block.memory(), 32, 7L << 16);
    LittleEndian.putLong(block.memory(), 40, 2);
    assertArrayEquals(vector.bytes(), changes.collect());
  }

  private static Vector exampleVector() {
    byte[] example =
        HexFormat.of()
            .parseHex(
                "4957443100040506280e260001010000000101030000000102000000000000044000000700"
                    + "000000000200000000000000");
    return Vector.of("good").stream()
        .filter(each -> each.text("kind").equals("diff"))
        .filter(each -> Arrays.equals(example, each.bytes()))
        .findFirst()
        .orElseThrow();
  }

  /** Each diff of the vectors, made again from the memory that it leads to. */
  @Test
  void collectedVectorsHaveTheSameMeaning() {
    int collected = 0;
    for (Vector vector : Vector.of("good")) {
      if (!vector.text("kind").equals("diff")) continue;
      Diff diff = new Diff(vector.bytes());
      if (diff.isMetadataOnly() || diff.from() == 0 || diff.live() != null) continue;
      if (diff.to() != diff.from() + 1) continue;
      Copy target = vector.copy();
      target.apply(vector.bytes());
      Copy reader = vector.copy();
      reader.apply(repeat(vector.copy(), diff, target));
      assertSame(target, reader, vector.text("name"));
      ++collected;
    }
    assertTrue(collected >= 5, collected + " vectors");
  }

  /** Does to the writer's copy by hand what the diff does, and collects it. */
  private static byte[] repeat(Copy writer, Diff diff, Copy target) {
    Changes changes = new Changes(writer, 1, 0);
    long known = writer.types().nextSerial();
    changes.addTypes(diff.types().stream().filter(type -> type.serial() >= known).toList());
    for (String slot : target.slots()) changes.slotOf(slot);
    for (long serial : diff.freed()) changes.free(writer.block(serial));
    Diff.Blocks blocks = diff.newBlocks();
    for (Diff.NewBlock made = blocks.next(); made != null; made = blocks.next()) {
      changes.addSerials(made.serial(), 1);
      changes.allocate(writer.types().get(made.typeSerial()), made.count(), made.name());
    }
    for (CopiedBlock block : target.blocks()) {
      CopiedBlock own = writer.block(block.serial);
      changes.touch(own);
      System.arraycopy(block.memory(), 0, own.memory(), 0, own.length());
    }
    byte[] bytes = changes.collect();
    return bytes == null ? emptyRelease(diff) : bytes;
  }

  /** [DIFF-6] */
  private static byte[] emptyRelease(Diff diff) {
    ByteWriter out = new ByteWriter();
    out.put(new byte[] {'I', 'W', 'D', '1', 0});
    out.varint(diff.from());
    out.varint(diff.to());
    return out.finish();
  }

  @Test
  void randomEditsArriveOrAreUndone() {
    Random random = new Random(SEED);
    Copy writer = new Copy(MAX_BYTES);
    Copy reader = new Copy(MAX_BYTES);
    addTypes(writer.types());
    addTypes(reader.types());
    writer.begin(List.of(), 1);
    reader.begin(List.of(), 1);
    long serial = FIRST_SERIAL;
    for (int round = 0; round < 400; ++round) {
      Changes changes = new Changes(writer, serial, 8);
      edit(writer, changes, random);
      byte[] diff = changes.collect();
      serial += 8 - changes.serialsLeft();
      String where = "seed " + SEED + ", round " + round;
      if (diff == null || random.nextInt(4) == 0) {
        changes.undo();
      } else {
        reader.apply(diff);
        changes.commit(reader.version(), false);
      }
      assertSame(writer, reader, where);
      assertEquals(writer.version(), reader.version(), where);
    }
    assertTrue(writer.version() > 100, "versions: " + writer.version());
  }

  /** Those of the diff among the vectors that stands among the most types. */
  private static void addTypes(TypeTable table) {
    Vector.of("good").stream()
        .filter(vector -> vector.text("kind").equals("diff"))
        .max(Comparator.comparingInt(vector -> vector.context("types", List.of()).size()))
        .orElseThrow()
        .addTypes(table);
    assertTrue(table.nextSerial() > 66, "types up to " + table.nextSerial());
  }

  private static void edit(Copy writer, Changes changes, Random random) {
    TypeTable types = writer.types();
    int kinds = 11 + (int) (types.nextSerial() - 64);
    for (int i = random.nextInt(6); i > 0; --i) {
      List<CopiedBlock> blocks = new ArrayList<>(writer.blocks());
      int what = random.nextInt(8);
      if (blocks.isEmpty() || what == 0) {
        int kind = random.nextInt(kinds);
        var type = types.get(kind < 11 ? kind + 1 : 64 + kind - 11);
        String name = random.nextBoolean() ? "" : "b" + random.nextInt(1 << 30);
        fill(changes.allocate(type, 1 + random.nextInt(40), name), random);
      } else if (what == 1) {
        changes.free(blocks.get(random.nextInt(blocks.size())));
      } else if (what == 2) {
        changes.slotOf("/s" + random.nextInt(40));
      } else {
        CopiedBlock block = blocks.get(random.nextInt(blocks.size()));
        changes.touch(block);
        fill(block, random);
      }
    }
  }

  /** Gives some units other values, zero among them. */
  private static void fill(CopiedBlock block, Random random) {
    int share = 1 + random.nextInt(10);
    Plan.Visit visit =
        (leaf, at, units) -> {
          for (long i = 0; i < units; ++i) {
            if (random.nextInt(share) == 0) set(block, leaf, (int) (at + i * leaf.width), random);
          }
        };
    block.plan().walk(0, visit);
  }

  private static void set(CopiedBlock block, Leaf leaf, int at, Random random) {
    switch (leaf.kind) {
      case PLAIN -> {
        for (int i = 0; i < leaf.width; ++i) block.memory()[at + i] = (byte) random.nextInt(256);
      }
      case BOOL -> LittleEndian.putInt(block.memory(), at, random.nextInt(2));
      case STRING -> {
        int length = random.nextInt((int) leaf.width);
        for (int i = 0; i < leaf.width; ++i) {
          block.memory()[at + i] = (byte) (i < length ? 'a' + random.nextInt(26) : 0);
        }
      }
      case POINTER -> LittleEndian.putLong(block.memory(), at, random.nextInt(1 << 20) << 16);
      default -> { }
    }
  }

  @Test
  void nothingChangedIsNoDiff() {
    Copy copy = exampleVector().copy();
    Changes changes = new Changes(copy, FIRST_SERIAL, 1);
    changes.touch(copy.block(7));
    assertNull(changes.collect());
  }

  private static void assertSame(Copy expected, Copy found, String where) {
    assertEquals(expected.slots(), found.slots(), where);
    assertEquals(expected.types().nextSerial(), found.types().nextSerial(), where);
    assertEquals(expected.blocks().size(), found.blocks().size(), where);
    for (CopiedBlock block : expected.blocks()) {
      CopiedBlock other = found.block(block.serial);
      assertEquals(block.name, other.name, where);
      assertArrayEquals(block.memory(), other.memory(), where + ", block " + block.serial);
    }
  }
}
