package org.interweave.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.session.Release.Outcome;
import org.junit.jupiter.api.Test;

/** What errors mean for a release [LOCK-8, LOCK-9, CONN-4]. */
class ReleaseTest {
  private final Release release = new Release();

  @Test
  void aReleaseThatWasNeverSentIsRolledBack() {
    InterweaveException told =
        release.told(InterweaveException.of(Error.UNREACHABLE, "no server"));
    assertEquals(Error.ROLLED_BACK, told.code());
    assertEquals(Outcome.UNDONE, release.outcome(Error.UNREACHABLE));
    assertEquals(Outcome.UNDONE, release.outcome(Error.STOPPING));
  }

  @Test
  void whatBecameOfOneThatWasSentIsAskedOrUnknown() {
    release.sent();
    assertEquals(Outcome.UNKNOWN, release.outcome(Error.UNREACHABLE));
    assertEquals(Outcome.ASK_AGAIN, release.outcome(Error.STOPPING));
    assertEquals(Outcome.ASK_AGAIN, release.outcome(Error.DENIED));
    assertEquals(Outcome.UNDONE, release.outcome(Error.FENCED));
    assertEquals(Outcome.UNDONE, release.outcome(Error.QUOTA));
    InterweaveException why = InterweaveException.of(Error.UNREACHABLE, "gone");
    assertEquals(why, release.told(why));
  }

  @Test
  void theLockIsStillHeldWhenTheStoreIsFull() {
    release.sent();
    assertEquals(Outcome.STILL_HELD, release.outcome(Error.STORE_FULL));
    assertEquals(Outcome.STILL_HELD, release.outcome(Error.TIMED_OUT));
    assertEquals(Outcome.STILL_HELD, release.outcome(Error.TOO_LARGE));
  }

  @Test
  void anotherSessionCannotRepeatIt() {
    byte[] session = new byte[16];
    session[3] = 1;
    assertTrue(release.isNew());
    release.begin(session, 5);
    assertFalse(release.isNew());
    assertTrue(release.isOf(session.clone()));
    assertFalse(release.isOf(new byte[16]));
    assertEquals(5, release.sequence());
  }
}
