package start;

import org.interweave.client.Segment;
import org.interweave.client.Types;
import org.interweave.client.WriteLock;

/** Makes the segment. */
final class Making {
  private Making() {}

  public static void main(String[] arguments) {
    try (Segment segment = Segment.open(arguments[0])) {
      try (WriteLock lock = segment.write()) {
        lock.allocate(Types.INT, 1, "n").set(7);
        lock.release();
      }
    }
  }
}
