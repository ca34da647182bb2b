package org.interweave.session;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.coherence.Bound;
import org.interweave.coherence.Freshness;
import org.interweave.wire.Cursor;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.ErrorCodec.ErrorCode;
import org.interweave.wire.protocol.LockCodec.AbortWriter;
import org.interweave.wire.protocol.LockCodec.AcquireReader;
import org.interweave.wire.protocol.LockCodec.AcquireWriter;
import org.interweave.wire.protocol.LockCodec.CoherenceModel;
import org.interweave.wire.protocol.LockCodec.ReaderAcquired;
import org.interweave.wire.protocol.LockCodec.ReleaseReader;
import org.interweave.wire.protocol.LockCodec.RenewWriter;
import org.interweave.wire.protocol.LockCodec.WriterAcquired;
import org.interweave.wire.protocol.LockCodec.WriterKept;
import org.interweave.wire.protocol.LockCodec.WriterReleased;
import org.interweave.wire.protocol.LockCodec.WriterRenewed;
import org.interweave.wire.protocol.NotifyCodec.Credit;
import org.interweave.wire.protocol.NotifyCodec.NotRecent;
import org.interweave.wire.protocol.NotifyCodec.Push;
import org.interweave.wire.protocol.NotifyCodec.RecallWriter;
import org.interweave.wire.protocol.NotifyCodec.Subscribe;
import org.interweave.wire.protocol.NotifyCodec.Subscribed;
import org.interweave.wire.protocol.NotifyCodec.Unsubscribe;
import org.interweave.wire.protocol.NotifyCodec.WriterLost;
import org.interweave.wire.protocol.SegmentCodec.CloseSegment;
import org.interweave.wire.protocol.SegmentCodec.SegmentOpened;
import org.interweave.wire.protocol.SegmentCodec.VersionStamp;
import org.interweave.wire.protocol.SessionCodec.MessageType;
import org.interweave.wire.protocol.XdrCodec;

/**
 * The conversation of this process with the server about one segment: messages, ticks and wishes
 * go in, messages that nobody waits for come out as effects. No thread, socket or clock is here;
 * the driver gives every answer to `heard` in the order of arrival, and carries out the effects.
 *
 * <p>Some questions have a thread that waits for the answer (OPEN_SEGMENT, ACQUIRE_READER,
 * ACQUIRE_WRITER, RELEASE_WRITER, RESOLVE_RELEASE, MORE_SERIALS): the driver sends those. An answer
 * is late when that thread has given up.
 */
public final class Conversation {
  /** How many bytes of diffs the server may send by itself before they are used. */
  static final long PUSH_WINDOW_BYTES = 8 << 20;

  /** A message to send, on the connection on which the segment is open. */
  public record Effect(MessageType type, byte[] body) {
    /** CREDIT has no answer. */
    public boolean hasAnswer() {
      return type != MessageType.CREDIT;
    }
  }

  private final String path;
  private final CopyState state = new CopyState();
  private final Queue<Effect> effects = new ArrayDeque<>();
  private WriterGrant grant;
  /** The grant between sections, which the server leaves here [LOCK-13]; null: none. */
  private WriterGrant kept;
  /** The segment's number on the connection on which it is open. */
  private long number;
  private boolean isOpen;
  private boolean isClosed;
  private boolean isRemoved;
  private String lostBecause;
  /** The model that the copy must satisfy, and whether the program listens for changes. */
  private Bound bound = Bound.FULL;
  private boolean isWatched;
  /** The wishes of the last SUBSCRIBE. */
  private Bound askedPromise;
  private boolean askedPush;
  private boolean isSubscribing;
  /** SUBSCRIBE was sent on this connection, and UNSUBSCRIBE was not sent since. */
  private boolean mayBeWatched;
  /** Of a grant that the server may keep for us although no thread uses it; 0: none [LOCK-16]. */
  private long owedFence;
  /** ABORT_WRITERs of this connection that are not answered. */
  private int aborts;
  /** Grants for which no thread waited any more. */
  private long lateGrants;
  private int strictReaders;
  /** The Strict lock was asked for, so that the session may have it. */
  private boolean hasAskedStrict;
  /** An answer with the Strict lock, or RELEASE_READER, may be lost with its connection. */
  private boolean owesStrict;
  /** Another session than that of the locks has begun. */
  private boolean hasNewSession;
  /** When the last release was first sent. */
  private long releaseSince = Freshness.FOREVER;

  public Conversation(String path) {
    this.path = path;
  }

  public CopyState state() {
    return state;
  }

  /** The writer lock that this process holds; null: none. */
  public WriterGrant grant() {
    return grant;
  }

  public long number() {
    return number;
  }

  /** Whether the segment is open on the connection at hand. */
  public boolean isOpen() {
    return isOpen;
  }

  public boolean isClosed() {
    return isClosed;
  }

  /** The next message to send; null: none is left. */
  public Effect takeEffect() {
    return effects.poll();
  }

  private <T> void send(MessageType type, XdrCodec<T> codec, T body) {
    if (isOpen) effects.add(new Effect(type, codec.toBytes(body)));
  }

  // ---- opening, closing, losing ----

  /** Throws if the segment is closed, removed or lost. */
  public void check() {
    if (isClosed) throw InterweaveException.of(Error.NOT_OPEN, path + " was closed");
    InterweaveException loss = loss();
    if (loss != null) throw loss;
  }

  /** Removed [GONE-1], or the server lacks what this program had of it [LOST-4]; null: neither. */
  public InterweaveException loss() {
    if (isRemoved) {
      return InterweaveException.of(
          Error.REMOVED, path + " was removed; open it again to make it anew");
    }
    if (lostBecause == null) return null;
    return InterweaveException.of(
        Error.SEGMENT_LOST,
        path + " was lost: " + lostBecause + "; open the segment again (what this program had can"
            + " still be read from the old one, without a lock)");
  }

  public boolean isRemoved() {
    return isRemoved;
  }

  /** The server came back without it. */
  public boolean isLost() {
    return lostBecause != null;
  }

  /** No lock can be taken any more; another opening gives another segment [LOST-6, GONE-3]. */
  public boolean isOver() {
    return isClosed || isRemoved || lostBecause != null;
  }

  /** A segment of which this program has a copy is never made anew [LOST-1]. */
  public boolean mayCreate() {
    return state.had().number() == 0;
  }

  /** OPEN_SEGMENT was answered on the connection at hand. */
  public void opened(Message answer) {
    if (Answers.isError(answer, ErrorCode.NO_SEGMENT) && state.had().number() != 0) {
      lose("the server came back without it, and here is version " + state.had().number());
    }
    if (!answer.is(MessageType.SEGMENT_OPENED)) return;
    SegmentOpened opened = answer.decode(SegmentOpened.CODEC);
    HeaderFields.check(opened.fields());
    number = opened.segment();
    isOpen = true;
    VersionStamp had = state.had();
    if (Long.compareUnsigned(opened.newest().number(), had.number()) < 0) {
      lose("the server came back with version " + opened.newest().number()
          + ", and here is version " + had.number());
    } else if (isOver()) {
      leave();
    } else {
      state.openedAt(opened.newest());
      if (hasNewSession) endLocks();
      if (owedFence != 0) giveBack(owedFence);
      if (owesStrict && strictReaders == 0) returnStrict();
      owesStrict = false;
    }
  }

  /** Makes all later locks fail. The server forgets this opening, so that another may follow. */
  public void lose(String why) {
    if (lostBecause != null) return;
    lostBecause = why;
    loseLock();
    leave();
  }

  /** Ends all messages about the segment. */
  public void close() {
    if (isClosed) return;
    isClosed = true;
    leave();
  }

  /** Another opening takes over. The segment is lost or removed, and stays so [LOST-4]. */
  public void retire() {
    leave();
  }

  /** It ends with the opening, or the server took it away. */
  private void loseLock() {
    kept = null;
    if (grant != null) grant.lost(grant.fence());
  }

  /** CLOSE_SEGMENT ends a kept grant. */
  private void leave() {
    kept = null;
    send(MessageType.CLOSE_SEGMENT, CloseSegment.CODEC, new CloseSegment(number));
    isOpen = false;
  }

  public void connectionLost() {
    isOpen = false;
    isSubscribing = false;
    mayBeWatched = false;
    if (hasAskedStrict) owesStrict = true;
    state.connectionLost();
    if (grant != null) grant.connectionLost();
    giveUpKept();
    effects.clear();
    aborts = 0;
  }

  /**
   * Another server has the segment now [SPACE-23], and its number is not open on the connection any
   * more. Locks of this server's session are not known there [SPACE-16].
   */
  public void moved() {
    connectionLost();
    sessionEnded();
  }

  /**
   * The session that had locks is over, and another one has begun. The server is asked first
   * whether it has the segment, because a loss says more than a lost lock.
   */
  public void sessionEnded() {
    hasNewSession = true;
  }

  /** The locks of a session end with it. */
  private void endLocks() {
    loseLock();
    owedFence = 0;
    owesStrict = false;
    hasNewSession = false;
  }

  // ---- what the driver asks ----

  /** The body of ACQUIRE_READER. */
  public AcquireReader question(Bound bound, boolean fresh, long deadlineMs) {
    if (bound.model() == CoherenceModel.STRICT) hasAskedStrict = true;
    return new AcquireReader(
        number, state.willReach(), bound.model(), bound.x(), fresh, deadlineMs);
  }

  /** The body of ACQUIRE_WRITER. */
  public AcquireWriter writerQuestion(long deadlineMs) {
    return new AcquireWriter(number, state.willReach(), deadlineMs);
  }

  /** The number of late grants; one that came meanwhile explains WOULD_DEADLOCK. */
  public long lateGrants() {
    return lateGrants;
  }

  // ---- what comes ----

  /** The first frame of a message, which is heard when the rest is here. */
  public void begins(Message first) {
    long stream = first.envelope().stream();
    if (first.is(MessageType.PUSH)) {
      Push push = first.decode(Push.CODEC);
      state.begins(new CopyState.Coming(stream, push.from(), push.now()));
    } else if (first.is(MessageType.READER_ACQUIRED)) {
      VersionStamp version = first.decode(ReaderAcquired.CODEC).now();
      state.begins(new CopyState.Coming(stream, null, version));
    } else if (first.is(MessageType.WRITER_ACQUIRED)) {
      VersionStamp version = first.decode(WriterAcquired.CODEC).now();
      state.begins(new CopyState.Coming(stream, null, version));
    }
  }

  /** An answer to a request of that type. Late: no thread waits for the answer. */
  public void heard(MessageType asked, Message answer, boolean isLate, long sentAt, long now) {
    state.ends(answer.envelope().stream());
    if (Answers.isError(answer, ErrorCode.REMOVED)) removed();
    switch (asked) {
      case ACQUIRE_READER -> heardReader(answer, isLate, sentAt);
      case ACQUIRE_WRITER -> heardGrant(answer, isLate, sentAt, now);
      case RENEW_WRITER -> heardRenewal(answer, sentAt);
      case RELEASE_WRITER -> heardRelease(answer, sentAt, now);
      case ABORT_WRITER -> abortEnded();
      case SUBSCRIBE -> heardSubscribed(answer, sentAt);
      default -> { }
    }
  }

  private void heardReader(Message answer, boolean isLate, long sentAt) {
    if (!answer.is(MessageType.READER_ACQUIRED)) return;
    ReaderAcquired acquired = answer.decode(ReaderAcquired.CODEC);
    diffCame(answer, acquired.now(), acquired.updated(), false, sentAt);
    // A Strict lock may have come with it, which costs a message to give back.
    if (isLate && hasAskedStrict && strictReaders == 0) returnStrict();
  }

  private void diffCame(
      Message message, VersionStamp version, boolean updated, boolean wasPushed, long asOf) {
    if (!updated) {
      state.upToDate(version, asOf);
      return;
    }
    VersionStamp from = state.baseOfUpdate(beginOf(message.bulk()), version.incarnation());
    state.stage(new StagedDiff(from, version, message.bulk(), wasPushed, asOf));
  }

  /** The version at which a diff begins, from its head. */
  private static long beginOf(byte[] diff) {
    Cursor cursor = new Cursor(diff);
    cursor.skip(5);
    return cursor.varint64();
  }

  private void heardGrant(Message answer, boolean isLate, long sentAt, long now) {
    if (!answer.is(MessageType.WRITER_ACQUIRED)) return;
    WriterAcquired granted = answer.decode(WriterAcquired.CODEC);
    diffCame(answer, granted.now(), granted.updated(), false, sentAt);
    if (isLate) {
      ++lateGrants;
      giveBack(granted.fence());
    } else {
      owedFence = 0; // There is one holder at a time: an earlier grant has ended.
      grant = new WriterGrant(granted, sentAt, now);
    }
  }

  private void heardRenewal(Message answer, long sentAt) {
    if (grant == null) return;
    if (answer.is(MessageType.WRITER_RENEWED)) {
      grant.renewed(answer.decode(WriterRenewed.CODEC).leaseMs(), sentAt);
    } else {
      grant.renewalRefused();
    }
  }

  private void heardRelease(Message answer, long sentAt, long now) {
    if (grant != null) grant.staysNot();
    if (answer.is(MessageType.WRITER_RELEASED)) {
      List<VersionStamp> versions = answer.decode(WriterReleased.CODEC).versions();
      if (!versions.isEmpty()) released(versions.get(0), sentAt);
      if (grant != null) grant.settled();
    } else if (answer.is(MessageType.WRITER_KEPT)) {
      List<VersionStamp> versions = answer.decode(WriterKept.CODEC).versions();
      if (versions.isEmpty()) return;
      released(versions.get(0), sentAt);
      if (grant != null) grant.stays(versions.get(0), sentAt, now);
    }
  }

  /** A section under way gives the lock back at its end [LOCK-15]. */
  private void heardRecall(long fence) {
    if (kept != null && kept.fence() == fence) giveUpKept();
    else if (grant != null && grant.fence() == fence) grant.staysNot();
  }

  private void heardLoss(long fence) {
    if (kept != null && kept.fence() == fence) kept = null;
    if (grant != null) grant.lost(fence);
  }

  private void heardSubscribed(Message answer, long sentAt) {
    if (!isSubscribing) return;
    isSubscribing = false;
    if (answer.is(MessageType.SUBSCRIBED)) {
      state.subscribed(askedPromise, answer.decode(Subscribed.CODEC).now(), sentAt);
    }
    // The model may have changed meanwhile. A refused request is not repeated at once.
    followBound();
  }

  /** A notification about the segment. */
  public void notified(Message message) {
    state.ends(message.envelope().stream());
    if (message.is(MessageType.PUSH)) {
      state.adaptation.notified();
      VersionStamp version = message.decode(Push.CODEC).now();
      diffCame(message, version, true, true, state.asOfNotified(version));
      followBound();
    } else if (message.is(MessageType.NOT_RECENT)) {
      state.adaptation.notified();
      state.notRecent(message.decode(NotRecent.CODEC).now());
      followBound();
    } else if (message.is(MessageType.WRITER_LOST)) {
      heardLoss(message.decode(WriterLost.CODEC).fence());
    } else if (message.is(MessageType.RECALL_WRITER)) {
      heardRecall(message.decode(RecallWriter.CODEC).fence());
    } else if (message.is(MessageType.SEGMENT_GONE)) {
      removed();
    }
  }

  private void removed() {
    isRemoved = true;
    loseLock();
  }

  /** Renews the lock when that is due, and gives back a grant that is not used [LOCK-15]. */
  public void tick(long now) {
    if (kept != null && kept.isIdle(now)) giveUpKept();
    if (isWatched) watch();
    if (grant == null || !isOpen || grant.renewalDue() > now) return;
    grant.renewalSent();
    RenewWriter body = new RenewWriter(number, grant.fence());
    send(MessageType.RENEW_WRITER, RenewWriter.CODEC, body);
  }

  // ---- locks ----

  /** A reader went in. */
  public void entered(boolean isStrict) {
    if (isStrict) ++strictReaders;
    state.adaptation.acquired();
  }

  /** A Strict reader went out. */
  public void strictLeft() {
    if (--strictReaders == 0) returnStrict();
  }

  private void returnStrict() {
    send(MessageType.RELEASE_READER, ReleaseReader.CODEC, new ReleaseReader(number));
  }

  /** Begins another section under the kept grant; false: the lock is to be asked for [LOCK-14]. */
  public boolean resume(long now) {
    if (kept == null) return false;
    if (!kept.mayResume(now)) {
      giveUpKept();
      return false;
    }
    grant = kept;
    kept = null;
    grant.resume(now);
    return true;
  }

  /** Whether a section without changes may end without a word to the server. */
  public boolean mayEndUnsaid(long now) {
    return grant != null && grant.mayStay() && grant.isLeased(now);
  }

  /** Whether the server leaves the lock here between sections. */
  public boolean keepsGrant() {
    return kept != null;
  }

  /** The section is over: its grant is kept, was ended by a release, or is given back. */
  public void writingEnded() {
    if (grant == null) return;
    WriterGrant ended = grant;
    grant = null;
    if (ended.mayStay()) kept = ended;
    else if (ended.isOwed()) giveBack(ended.fence());
  }

  private void giveUpKept() {
    if (kept == null) return;
    long fence = kept.fence();
    kept = null;
    giveBack(fence);
  }

  private void giveBack(long fence) {
    owedFence = fence;
    if (isOpen) ++aborts;
    send(MessageType.ABORT_WRITER, AbortWriter.CODEC, new AbortWriter(number, fence));
  }

  private void abortEnded() {
    if (aborts > 0 && --aborts == 0) owedFence = 0;
  }

  /**
   * A release is about to be sent for the first time. Answers to later attempts confirm the version
   * as of now: others may have written since it was committed [FRESH-2].
   */
  public void releasing(long now) {
    releaseSince = now;
  }

  /** RESOLVE_RELEASE was answered: committed. */
  public void resolved(VersionStamp version, long sentAt) {
    released(version, sentAt);
    if (grant != null) grant.settled();
  }

  private void released(VersionStamp version, long sentAt) {
    state.released(version, Math.min(sentAt, releaseSince));
  }

  /** Diffs were applied or dropped [NOT-4]. */
  public void giveCredit() {
    long bytes = state.takeCredit();
    if (bytes > 0) send(MessageType.CREDIT, Credit.CODEC, new Credit(number, bytes));
  }

  // ---- subscriptions ----

  /** The program listens for changes, or does not any more. */
  public void listen(boolean listens) {
    isWatched = listens;
    watch();
    followBound();
  }

  /** The copy must be as recent as that from now on. */
  public void follow(Bound wanted) {
    bound = wanted;
    followBound();
  }

  /** Subscribes if there should be a subscription: after a question, or for listeners [POLL-1]. */
  public void watch() {
    if (lacksSubscription()) subscribe();
  }

  /** A subscription that is there must be the wanted one, or end. */
  private void followBound() {
    if (isSubscriptionUnwanted()) {
      mayBeWatched = false;
      state.unsubscribed();
      send(MessageType.UNSUBSCRIBE, Unsubscribe.CODEC, new Unsubscribe(number));
    } else if (state.subscription() != null) {
      watch();
    }
  }

  private boolean isWorthIt() {
    return state.adaptation.wantsSubscription() && bound.canSubscribe();
  }

  /**
   * Under other models the server would send diffs that readers never use. The first acquire asks
   * for the first copy: pushed, too, it would come twice.
   */
  private boolean wantsPush() {
    boolean usesAll =
        bound.model() == CoherenceModel.FULL || bound.model() == CoherenceModel.DELTA;
    return usesAll && !Freshness.isSame(state.reach(), CopyState.NO_VERSION);
  }

  private boolean lacksSubscription() {
    if (!isOpen || isSubscribing || !isWatched && !isWorthIt()) return false;
    return !Bound.areSame(state.subscription(), bound.promise()) || wantsPush() && !askedPush;
  }

  private boolean isSubscriptionUnwanted() {
    return isOpen && mayBeWatched && !isSubscribing && !isWatched && !isWorthIt();
  }

  private void subscribe() {
    isSubscribing = true;
    mayBeWatched = true;
    // The old promise ends now, because the server may act on the new one before we hear of it.
    state.unsubscribed();
    askedPromise = bound.promise();
    askedPush = wantsPush();
    Subscribe body =
        new Subscribe(
            number,
            state.reach(),
            askedPromise.model(),
            askedPromise.x(),
            askedPush,
            askedPush ? PUSH_WINDOW_BYTES : 0);
    send(MessageType.SUBSCRIBE, Subscribe.CODEC, body);
  }
}
