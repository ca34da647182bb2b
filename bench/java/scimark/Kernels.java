package scimark;

import scimark.data.generator;
import scimark.data.linear;
import scimark.data.plate;
import scimark.data.signal;
import scimark.data.sparse;
import scimark.data.stepper;

/**
 * The five kernels of SciMark 2, written anew, at the sizes of its small set. Each runs once, and
 * gives a number that tells whether it computed. The classes of the data are plain ones, or those
 * that are generated from scimark.x; the code is the same.
 */
final class Kernels {
  private static final int SAMPLES = 10_000;
  static final int SIDE = 100;
  static final double RELAXATION = 1.25;
  private static final int SEED_BITS = 31;

  private Kernels() {}

  // ---- FFT: there and back ----

  static double fft(signal data) {
    double[] values = data.values;
    transform(values, -1);
    transform(values, 1);
    double scale = 2.0 / values.length;
    for (int i = 0; i < values.length; ++i) values[i] *= scale;
    return values[1];
  }

  private static void transform(double[] values, int direction) {
    int n = values.length / 2;
    reverseBits(values, n);
    for (int half = 1; half < n; half *= 2) {
      double angle = direction * Math.PI / half;
      double sine = Math.sin(angle);
      double versine = 2 * Math.sin(angle / 2) * Math.sin(angle / 2);
      double re = 1;
      double im = 0;
      for (int k = 0; k < half; ++k) {
        for (int at = k; at < n; at += 2 * half) butterfly(values, 2 * at, 2 * (at + half), re, im);
        double next = re - sine * im - versine * re;
        im += sine * re - versine * im;
        re = next;
      }
    }
  }

  private static void butterfly(double[] values, int i, int j, double re, double im) {
    double a = re * values[j] - im * values[j + 1];
    double b = re * values[j + 1] + im * values[j];
    values[j] = values[i] - a;
    values[j + 1] = values[i + 1] - b;
    values[i] += a;
    values[i + 1] += b;
  }

  private static void reverseBits(double[] values, int n) {
    int bits = Integer.numberOfTrailingZeros(n);
    for (int i = 0; i < n; ++i) {
      int j = Integer.reverse(i) >>> (32 - bits);
      if (j <= i) continue;
      swap(values, 2 * i, 2 * j);
      swap(values, 2 * i + 1, 2 * j + 1);
    }
  }

  private static void swap(double[] values, int i, int j) {
    double kept = values[i];
    values[i] = values[j];
    values[j] = kept;
  }

  // ---- SOR: one sweep ----

  static double sor(plate data) {
    double[] cells = data.cells;
    double quarter = RELAXATION / 4;
    for (int row = 1; row < SIDE - 1; ++row) {
      int end = row * SIDE + SIDE - 1;
      for (int at = row * SIDE + 1; at < end; ++at) {
        double around = cells[at - SIDE] + cells[at + SIDE] + cells[at - 1] + cells[at + 1];
        cells[at] = quarter * around + (1 - RELAXATION) * cells[at];
      }
    }
    return cells[SIDE + 1];
  }

  // ---- Monte Carlo: pi by a lagged Fibonacci generator ----

  static double monteCarlo(generator data) {
    int[] seeds = data.seeds;
    int low = 4;
    int high = 16;
    int hits = 0;
    for (int i = 0; i < SAMPLES; ++i) {
      int first = seeds[high] = (seeds[low] - seeds[high]) & Integer.MAX_VALUE;
      low = low == 0 ? 16 : low - 1;
      high = high == 0 ? 16 : high - 1;
      int second = seeds[high] = (seeds[low] - seeds[high]) & Integer.MAX_VALUE;
      low = low == 0 ? 16 : low - 1;
      high = high == 0 ? 16 : high - 1;
      if (isWithin(first, second)) ++hits;
    }
    data.hits = hits;
    return hits;
  }

  private static boolean isWithin(int first, int second) {
    double x = first / (double) (1L << SEED_BITS);
    double y = second / (double) (1L << SEED_BITS);
    return x * x + y * y <= 1;
  }

  /** Each step stores into fields, and each such store is marked. */
  static double monteCarloInFields(stepper data) {
    data.low = 4;
    data.high = 16;
    data.hits = 0;
    for (int i = 0; i < SAMPLES; ++i) {
      if (isWithin(step(data), step(data))) data.hits++;
    }
    return data.hits;
  }

  private static int step(stepper data) {
    int[] seeds = data.seeds;
    int made = (seeds[data.low] - seeds[data.high]) & Integer.MAX_VALUE;
    seeds[data.high] = made;
    data.low = data.low == 0 ? 16 : data.low - 1;
    data.high = data.high == 0 ? 16 : data.high - 1;
    return made;
  }

  // ---- Sparse matrix times vector, compressed by rows ----

  static double sparse(sparse data) {
    double[] values = data.values;
    double[] x = data.x;
    double[] y = data.y;
    int[] columns = data.columns;
    int[] begins = data.begins;
    for (int row = 0; row < y.length; ++row) {
      double sum = 0;
      for (int at = begins[row]; at < begins[row + 1]; ++at) sum += x[columns[at]] * values[at];
      y[row] = sum;
    }
    return y[1];
  }

  // ---- LU with partial pivoting, of a matrix given anew ----

  static double lu(linear data) {
    double[] cells = data.cells;
    System.arraycopy(data.given, 0, cells, 0, cells.length);
    for (int k = 0; k < SIDE; ++k) {
      int pivot = pivot(cells, k);
      data.pivots[k] = pivot;
      if (pivot != k) {
        for (int i = 0; i < SIDE; ++i) swap(cells, pivot * SIDE + i, k * SIDE + i);
      }
      double inverse = 1 / cells[k * SIDE + k];
      for (int row = k + 1; row < SIDE; ++row) eliminate(cells, k, row, inverse);
    }
    return cells[cells.length - 1];
  }

  private static int pivot(double[] cells, int k) {
    int found = k;
    for (int row = k + 1; row < SIDE; ++row) {
      if (Math.abs(cells[row * SIDE + k]) > Math.abs(cells[found * SIDE + k])) found = row;
    }
    return found;
  }

  private static void eliminate(double[] cells, int k, int row, double inverse) {
    double factor = cells[row * SIDE + k] *= inverse;
    int from = k * SIDE;
    int to = row * SIDE;
    for (int i = k + 1; i < SIDE; ++i) cells[to + i] -= factor * cells[from + i];
  }
}
