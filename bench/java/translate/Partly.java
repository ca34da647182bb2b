package translate;

import java.util.Arrays;
import translate.data.marked_row;

/**
 * 10 to 100 % of a row of doubles get other values: from the front on, in 32 stretches, or one by
 * one. A release compares the row, or looks at what was marked.
 */
final class Partly implements Carrier {
  private static final int LENGTH = marked_row.length;
  private static final int STRETCHES = 32;

  /** Where the values go. */
  private interface Target {
    void store(int at, double[] values, int length);
  }

  private final int changed;
  private final String how;
  private final InterWeave<?> carrier;
  private final Target target;
  private final double[] values = new double[LENGTH];
  private final double[] wanted = new double[LENGTH];

  private Partly(String how, int changed, boolean isMarked, Values[] turns) {
    this.how = how;
    this.changed = changed;
    Values first = turns[1].again();
    if (isMarked) {
      InterWeave<marked_row> made = new InterWeave<>(new MarkedRow(), first);
      carrier = made;
      target = (at, from, length) -> {
        for (int i = at; i < at + length; ++i) made.data().set(i, from[i]);
      };
    } else {
      InterWeave<translate.data.row> made = new InterWeave<>(new Row("row", LENGTH), first);
      carrier = made;
      target =
          (at, from, length) -> System.arraycopy(from, at, made.data().values, at, length);
    }
    turns[1].again().reals(wanted);
  }

  static void run(Values[] turns) throws Exception {
    for (boolean isMarked : new boolean[] {false, true}) {
      for (String how : new String[] {"contiguous", "stretches", "scattered"}) {
        for (int per = 10; per <= 100; per += 10) {
          Partly partly = new Partly(how, LENGTH / 100 * per, isMarked, turns);
          Timing timing = new Timing(partly, turns);
          timing.check(how + per, partly.digestAfter(turns[0]), partly.digestAfter(turns[1]));
          timing.print((isMarked ? "marked_" : "") + how + " " + per);
        }
      }
    }
  }

  private long digestAfter(Values turn) {
    store((at, from, length) -> System.arraycopy(from, at, wanted, at, length), turn.again());
    return Arrays.hashCode(wanted);
  }

  private void store(Target to, Values turn) {
    turn.reals(values);
    if (how.equals("scattered")) {
      // The next of the row's places is chosen by the share that is due.
      for (int i = 0; i < changed; ++i) {
        to.store((int) ((long) i * LENGTH / changed), values, 1);
      }
      return;
    }
    int stretches = how.equals("stretches") ? STRETCHES : 1;
    int length = changed / stretches;
    for (int i = 0; i < stretches; ++i) to.store(i * (LENGTH / stretches), values, length);
  }

  @Override
  public void change(Values turn) {
    carrier.begin();
    store(target, turn);
  }

  @Override
  public int out() {
    return carrier.out();
  }

  @Override
  public void arrive() {
    carrier.arrive();
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
