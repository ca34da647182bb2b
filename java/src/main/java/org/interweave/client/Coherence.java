package org.interweave.client;

import java.time.Duration;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.coherence.Bound;
import org.interweave.coherence.Freshness;
import org.interweave.coherence.Knowledge;
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
  /** Of the program; null: the bound decides. */
  final Recent recent;

  /** What is known about a copy. */
  public interface Recent {
    /**
     * Decides whether a reader may have the copy. Called at each lock of a reader, with locks of
     * the library held: it must not call the library.
     *
     * @param version of the copy
     * @param newest the newest version that this program has heard of
     * @param staleness how long ago the copy is known to have been the newest, in nanoseconds
     * @return false: the newest version is fetched
     */
    boolean isRecent(long version, long newest, long staleness);
  }

  private Coherence(Recent recent) {
    bound = Bound.FULL;
    this.recent = recent;
  }

  private Coherence(CoherenceModel model, double x) {
    recent = null;
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

  /**
   * A model of the program's own.
   *
   * @param recent decides
   * @return the model
   */
  public static Coherence own(Recent recent) {
    return new Coherence(recent);
  }

  /** Whether a reader needs no message. */
  boolean isRecent(Knowledge known, long began, long now) {
    if (recent == null) return Freshness.isRecent(bound, known, began, now);
    if (!known.hasCopy()) return false;
    long staleness = Math.max(0, now - Freshness.confirmedAt(known));
    return recent.isRecent(known.copy().number(), known.newest().number(), staleness);
  }

  @Override
  public String toString() {
    if (recent != null) return "OWN";
    return bound.model().name() + " " + bound.x();
  }
}
