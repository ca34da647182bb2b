package org.interweave.client;

import java.time.Duration;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.coherence.Bound;
import org.interweave.wire.protocol.LockCodec.CoherenceModel;

/** How recent is recent enough for a reader (spec/coherence.md). */
public final class Coherence {
  /** The newest version. */
  public static final Coherence FULL = new Coherence(CoherenceModel.FULL, 0);
  /** The newest version, and no writer has the lock while a reader has it. */
  public static final Coherence STRICT = new Coherence(CoherenceModel.STRICT, 0);
  /** Any version. Only the first copy is fetched. */
  public static final Coherence NULL = new Coherence(CoherenceModel.NULL_COHERENCE, 0);

  final Bound bound;

  private Coherence(CoherenceModel model, double x) {
    if (!(x >= 0 && x < Double.POSITIVE_INFINITY)) {
      throw InterweaveException.of(
          Error.BAD_ARGUMENT, "a bound of " + x + "; it is a number from 0 on");
    }
    bound = new Bound(model, x);
  }

  /**
   * Few versions behind.
   *
   * @param versions by so many the copy may be behind
   * @return the model
   */
  public static Coherence delta(double versions) {
    return new Coherence(CoherenceModel.DELTA, versions);
  }

  /**
   * Not long behind.
   *
   * @param longest the copy was the newest version not longer ago
   * @return the model
   */
  public static Coherence temporal(Duration longest) {
    return new Coherence(CoherenceModel.TEMPORAL, longest.toNanos() / 1e9);
  }

  /**
   * Little changed.
   *
   * @param perCent so much of the segment's units may have changed since
   * @return the model
   */
  public static Coherence diff(double perCent) {
    return new Coherence(CoherenceModel.DIFF, perCent);
  }

  @Override
  public String toString() {
    return bound.model().name() + " " + bound.x();
  }
}
