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
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Dinterweave.marks=true",
                "-cp",
                System.getProperty("java.class.path"),
                Program.class.getName())
            .redirectErrorStream(true)
            .start();
    String said = new String(process.getInputStream().readAllBytes()).strip();
    assertEquals("5 0.25 2 GREEN 9 0 7 0", said);
  }

  /** Releases from one copy into another. */
  static final class Program {
    private static final long SERIALS = 100;
    private static final Copy COPY = new Copy(1 << 20);
    private static final Copy READER = new Copy(1 << 20);
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
      changes.commit(READER.version());
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
}
