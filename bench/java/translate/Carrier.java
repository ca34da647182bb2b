package translate;

/** A way to translate one shape into bytes and back. */
interface Carrier {
  /** Gives the data other values; not timed. */
  void change(Values values);

  /** Into bytes; how many. */
  int out() throws Exception;

  /** What lies between the two, and is not timed. */
  default void arrive() {}

  /** From the bytes of the last `out`. */
  void in() throws Exception;

  /** Of what came in. */
  long digest();
}
