package scimark;

import java.util.function.DoubleSupplier;
import scimark.data.generator;
import scimark.data.linear;
import scimark.data.plate;
import scimark.data.signal;
import scimark.data.sparse;
import scimark.data.stepper;

/** Runs each kernel until it is compiled, and then as often as fills a stretch of time. */
final class Timing {
  private static final long WARM_NS = 350_000_000L;
  private static final long STRETCH_NS = 50_000_000L;
  private static final int STRETCHES = 7;

  private Timing() {}

  static void all(signal signal, plate plate, generator generator, stepper stepper, sparse sparse,
      linear linear) {
    print("fft", () -> Kernels.fft(signal));
    print("sor", () -> Kernels.sor(plate));
    print("monte_carlo", () -> Kernels.monteCarlo(generator));
    print("sparse", () -> Kernels.sparse(sparse));
    print("lu", () -> Kernels.lu(linear));
    print("monte_carlo_in_fields", () -> Kernels.monteCarloInFields(stepper));
  }

  /** Prints the kernel's name, the least time of a run in ns, and what the first run gave. */
  static void print(String name, DoubleSupplier kernel) {
    double first = kernel.getAsDouble();
    long runs = 0;
    long begun = System.nanoTime();
    for (; System.nanoTime() - begun < WARM_NS; ++runs) kernel.getAsDouble();
    long each = Math.max(1, runs * STRETCH_NS / WARM_NS);
    double least = Double.MAX_VALUE;
    for (int i = 0; i < STRETCHES; ++i) {
      long from = System.nanoTime();
      for (long run = 0; run < each; ++run) kernel.getAsDouble();
      least = Math.min(least, (System.nanoTime() - from) / (double) each);
    }
    System.out.println(name + " " + least + " " + first);
  }
}
