package scimark;

import scimark.data.linear;
import scimark.data.marked_cells;
import scimark.data.marked_product;
import scimark.data.sparse;

/** SOR, sparse and LU of `Kernels`, with each store into a row by `set`. Reads need no call. */
final class MarkedKernels {
  private static final int SIDE = Kernels.SIDE;

  private MarkedKernels() {}

  static double sor(marked_cells cells) {
    double[] values = cells.array;
    double quarter = Kernels.RELAXATION / 4;
    for (int row = 1; row < SIDE - 1; ++row) {
      int end = row * SIDE + SIDE - 1;
      for (int at = row * SIDE + 1; at < end; ++at) {
        double around =
            values[at - SIDE] + values[at + SIDE] + values[at - 1] + values[at + 1];
        cells.set(at, quarter * around + (1 - Kernels.RELAXATION) * values[at]);
      }
    }
    return values[SIDE + 1];
  }

  static double sparse(sparse data, marked_product y) {
    double[] values = data.values;
    double[] x = data.x;
    int[] columns = data.columns;
    int[] begins = data.begins;
    for (int row = 0; row < marked_product.length; ++row) {
      double sum = 0;
      for (int at = begins[row]; at < begins[row + 1]; ++at) sum += x[columns[at]] * values[at];
      y.set(row, sum);
    }
    return y.array[1];
  }

  static double lu(linear data, marked_cells cells) {
    double[] values = cells.array;
    for (int i = 0; i < marked_cells.length; ++i) cells.set(i, data.given[i]);
    for (int k = 0; k < SIDE; ++k) {
      int pivot = pivot(cells, k);
      data.pivots[k] = pivot;
      if (pivot != k) {
        for (int i = 0; i < SIDE; ++i) swap(cells, pivot * SIDE + i, k * SIDE + i);
      }
      double inverse = 1 / values[k * SIDE + k];
      for (int row = k + 1; row < SIDE; ++row) eliminate(cells, k, row, inverse);
    }
    return values[marked_cells.length - 1];
  }

  private static int pivot(marked_cells cells, int k) {
    double[] values = cells.array;
    int found = k;
    for (int row = k + 1; row < SIDE; ++row) {
      if (Math.abs(values[row * SIDE + k]) > Math.abs(values[found * SIDE + k])) found = row;
    }
    return found;
  }

  private static void swap(marked_cells cells, int i, int j) {
    double[] values = cells.array;
    double kept = values[i];
    cells.set(i, values[j]);
    cells.set(j, kept);
  }

  private static void eliminate(marked_cells cells, int k, int row, double inverse) {
    double[] values = cells.array;
    double factor = values[row * SIDE + k] * inverse;
    cells.set(row * SIDE + k, factor);
    int from = k * SIDE;
    int to = row * SIDE;
    for (int i = k + 1; i < SIDE; ++i) {
      cells.set(to + i, values[to + i] - factor * values[from + i]);
    }
  }
}
