package org.interweave.coherence;

import static org.interweave.coherence.Freshness.NEVER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.interweave.wire.protocol.LockCodec.CoherenceModel;
import org.interweave.wire.protocol.SegmentCodec.VersionStamp;
import org.junit.jupiter.api.Test;

/** The models as native/coherence/freshness_test.cc has them. */
class FreshnessTest {
  private static final long SECOND = 1_000_000_000;
  private static final long BEGAN = 100 * SECOND;
  private static final long NOW = 101 * SECOND;

  private static VersionStamp version(long number) {
    return new VersionStamp(1, number, number * 31);
  }

  private static Knowledge known(
      VersionStamp copy, VersionStamp newest, long asOf, long confirmed, Bound promise) {
    return new Knowledge(true, copy, newest, asOf, confirmed, promise, NOW - SECOND, SECOND);
  }

  private static boolean isRecent(CoherenceModel model, double x, Knowledge known) {
    return Freshness.isRecent(new Bound(model, x), known, BEGAN, NOW);
  }

  /** [COH-1, COH-4, COH-7] */
  @Test
  void fullAndDeltaCountVersionsAsOfTheAcquire() {
    Knowledge behind = known(version(5), version(7), BEGAN, NEVER, null);
    assertFalse(isRecent(CoherenceModel.FULL, 0, behind));
    assertFalse(isRecent(CoherenceModel.DELTA, 1, behind));
    assertTrue(isRecent(CoherenceModel.DELTA, 2, behind));
    Knowledge earlier = known(version(7), version(7), BEGAN - 1, NEVER, null);
    assertFalse(isRecent(CoherenceModel.FULL, 0, earlier));
    Knowledge newest = known(version(7), version(7), BEGAN, NEVER, null);
    assertTrue(isRecent(CoherenceModel.FULL, 0, newest));
    assertTrue(isRecent(CoherenceModel.DIFF, 0, newest));
    assertFalse(isRecent(CoherenceModel.STRICT, 0, newest));
  }

  /** [FRESH-3] */
  @Test
  void aPromiseHoldsWhileTheServerIsHeard() {
    Knowledge watched = known(version(7), version(7), NEVER, NEVER, Bound.FULL);
    assertTrue(isRecent(CoherenceModel.FULL, 0, watched));
    assertTrue(isRecent(CoherenceModel.DELTA, 1, watched));
    assertFalse(Freshness.isRecent(Bound.FULL, watched, BEGAN, NOW + 2 * SECOND));
    Bound delta = new Bound(CoherenceModel.DELTA, 3);
    Knowledge less = known(version(5), version(7), NEVER, NEVER, delta);
    assertFalse(isRecent(CoherenceModel.FULL, 0, less));
    assertFalse(isRecent(CoherenceModel.DELTA, 2, less));
    assertTrue(isRecent(CoherenceModel.DELTA, 3, less));
    Bound diff = new Bound(CoherenceModel.DIFF, 10);
    Knowledge little = known(version(5), version(7), NEVER, NEVER, diff);
    assertTrue(isRecent(CoherenceModel.DIFF, 10, little));
    assertFalse(isRecent(CoherenceModel.DIFF, 9, little));
  }

  /** [COH-5] */
  @Test
  void temporalCountsFromTheLastConfirmation() {
    Knowledge confirmed = known(version(5), version(7), NEVER, NOW - 3 * SECOND, null);
    assertTrue(isRecent(CoherenceModel.TEMPORAL, 3, confirmed));
    assertFalse(isRecent(CoherenceModel.TEMPORAL, 2.9, confirmed));
    Bound three = new Bound(CoherenceModel.TEMPORAL, 3);
    assertEquals(NOW, Freshness.recentUntil(three, confirmed));
    assertEquals(Freshness.FOREVER, Freshness.recentUntil(Bound.FULL, confirmed));
    Knowledge watched = known(version(7), version(7), NEVER, NEVER, Bound.FULL);
    assertTrue(isRecent(CoherenceModel.TEMPORAL, 1, watched));
  }

  /** [COH-11] */
  @Test
  void theSameNumberWithAnotherChainIsAnotherVersion() {
    Knowledge other = known(new VersionStamp(1, 7, 9), version(7), BEGAN, NEVER, null);
    assertFalse(isRecent(CoherenceModel.FULL, 0, other));
    assertFalse(isRecent(CoherenceModel.DELTA, 5, other));
    Knowledge life = known(new VersionStamp(2, 7, 217), version(7), BEGAN, NEVER, null);
    assertFalse(isRecent(CoherenceModel.DELTA, 5, life));
  }

  /** [COH-3] */
  @Test
  void nullWantsAnyCopy() {
    VersionStamp none = new VersionStamp(0, 0, 0);
    Knowledge nothing =
        new Knowledge(false, none, none, NEVER, NEVER, null, NEVER, SECOND);
    assertFalse(isRecent(CoherenceModel.NULL_COHERENCE, 0, nothing));
    Knowledge old = known(version(1), version(99), BEGAN, NEVER, null);
    assertTrue(isRecent(CoherenceModel.NULL_COHERENCE, 0, old));
  }
}
