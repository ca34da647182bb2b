package org.interweave.objects;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import org.interweave.IW_Object;
import org.interweave.diff.Changes;
import org.interweave.diff.Copy;
import org.interweave.objects.shapes.color;
import org.interweave.objects.shapes.node;
import org.interweave.objects.shapes.shape;
import org.junit.jupiter.api.Test;

/**
 * A program that promises that all stores are marked: releases find those of setters and those into
 * arrays, and pass over others. The promise holds for a whole virtual machine, so it has its own.
 */
class MarkedStoresTest {
  @Test
  void releasesLookAtMarkedObjectsAndAtArrays() throws Exception {
    assertEquals("5 0.25 2 GREEN 9 0 7 0", saidBy(Program.class));
  }

  /** An object that was freed and lives again has no mark of the section that was undone. */
  @Test
  void marksEndWithTheirSection() throws Exception {
    assertEquals("6 7", saidBy(Undone.class));
  }

  private static String saidBy(Class<?> program) throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Dinterweave.marks=true",
                "-cp",
                System.getProperty("java.class.path"),
                program.getName())
            .redirectErrorStream(true)
            .start();
    return new String(process.getInputStream().readAllBytes()).strip();
  }

  /** Releases from one copy into another. */
  static final class Program {
    private static final long SERIALS = 100;
    private static final Copy COPY = new Copy(1 << 20, new MappedBlocks());
    private static final Copy READER = new Copy(1 << 20, new MappedBlocks());
    private static final Neighbours.None CLIENT = new Neighbours.None();
    private static final ObjectMap MAP = new ObjectMap(COPY, "iw://here/a", CLIENT);
    private static final ObjectMap READ =
        new ObjectMap(READER, "iw://here/a", new Neighbours.None());
    private static long next = 1;

    private static Changes begin() {
      Changes changes = new Changes(COPY, next, SERIALS);
      next += SERIALS;
      CLIENT.write(changes);
      return changes;
    }

    private static void release(Changes changes) {
      MAP.flush();
      byte[] diff = changes.collect();
      if (diff != null) READER.apply(diff);
      changes.commit(READER.version(), false);
      READ.refresh();
    }

    public static void main(String[] arguments) {
      Changes changes = begin();
      node made = new node(MAP, "n");
      shape other = new shape(MAP, "s");
      release(changes);
      changes = begin();
      made.set_value(5);
      other.row[1] = 0.25;
      other.numbers = new int[] {1, 2};
      other.drawn.set_kind(color.GREEN);
      other.drawn.set_label("eight");
      other.nodes.get(1).set_value(9);
      release(changes);
      node node = (node) READ.object(READER.block("n"));
      shape seen = (shape) READ.object(READER.block("s"));
      String kind = seen.drawn.kind == color.GREEN ? "GREEN" : "?";
      System.out.print(node.value + " " + seen.row[1] + " " + seen.numbers.length + " " + kind);
      System.out.print(" " + seen.nodes.get(1).value);
      changes = begin();
      made.value = 7;
      release(changes);
      System.out.print(" " + (node.value - 5));
      IW_Object.iw_storesAreMissed();
      release(begin());
      System.out.println(" " + node.value + " " + MAP.unmappedPointers());
    }
  }

  /** Stores into an object of a sequence, frees the sequence, and undoes both. */
  static final class Undone {
    private static void undo(Changes changes, boolean isFlushed) {
      if (isFlushed) Program.MAP.flush();
      changes.undo();
      Program.MAP.reload();
    }

    public static void main(String[] arguments) {
      Changes changes = Program.begin();
      shape made = new shape(Program.MAP, "s");
      made.more.resize(1);
      node kid = made.more.get(0);
      Program.release(changes);
      node seen = ((shape) Program.READ.object(Program.READER.block("s"))).more.get(0);
      for (boolean isFlushed : new boolean[] {true, false}) {
        changes = Program.begin();
        kid.set_value(5);
        Program.MAP.free(made);
        undo(changes, isFlushed);
        changes = Program.begin();
        kid.set_value(isFlushed ? 6 : 7);
        Program.release(changes);
        System.out.print(seen.value + " ");
      }
    }
  }
}
