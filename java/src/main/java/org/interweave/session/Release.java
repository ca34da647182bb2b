package org.interweave.session;

import java.util.Arrays;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;

/**
 * One release of a writer lock, over as many connections as it takes, without I/O. It is sent with
 * one sequence [LOCK-8] by the session that sends it first. Another session cannot repeat it: it
 * can only ask what became of it [LOCK-9].
 */
public final class Release {
  /** What an error means for the release. */
  public enum Outcome {
    /** Changes are kept, the lock is held; the release may be tried again. */
    STILL_HELD,
    /** The changes are undone. */
    UNDONE,
    /** It may have been committed: the changes are undone, and the copy is fetched anew. */
    UNKNOWN,
    /** The server may be asked again. */
    ASK_AGAIN
  }

  private long sequence;
  private byte[] session;
  private boolean wasSent;
  /** It was sent, and no server has answered since that it does not take the release. */
  private boolean mayBeCommitted;

  /** True until a session has begun the release, whose next sequence is then to be used. */
  public boolean isNew() {
    return sequence == 0;
  }

  public void begin(byte[] bySession, long bySequence) {
    session = bySession.clone();
    sequence = bySequence;
  }

  public long sequence() {
    return sequence;
  }

  public byte[] session() {
    return session;
  }

  /**
   * Whether the release is sent in that session; otherwise it is asked about.
   *
   * @throws InterweaveException ROLLED_BACK: another session has begun, and the release was never
   *     sent [CONN-4]
   */
  public boolean isSentIn(byte[] other) {
    if (Arrays.equals(session, other)) return true;
    if (wasSent) return false;
    throw InterweaveException.of(
        Error.ROLLED_BACK,
        "the session ended before the release was sent, and with it the writer lock; the changes"
            + " were undone: take the lock and make them again");
  }

  /** It is handed to a connection, so that it may reach a server. */
  public void sent() {
    wasSent = true;
    mayBeCommitted = true;
  }

  /** A server answered the release itself with that error. */
  public void answered(Error code) {
    if (isHolding(code) || isRefusal(code)) mayBeCommitted = false;
  }

  /** Errors after which the lock is still held, if they answer the release. */
  private static boolean isHolding(Error code) {
    return code == Error.STORE_FULL || code == Error.STORE_ALONE || code == Error.STORE_AWAY
        || code == Error.TIMED_OUT || code == Error.TOO_LARGE;
  }

  /** Errors that refuse a whole connection, too, which then says nothing of the release. */
  private static boolean isRefusal(Error code) {
    return code == Error.MALFORMED || code == Error.VERSION_MISMATCH || code == Error.DENIED;
  }

  public Outcome outcome(Error code) {
    // A connection that is refused so does not say what became of a release sent before.
    if (isHolding(code)) return mayBeCommitted ? Outcome.ASK_AGAIN : Outcome.STILL_HELD;
    if (!wasSent) return Outcome.UNDONE;
    if (isRefusal(code)) return mayBeCommitted ? Outcome.ASK_AGAIN : Outcome.UNDONE;
    return switch (code) {
      case UNREACHABLE -> Outcome.UNKNOWN;
      // A server that stops may have logged it.
      case STOPPING -> Outcome.ASK_AGAIN;
      default -> Outcome.UNDONE;
    };
  }

  /** What the program is told of an error [CONN-4]. */
  public InterweaveException told(InterweaveException why) {
    boolean isAway = why.code() == Error.UNREACHABLE || why.code() == Error.STOPPING;
    if (wasSent || !isAway) return why;
    return InterweaveException.of(
        Error.ROLLED_BACK,
        why.getMessage() + "; the release was not sent, and the changes were undone");
  }

  /** It was sent, and nobody can say what became of it. */
  public static InterweaveException unknown(InterweaveException why) {
    return InterweaveException.of(
        Error.UNREACHABLE,
        why.getMessage() + "; the release was sent and may have been committed: the copy will be"
            + " fetched anew, look there");
  }

  /** RESOLVE_RELEASE was answered: not committed. */
  public static InterweaveException notCommitted() {
    return InterweaveException.of(
        Error.ROLLED_BACK,
        "the connection was lost during the release, and the changes were not committed; they"
            + " were undone: take the lock and make them again");
  }
}
