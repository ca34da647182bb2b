package astroflow.viewer;

/**
 * From a number to a colour that is as bright as the number is large: the scale of the viewer in
 * C++.
 */
final class ColourMap {
  private static final int COLOURS = 256;
  private static final double[] RED = {68.3, 55.6, -212.3, -917.8, 1367.0, 1248.1, -1356.2};
  private static final double[] GREEN = {1.0, 362.7, -13.8, -1147.3, 2957.5, -2917.6, 988.6};
  private static final double[] BLUE = {84.1, 362.2, 4.2, -5027.7, 14948.1, -17352.0, 7018.0};
  private static final int[] TABLE = table();

  private final double low;
  private final double scale;

  /** `low` gets the darkest colour, `high` the brightest. */
  ColourMap(double low, double high) {
    this.low = low;
    scale = high > low ? 1 / (high - low) : 0;
  }

  /** From the least to the greatest of the values. */
  static ColourMap of(double[] values) {
    double low = Double.POSITIVE_INFINITY;
    double high = Double.NEGATIVE_INFINITY;
    for (double each : values) {
      low = Math.min(low, each);
      high = Math.max(high, each);
    }
    return new ColourMap(low, high);
  }

  private static int channel(double[] polynomial, double t) {
    double value = 0;
    for (int i = polynomial.length - 1; i >= 0; --i) value = value * t + polynomial[i];
    return (int) (Math.max(0, Math.min(value, 255)) + 0.5);
  }

  private static int[] table() {
    int[] table = new int[COLOURS];
    for (int i = 0; i < COLOURS; ++i) {
      double t = i / (COLOURS - 1.0);
      table[i] = channel(RED, t) << 16 | channel(GREEN, t) << 8 | channel(BLUE, t);
    }
    return table;
  }

  /** The colour as 0xRRGGBB. A NaN is dark. */
  int colour(double value) {
    double share = (value - low) * scale;
    double inside = share > 0 ? Math.min(share, 1) : 0;
    return TABLE[(int) Math.round(inside * (COLOURS - 1))];
  }
}
