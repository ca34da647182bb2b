package astroflow.viewer;

/** The six arrays of a frame, in the order in which all programs name them. */
enum Quantity {
  DENSITY, MOMENTUM_X, MOMENTUM_Y, ENERGY, PRESSURE, TRACER;

  /** Of the block. */
  String blockName() {
    return name().toLowerCase(java.util.Locale.ROOT);
  }

  String title() {
    return blockName().replace('_', ' ');
  }
}
