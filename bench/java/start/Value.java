package start;

import org.interweave.client.ReadLock;
import org.interweave.client.Segment;

/** Opens a segment of one number, prints the number and ends. */
final class Value {
  private Value() {}

  public static void main(String[] arguments) {
    try (Segment segment = Segment.open(arguments[0])) {
      try (ReadLock lock = segment.read()) {
        System.out.println(lock.value("n").integer());
      }
    }
  }
}
