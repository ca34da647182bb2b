package scimark;

import org.interweave.IW_Object;
import org.interweave.client.Segment;
import org.interweave.client.WriteLock;
import scimark.data.generator;
import scimark.data.linear;
import scimark.data.plate;
import scimark.data.signal;
import scimark.data.sparse;
import scimark.data.stepper;

/** The kernels on objects of a segment, between the writer lock's acquire and its release. */
public final class Shared {
  private static final int RELEASES = 9;

  private Shared() {}

  public static void main(String[] arguments) {
    try (Segment segment = Segment.open(arguments[0])) {
      kernels(segment);
      System.out.println("release " + release(segment) + " 0");
      System.out.println("tracked " + (IW_Object.iw_isTracked() ? 1 : 0) + " 0");
    }
  }

  private static void kernels(Segment segment) {
    try (WriteLock lock = segment.write()) {
      new signal(segment, "signal");
      new plate(segment, "plate");
      new generator(segment, "generator");
      new stepper(segment, "stepper");
      new sparse(segment, "sparse");
      new linear(segment, "linear");
      lock.release();
    }
    try (WriteLock lock = segment.write()) {
      Timing.all(
          Filling.fill(lock.object("signal", signal.class)),
          Filling.fill(lock.object("plate", plate.class)),
          Filling.fill(lock.object("generator", generator.class)),
          Filling.fill(lock.object("stepper", stepper.class)),
          Filling.fill(lock.object("sparse", sparse.class)),
          Filling.fill(lock.object("linear", linear.class)));
      lock.release();
    }
  }

  /** The least time in ns of a release after one run of each kernel. */
  private static long release(Segment segment) {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < RELEASES; ++i) {
      try (WriteLock lock = segment.write()) {
        Kernels.fft(lock.object("signal", signal.class));
        Kernels.sor(lock.object("plate", plate.class));
        Kernels.monteCarlo(lock.object("generator", generator.class));
        Kernels.sparse(lock.object("sparse", sparse.class));
        Kernels.lu(lock.object("linear", linear.class));
        long from = System.nanoTime();
        lock.release();
        least = Math.min(least, System.nanoTime() - from);
      }
    }
    return least;
  }
}
