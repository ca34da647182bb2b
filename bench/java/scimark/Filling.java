package scimark;

import java.util.Random;
import scimark.data.generator;
import scimark.data.linear;
import scimark.data.plate;
import scimark.data.signal;
import scimark.data.sparse;
import scimark.data.stepper;

/** The values that the kernels begin with, the same in each run. */
final class Filling {
  static final int SEED = 101;

  private Filling() {}

  static signal fill(signal data) {
    random(data.values, new Random(SEED));
    return data;
  }

  static plate fill(plate data) {
    random(data.cells, new Random(SEED));
    return data;
  }

  static generator fill(generator data) {
    random(data.seeds, new Random(SEED));
    return data;
  }

  static stepper fill(stepper data) {
    random(data.seeds, new Random(SEED));
    return data;
  }

  static sparse fill(sparse data) {
    Random random = new Random(SEED);
    random(data.values, random);
    random(data.x, random);
    int each = data.values.length / data.y.length;
    for (int at = 0; at < data.columns.length; ++at) {
      data.columns[at] = random.nextInt(data.x.length);
    }
    for (int row = 0; row < data.begins.length; ++row) data.begins[row] = row * each;
    return data;
  }

  static linear fill(linear data) {
    random(data.given, new Random(SEED));
    return data;
  }

  static void random(double[] to, Random random) {
    for (int i = 0; i < to.length; ++i) to[i] = random.nextDouble();
  }

  private static void random(int[] to, Random random) {
    for (int i = 0; i < to.length; ++i) to[i] = random.nextInt(Integer.MAX_VALUE);
  }
}
