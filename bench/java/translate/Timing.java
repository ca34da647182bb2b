package translate;

import java.util.Arrays;

/** Runs a carrier until it is compiled, and then for a stretch of time. */
final class Timing {
  private static final long WARM_NS = 500_000_000;
  private static final long STRETCH_NS = 350_000_000;
  private static final int MOST = 100_000;
  private static final int LEAST = 7;

  private final Carrier carrier;
  private final Values[] turns;
  private final long[] out = new long[MOST];
  private final long[] in = new long[MOST];
  private int bytes;
  private int rounds;

  Timing(Carrier carrier, Values[] turns) {
    this.carrier = carrier;
    this.turns = turns;
  }

  private void round(int sample) throws Exception {
    carrier.change(turns[rounds++ & 1].again());
    long begun = System.nanoTime();
    bytes = carrier.out();
    out[sample] = System.nanoTime() - begun;
    carrier.arrive();
    long arrived = System.nanoTime();
    carrier.in();
    in[sample] = System.nanoTime() - arrived;
  }

  private int rounds(long ns) throws Exception {
    int count = 0;
    for (long spent = 0; count < LEAST || spent < ns && count < MOST; ++count) {
      round(count);
      spent += out[count] + in[count];
    }
    return count;
  }

  /** Two turns must arrive before anything is timed. `wanted` are their digests. */
  void check(String what, long... wanted) throws Exception {
    for (long each : wanted) {
      round(0);
      if (carrier.digest() != each) throw new IllegalStateException(what + " arrived otherwise");
    }
  }

  /** Prints the medians in ns and the bytes. */
  void print(String what) throws Exception {
    rounds(WARM_NS);
    int count = rounds(STRETCH_NS);
    System.out.println(what + " " + median(out, count) + " " + median(in, count) + " " + bytes);
  }

  private static long median(long[] samples, int count) {
    long[] sorted = Arrays.copyOf(samples, count);
    Arrays.sort(sorted);
    return sorted[count / 2];
  }
}
