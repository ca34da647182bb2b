package locks;

import java.time.Duration;
import java.util.Arrays;
import org.interweave.client.Coherence;
import org.interweave.client.IWSegment;
import org.interweave.client.ReadLock;
import org.interweave.client.Segment;
import org.interweave.client.Types;
import org.interweave.client.WriteLock;

/**
 * Takes a reader lock on a copy that is recent enough, and gives it back. Prints for each model the
 * median time of a batch in ns a lock, and the messages that all of them have sent.
 */
final class Main {
  private static final int WARM = 200_000;
  private static final int BATCHES = 200;
  private static final int LOCKS = 5_000;
  private static final int ROW = 1_000;

  private Main() {}

  private interface Locking {
    void run(int locks);
  }

  public static void main(String[] arguments) {
    String url = arguments[0];
    try (Segment segment = Segment.open(url)) {
      try (WriteLock lock = segment.write()) {
        lock.allocate(Types.DOUBLE, ROW, "row");
        lock.release();
      }
      Locking ours =
          locks -> {
            for (int i = 0; i < locks; ++i) {
              try (ReadLock lock = segment.read()) {
                if (lock.version() == 0) throw new IllegalStateException("no version");
              }
            }
          };
      measure("full", segment, Coherence.FULL, ours);
      measure("delta", segment, Coherence.delta(3), ours);
      measure("temporal", segment, Coherence.temporal(Duration.ofHours(1)), ours);
      measure("null", segment, Coherence.NULL, ours);
      IWSegment papers = new IWSegment(url);
      measure(
          "rl_acquire",
          segment,
          Coherence.FULL,
          locks -> {
            for (int i = 0; i < locks; ++i) {
              if (papers.rl_acquire() != 0 || papers.rl_release() != 0) {
                throw new IllegalStateException(IWSegment.IW_strerror());
              }
            }
          });
      papers.close();
    }
  }

  private static void measure(String name, Segment segment, Coherence model, Locking locking) {
    segment.coherence(model);
    locking.run(WARM);
    long before = segment.stats().messagesSent();
    double[] ns = new double[BATCHES];
    for (int batch = 0; batch < BATCHES; ++batch) {
      long begun = System.nanoTime();
      locking.run(LOCKS);
      ns[batch] = (System.nanoTime() - begun) / (double) LOCKS;
    }
    Arrays.sort(ns);
    long messages = segment.stats().messagesSent() - before;
    System.out.println(name + " " + ns[BATCHES / 2] + " " + messages);
  }
}
