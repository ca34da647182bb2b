package memory;

import java.lang.ref.Reference;
import memory.data.node;
import memory.data.row;
import org.interweave.diff.Changes;
import org.interweave.diff.Copy;
import org.interweave.objects.MappedBlocks;
import org.interweave.objects.Neighbours;
import org.interweave.objects.ObjectMap;

/**
 * Holds as many nodes as the second argument says, and collects all garbage. Prints the bytes that
 * a node takes, and the time of each full collection in microseconds.
 *
 * <p>`blocks`: each node is a block of a reader's copy, with its object. `row`: a block of so many
 * doubles. `plain`: objects of Java that know no segment.
 */
final class Main {
  private static final int COLLECTIONS = 7;
  private static final long MAX_BYTES = 1L << 31;

  private static final class Plain {
    final int value;
    final Plain next;

    Plain(int value, Plain next) {
      this.value = value;
      this.next = next;
    }
  }

  /** A copy and its objects, as under a lock. */
  private static final class Held {
    final Copy copy = new Copy(MAX_BYTES, new MappedBlocks());
    final Neighbours.None client = new Neighbours.None();
    final ObjectMap map = new ObjectMap(copy, "iw://here/memory", client);
  }

  private static byte[] written(String what, int count) {
    Held held = new Held();
    Changes changes = new Changes(held.copy, 1, count + 2);
    held.client.write(changes);
    if (what.equals("row")) {
      new row(held.map, "head").values = new double[count];
    } else {
      node last = null;
      for (int i = 0; i < count; ++i) {
        node made = new node(held.map, i == count - 1 ? "head" : null);
        made.set_value(i);
        made.set_next(last);
        last = made;
      }
    }
    held.map.flush();
    return changes.collect();
  }

  private static Object plain(int count) {
    Plain last = null;
    for (int i = 0; i < count; ++i) last = new Plain(i, last);
    return last;
  }

  private static Object read(byte[] diff) {
    Held held = new Held();
    held.copy.apply(diff);
    held.map.refresh();
    held.map.object(held.copy.block("head"));
    return held;
  }

  private static long used() {
    for (int i = 0; i < 3; ++i) System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  public static void main(String[] args) {
    int count = Integer.parseInt(args[1]);
    byte[] diff = args[0].equals("plain") ? null : written(args[0], count);
    long before = used();
    Object held = diff == null ? plain(count) : read(diff);
    long bytes = used() - before;
    Reference.reachabilityFence(diff);
    diff = null;
    System.out.println("bytes " + (double) bytes / count);
    System.gc();
    System.out.println("timed");
    for (int i = 0; i < COLLECTIONS; ++i) {
      long begun = System.nanoTime();
      System.gc();
      System.out.println("us " + (System.nanoTime() - begun) / 1000);
    }
    Reference.reachabilityFence(held);
  }
}
