package translate;

/**
 * 10 to 100 % of a row of doubles get other values: from the front on, in 32 stretches, or one by
 * one.
 */
final class Partly implements Carrier {
  private static final int LENGTH = 200_000;
  private static final int STRETCHES = 32;

  private final int changed;
  private final String how;
  private final Row shape = new Row("row", LENGTH);
  private final InterWeave<translate.data.row> carrier;
  private final double[] values = new double[LENGTH];
  private final double[] wanted = new double[LENGTH];

  private Partly(String how, int changed, Values[] turns) {
    this.how = how;
    this.changed = changed;
    carrier = new InterWeave<>(shape, turns[1].again());
    shape.fill(wanted, turns[1]);
  }

  static void run(Values[] turns) throws Exception {
    for (String how : new String[] {"contiguous", "stretches", "scattered"}) {
      for (int per = 10; per <= 100; per += 10) {
        Partly partly = new Partly(how, LENGTH / 100 * per, turns);
        Timing timing = new Timing(partly, turns);
        timing.check(how + per, partly.digestAfter(turns[0]), partly.digestAfter(turns[1]));
        timing.print(how + " " + per);
      }
    }
  }

  private long digestAfter(Values turn) {
    store(wanted, turn);
    return shape.digest(wanted);
  }

  private void store(double[] to, Values turn) {
    turn.reals(values);
    if (how.equals("scattered")) {
      // The next of the row's places is chosen by the share that is due.
      for (int i = 0; i < changed; ++i) {
        int at = (int) ((long) i * LENGTH / changed);
        to[at] = values[at];
      }
      return;
    }
    int stretches = how.equals("stretches") ? STRETCHES : 1;
    int length = changed / stretches;
    for (int i = 0; i < stretches; ++i) {
      int begin = i * (LENGTH / stretches);
      System.arraycopy(values, begin, to, begin, length);
    }
  }

  @Override
  public void change(Values turn) {
    carrier.begin();
    store(carrier.data().values, turn);
  }

  @Override
  public int out() {
    return carrier.out();
  }

  @Override
  public void in() {
    carrier.in();
  }

  @Override
  public long digest() {
    return carrier.digest();
  }
}
