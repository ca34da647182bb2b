package org.interweave.diff;

/**
 * Predicts whether a block's next release changes all of it, so that comparing would cost more than
 * it saves: the no-diff mode of ICDCS'03 3.3, with the numbers of native/track/whole_history.h.
 * From time to time a release compares again.
 */
final class WholeHistory {
  static final int PATIENCE = 3;
  static final int WHOLE_RELEASES = 15;
  /** In a whole release at most so many of a hundred units stay unchanged. */
  private static final int PER_CENT_UNCHANGED = 3;

  private int wholes;
  private int wholeLeft;

  /** Begins a flush. True: the flush may take all as changed, unless a sample contradicts. */
  boolean isWholeNext() {
    if (wholeLeft == 0) return false;
    --wholeLeft;
    return true;
  }

  /** The sample contradicted. The next comparison decides whether the mode continues. */
  void doubted() {
    wholeLeft = 0;
  }

  /** A release has compared all units, and found so many of them changed. */
  void compared(long changed, long units) {
    boolean isWhole = changed >= units - units / 100 * PER_CENT_UNCHANGED;
    wholes = isWhole ? wholes + 1 : 0;
    if (wholes < PATIENCE) return;
    wholeLeft = WHOLE_RELEASES;
    wholes = PATIENCE - 1;
  }
}
