package org.interweave.coherence;

import org.interweave.wire.protocol.LockCodec.CoherenceModel;

/** How recent is recent enough; `x` is versions (Delta), seconds (Temporal), per cent (Diff). */
public record Bound(CoherenceModel model, double x) {
  public static final Bound FULL = new Bound(CoherenceModel.FULL, 0);

  /** Either may be null. */
  public static boolean areSame(Bound a, Bound b) {
    if (a == null || b == null) return a == b;
    return a.model == b.model && a.x == b.x;
  }

  /**
   * What to ask the server to watch for a reader with this bound. Temporal is decided on the local
   * clock, so that its reader wants to hear of every first newer version.
   */
  public Bound promise() {
    boolean isWatched = model == CoherenceModel.DELTA || model == CoherenceModel.DIFF;
    return isWatched ? this : FULL;
  }

  /** Whether a server can watch for this model. */
  public boolean canSubscribe() {
    return model != CoherenceModel.STRICT && model != CoherenceModel.NULL_COHERENCE;
  }
}
