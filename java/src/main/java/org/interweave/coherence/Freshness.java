package org.interweave.coherence;

import org.interweave.wire.protocol.LockCodec.CoherenceModel;
import org.interweave.wire.protocol.SegmentCodec.VersionStamp;

/**
 * Is a cached copy recent enough? The coherence models as one pure function of what is known about
 * the copy and of the local clock (spec/coherence.md: COH-1..7, FRESH-1..5).
 */
public final class Freshness {
  /** A moment that never was. So far from the limits that differences do not overflow. */
  public static final long NEVER = Long.MIN_VALUE / 4;
  /** A moment that never comes. */
  public static final long FOREVER = Long.MAX_VALUE / 4;

  private static final double SECOND = 1e9;

  private Freshness() {}

  /** The same version: incarnation, number and chain [COH-11]. */
  public static boolean isSame(VersionStamp a, VersionStamp b) {
    // Not equals(), because the first call of a record's costs milliseconds.
    return a.incarnation() == b.incarnation()
        && a.number() == b.number()
        && a.chain() == b.chain();
  }

  /** The promise holds only while the server is heard [FRESH-3]. */
  private static Bound promiseAt(Knowledge known, long now) {
    return now - known.heard() <= 2 * known.heartbeat() ? known.promise() : null;
  }

  /** At most x versions behind, as of a moment during the acquire or by the server's promise. */
  private static boolean isWithin(double x, Knowledge known, long began, long now) {
    if (known.copy().incarnation() != known.newest().incarnation()) return false;
    long behind = known.newest().number() - known.copy().number();
    // The same number with another content is not the same version [COH-11].
    if (behind < 0 || behind == 0 && !isSame(known.copy(), known.newest())) return false;
    if (behind > x) return false;
    if (known.newestAsOf() >= began) return true;
    Bound promise = promiseAt(known, now);
    if (promise == null) return false;
    return promise.model() == CoherenceModel.FULL
        || promise.model() == CoherenceModel.DELTA && promise.x() <= x;
  }

  /** The latest moment at which the copy is known to have been the newest [FRESH-2, FRESH-3]. */
  public static long confirmedAt(Knowledge known) {
    boolean isWatched =
        known.promise() != null
            && known.promise().model() == CoherenceModel.FULL
            && isSame(known.copy(), known.newest());
    return isWatched ? Math.max(known.confirmed(), known.heard()) : known.confirmed();
  }

  /** True if no message is needed. `began` is when the acquire was called. */
  public static boolean isRecent(Bound bound, Knowledge known, long began, long now) {
    if (!known.hasCopy()) return false;
    return switch (bound.model()) {
      case FULL -> isWithin(0, known, began, now);
      case STRICT -> false;
      case NULL_COHERENCE -> true;
      case DELTA -> isWithin(bound.x(), known, began, now);
      case TEMPORAL -> now - confirmedAt(known) <= bound.x() * SECOND;
      case DIFF -> isWithin(0, known, began, now) || isPromised(bound, known, now);
    };
  }

  private static boolean isPromised(Bound bound, Knowledge known, long now) {
    Bound promise = promiseAt(known, now);
    return promise != null
        && promise.model() == CoherenceModel.DIFF
        && promise.x() <= bound.x();
  }

  /** When time alone makes a copy that is recent enough too old [COH-5]; FOREVER: never. */
  public static long recentUntil(Bound bound, Knowledge known) {
    if (bound.model() != CoherenceModel.TEMPORAL) return FOREVER;
    return (long) Math.min(confirmedAt(known) + bound.x() * SECOND, FOREVER);
  }
}
