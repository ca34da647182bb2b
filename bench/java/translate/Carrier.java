package translate;

/** A way to translate one shape into bytes and back. */
interface Carrier {
  /** Gives the data other values; not timed. */
  void change(Values values);

  /** Writes the objects into bytes, and returns how many there are. */
  int out() throws Exception;

  /** Brings the bytes to the reader. The program takes the time of `out` and `in` alone. */
  default void arrive() {}

  /** Reads the objects from the bytes of the last `out`. */
  void in() throws Exception;

  /** Of what came in. */
  long digest();
}
