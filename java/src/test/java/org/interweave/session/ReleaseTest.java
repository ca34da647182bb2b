package org.interweave.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.session.Release.Outcome;
import org.junit.jupiter.api.Test;

/** What errors mean for a release [LOCK-8, LOCK-9, CONN-4]. */
class ReleaseTest {
  private static final List<Error> HOLDING =
      List.of(Error.TOO_LARGE, Error.TIMED_OUT, Error.STORE_FULL, Error.STORE_ALONE,
          Error.STORE_AWAY);

  private final Release release = new Release();

  @Test
  void aReleaseThatWasNeverSentIsRolledBack() {
    for (Error code : List.of(Error.UNREACHABLE, Error.STOPPING)) {
      InterweaveException told = release.told(InterweaveException.of(code, "no server"));
      assertEquals(Error.ROLLED_BACK, told.code());
      assertEquals(Outcome.UNDONE, release.outcome(code));
    }
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
  void theLockIsStillHeldAfterAReleaseThatIsRefusedSo() {
    for (Error code : HOLDING) {
      assertEquals(Outcome.STILL_HELD, release.outcome(code));
      release.sent();
      release.answered(code);
      assertEquals(Outcome.STILL_HELD, release.outcome(code));
    }
  }

  @Test
  void aRefusedConnectionDoesNotSayWhatBecameOfARelease() {
    release.sent();
    for (Error code : HOLDING) assertEquals(Outcome.ASK_AGAIN, release.outcome(code));
    // A server that stops may have logged it.
    release.answered(Error.STOPPING);
    for (Error code : HOLDING) assertEquals(Outcome.ASK_AGAIN, release.outcome(code));
  }

  @Test
  void aServerThatDeniesTheReleaseItselfHasNotCommittedIt() {
    release.sent();
    release.answered(Error.DENIED);
    assertEquals(Outcome.UNDONE, release.outcome(Error.DENIED));
    release.sent();
    assertEquals(Outcome.ASK_AGAIN, release.outcome(Error.DENIED));
  }

  @Test
  void anotherSessionCannotRepeatIt() {
    byte[] session = new byte[16];
    session[3] = 1;
    assertTrue(release.isNew());
    release.begin(session, 5);
    assertFalse(release.isNew());
    assertTrue(release.isSentIn(session.clone()));
    release.sent();
    assertFalse(release.isSentIn(new byte[16]));
    assertTrue(release.isSentIn(session.clone()));
    assertEquals(5, release.sequence());
  }

  /** [CONN-4] */
  @Test
  void anotherSessionRollsBackWhatWasNeverSent() {
    release.begin(new byte[] {1}, 5);
    InterweaveException wrong =
        assertThrows(InterweaveException.class, () -> release.isSentIn(new byte[] {2}));
    assertEquals(Error.ROLLED_BACK, wrong.code());
  }
}
