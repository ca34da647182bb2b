package translate;

import java.util.Random;

/** The values that a shape is filled with, ready before anything is timed. There are two turns. */
final class Values {
  private static final int COUNT = 1 << 18;
  private static final int INT_BITS = 19;
  private static final String LETTERS = "abcdefghnopqrstu";

  private final int[] ints = new int[COUNT];
  private final double[] reals = new double[COUNT];
  private final String[] texts = new String[4096];
  private final String[] words = new String[COUNT];
  private int next;

  Values(int turn) {
    Random random = new Random(turn + 1);
    for (int i = 0; i < COUNT; ++i) {
      ints[i] = random.nextInt(1 << INT_BITS) + (turn << INT_BITS);
      reals[i] = (1 + random.nextDouble()) * (turn == 0 ? 1 : -8);
      words[i] = text(random, turn, 3);
    }
    for (int i = 0; i < texts.length; ++i) texts[i] = text(random, turn, 255);
  }

  private static String text(Random random, int turn, int length) {
    StringBuilder built = new StringBuilder(length);
    for (int i = 0; i < length; ++i) built.append(LETTERS.charAt(8 * turn + random.nextInt(8)));
    return built.toString();
  }

  /** From the first value again. */
  Values again() {
    next = 0;
    return this;
  }

  int integer() {
    return ints[next++ & COUNT - 1];
  }

  double real() {
    return reals[next++ & COUNT - 1];
  }

  void reals(double[] to) {
    System.arraycopy(reals, 0, to, 0, to.length);
  }

  void integers(int[] to) {
    System.arraycopy(ints, 0, to, 0, to.length);
  }

  /** Of 255 letters. */
  String text() {
    return texts[next++ & texts.length - 1];
  }

  /** Of 3 letters. */
  String word() {
    return words[next++ & COUNT - 1];
  }
}
