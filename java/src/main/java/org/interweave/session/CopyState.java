package org.interweave.session;

import static org.interweave.coherence.Freshness.NEVER;
import static org.interweave.coherence.Freshness.isSame;

import java.util.ArrayDeque;
import java.util.Deque;
import org.interweave.coherence.Adaptation;
import org.interweave.coherence.Bound;
import org.interweave.coherence.Knowledge;
import org.interweave.wire.protocol.LockCodec.CoherenceModel;
import org.interweave.wire.protocol.LockCodec.ReaderAcquired;
import org.interweave.wire.protocol.SegmentCodec.VersionStamp;

/**
 * What a client knows about its copy of one segment: the copy's version, the newest version, when
 * it was so, and the diffs that have arrived and wait to be applied.
 *
 * <p>Diffs come in version order [FRAME-5] and wait in one queue: each begins at the version at
 * which the one before it ends, or is a complete copy. Time is an argument.
 */
public final class CopyState {
  public static final VersionStamp NO_VERSION = new VersionStamp(0, 0, 0);

  public final Adaptation adaptation = new Adaptation();
  private boolean hasCopy;
  private VersionStamp have = NO_VERSION;
  private VersionStamp newest = NO_VERSION;
  private VersionStamp had = NO_VERSION;
  private Bound subscription;
  private long newestAsOf = NEVER;
  private long confirmed = NEVER;
  /** `reach` was the newest at this moment. */
  private long reachAsOf = NEVER;
  // While one of these is true, the server's silence does not mean that `reach` is recent enough.
  /** It has nothing more to say for now [NOT-1]. */
  private boolean isTold;
  /** It counts the client as having more than `reach`. */
  private boolean isOverrated;
  /** Its first notification may be on its way [NOT-5]. */
  private boolean isUnsure;
  /** So it is while a diff is coming; else null. There is one at a time [FRAME-5]. */
  private Coming coming;
  private Deque<StagedDiff> staged = new ArrayDeque<>();
  private long creditBytes;
  /** So often a diff was lost. */
  private long lost;

  /**
   * The first frame of a message has come whose diff the server counts the client as having
   * [NOT-6]. `from` is null for an answer, which does not say yet at which version its diff begins.
   */
  record Coming(long stream, VersionStamp from, VersionStamp now) {}

  /** The same number with another chain is another history, which has replaced ours [COH-11]. */
  private static boolean isAfter(VersionStamp a, VersionStamp b) {
    if (a.incarnation() != b.incarnation()) return true;
    int order = Long.compareUnsigned(a.number(), b.number());
    return order > 0 || order == 0 && a.chain() != b.chain();
  }

  public boolean hasCopy() {
    return hasCopy;
  }

  /** The copy's version. */
  public VersionStamp have() {
    return have;
  }

  /** The newest version heard of. */
  public VersionStamp newest() {
    return newest;
  }

  /** The version that the program saw last, also if the copy is of no version any more. */
  public VersionStamp had() {
    return had;
  }

  /** The server watches this bound; null: it watches nothing. */
  public Bound subscription() {
    return subscription;
  }

  public Knowledge knowledge(long heard, long heartbeat) {
    // The promise is about `reach` [FRESH-3].
    Bound promise = hasStaged() ? null : promise();
    return new Knowledge(hasCopy, have, newest, newestAsOf, confirmed, promise, heard, heartbeat);
  }

  /** What would be known once the waiting diffs were applied. */
  public Knowledge withStaged(Knowledge known) {
    return staged.isEmpty() ? known : known.at(reach(), reachAsOf, promise());
  }

  private Bound promise() {
    return isTold || isOverrated || isUnsure || coming != null ? null : subscription;
  }

  public boolean hasStaged() {
    return !staged.isEmpty();
  }

  /** The version that the copy and its waiting diffs lead to: what requests say they have. */
  public VersionStamp reach() {
    return staged.isEmpty() ? have : staged.peekLast().now();
  }

  /**
   * `reach` after the diff that is coming. A question gives this version: its answer comes later.
   */
  public VersionStamp willReach() {
    boolean continues = coming != null && coming.from != null && isSame(coming.from, reach());
    return continues ? coming.now : reach();
  }

  /** What a question says that the client has, and how many diffs the client had lost by then. */
  public record Asked(VersionStamp have, long lost) {}

  public Asked asked() {
    return new Asked(willReach(), lost);
  }

  void begins(Coming message) {
    coming = message;
  }

  /** The message on that stream is complete. */
  void ends(long stream) {
    if (coming != null && coming.stream == stream) coming = null;
  }

  /**
   * The version that an answer's diff begins at, of which the diff says the number: the server made
   * it from the version that we named, chain and all.
   */
  VersionStamp baseOfUpdate(long number, long incarnation) {
    VersionStamp end = reach();
    boolean continues = end.incarnation() == incarnation && end.number() == number;
    return new VersionStamp(incarnation, number, continues ? end.chain() : 0);
  }

  void newestIs(VersionStamp version, long asOf) {
    if (isAfter(version, newest)) newest = version;
    if (isSame(version, newest)) newestAsOf = Math.max(newestAsOf, asOf);
    if (isSame(version, reach())) reachAsOf = Math.max(reachAsOf, asOf);
    if (hasCopy && isSame(version, have)) confirmed = Math.max(confirmed, asOf);
  }

  /**
   * The segment was opened at a server, which may have gone back from what was heard before, though
   * not from the copy. Drops diffs that lead to a version that the server has lost [COH-11].
   */
  void openedAt(VersionStamp version) {
    if (isAfter(reach(), version)) dropStaged();
    newest = version;
  }

  /**
   * After the answer `acquired` to that question: its diff fits nothing, because another answer
   * came between. Or the copy does not come to the version that was named, because a diff that was
   * coming, or waited, could not be used. Or a diff was lost on which the answer counts [FRESH-2].
   */
  public boolean mustAskAgain(ReaderAcquired acquired, Asked asked) {
    boolean lacksNamed = asked.have.number() != 0 && !reaches(asked.have);
    boolean countsOnDiff = acquired.updated() || lost != asked.lost;
    return !acquired.updated() && lacksNamed || countsOnDiff && !reaches(acquired.now());
  }

  /** Whether the client can reach that version, or a later one of its incarnation. */
  public boolean reaches(VersionStamp version) {
    VersionStamp end = reach();
    boolean isBeyond =
        end.incarnation() == version.incarnation()
            && Long.compareUnsigned(end.number(), version.number()) > 0;
    return isBeyond || isSame(end, version);
  }

  private void reachedNewest() {
    if (!isSame(reach(), newest)) return;
    isTold = false;
    isOverrated = false;
    isUnsure = false;
  }

  /** An answer without a diff: what the client can reach is recent enough. */
  public void upToDate(VersionStamp version, long asOf) {
    // The empty segment needs no diff to be a copy of it.
    if (!hasCopy && staged.isEmpty() && version.number() == 0) {
      hasCopy = true;
      have = version;
      had = version;
    }
    newestIs(version, asOf);
    isUnsure = false;
    reachedNewest();
  }

  /** Takes a diff of an answer or push. Drops a diff that does not continue a version here. */
  void stage(StagedDiff diff) {
    // Answers come in version order: a complete copy of a lower number says that the server went
    // back.
    if (diff.isComplete()) newest = diff.now();
    newestIs(diff.now(), diff.asOf());
    isUnsure = false;
    VersionStamp end = reach();
    boolean continues = diff.isComplete() || isSame(diff.from(), end);
    if (!continues || isSame(diff.now(), end) && hasCopy) {
      giveCredit(diff);
      if (!isSame(diff.now(), end)) loseDiffs();
      return;
    }
    if (diff.isComplete()) dropStaged();
    reachAsOf = diff.asOf();
    staged.add(diff);
    reachedNewest();
  }

  /** SUBSCRIBED: `version` is the newest, as it says. */
  void subscribed(Bound promise, VersionStamp version, long asOf) {
    subscription = promise;
    isTold = false;
    // The other bounds are known to be kept or broken by the numbers of the versions.
    isUnsure = promise.model() == CoherenceModel.DIFF && !isSame(version, reach());
    newestIs(version, asOf);
  }

  /** SUBSCRIBE with `reach`, or UNSUBSCRIBE, is about to be sent. */
  void unsubscribed() {
    subscription = null;
    isOverrated = false;
  }

  void notRecent(VersionStamp version) {
    isTold = true;
    newestIs(version, asOfNotified(version));
  }

  /** The moment as of which a notification confirms its version [FRESH-2]. */
  long asOfNotified(VersionStamp version) {
    boolean isLater =
        version.incarnation() == newest.incarnation()
            && Long.compareUnsigned(version.number(), newest.number()) >= 0;
    return isLater ? newestAsOf : NEVER;
  }

  /** The connection is gone; so is the server's promise. Pushed bytes need no credit any more. */
  void connectionLost() {
    unsubscribed();
    coming = null;
    newestAsOf = NEVER;
    Deque<StagedDiff> kept = new ArrayDeque<>();
    for (StagedDiff diff : staged) kept.add(diff.unpushed());
    staged = kept;
    creditBytes = 0;
  }

  /** The next diff to apply; null: there is none. Drops diffs that do not continue the copy. */
  public StagedDiff takeStaged() {
    for (StagedDiff diff = staged.poll(); diff != null; diff = staged.poll()) {
      if (diff.isComplete() || isSame(diff.from(), have)) return diff;
      giveCredit(diff);
    }
    return null;
  }

  public void applied(StagedDiff diff) {
    giveCredit(diff);
    hasCopy = true;
    have = diff.now();
    had = diff.now();
    confirmed = hasStaged() ? diff.asOf() : Math.max(reachAsOf, diff.asOf());
  }

  private void dropStaged() {
    for (StagedDiff diff : staged) giveCredit(diff);
    staged.clear();
    reachAsOf = confirmed;
  }

  /** The server counts the client as having a diff that is lost. */
  private void loseDiffs() {
    isOverrated = true;
    ++lost;
  }

  /** Marks the copy as not being any version. The next diff must be a complete copy. */
  public void forget() {
    loseDiffs();
    dropStaged();
    hasCopy = false;
    have = NO_VERSION;
    confirmed = NEVER;
    reachAsOf = NEVER;
  }

  /** A release of our own was committed. */
  void released(VersionStamp version, long asOf) {
    dropStaged();
    hasCopy = true;
    have = version;
    had = version;
    confirmed = asOf;
    newestIs(version, asOf);
    reachedNewest();
  }

  private void giveCredit(StagedDiff diff) {
    if (diff.wasPushed()) creditBytes += diff.bytes().length;
  }

  /** Bytes of pushed diffs no longer held since the last call [NOT-4]. */
  long takeCredit() {
    long credit = creditBytes;
    creditBytes = 0;
    return credit;
  }
}
