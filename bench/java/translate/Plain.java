package translate;

/** The classes that Kryo and Fory are told of. */
final class Plain {
  static final Class<?>[] CLASSES = {
    double[].class, int[].class, String[].class, Ints32.class, Ints32[].class, Doubles32.class,
    Doubles32[].class, Cell.class, Cell[].class, IntDouble.class, IntDouble[].class, Mixed.class,
    Mixed[].class, Node.class
  };

  private Plain() {}
}
