package org.interweave.client;

import static org.interweave.wire.protocol.SessionCodec.MessageType.MORE_SERIALS;
import static org.interweave.wire.protocol.SessionCodec.MessageType.RELEASE_WRITER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.RELEASE_RESOLVED;
import static org.interweave.wire.protocol.SessionCodec.MessageType.RESOLVE_RELEASE;
import static org.interweave.wire.protocol.SessionCodec.MessageType.SERIALS_GRANTED;
import static org.interweave.wire.protocol.SessionCodec.MessageType.WRITER_KEPT;
import static org.interweave.wire.protocol.SessionCodec.MessageType.WRITER_RELEASED;

import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.coherence.Freshness;
import org.interweave.diff.Changes;
import org.interweave.session.Answers;
import org.interweave.session.Connection;
import org.interweave.session.Conversation;
import org.interweave.session.Release;
import org.interweave.session.WriterGrant;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.LockCodec.MoreSerials;
import org.interweave.wire.protocol.LockCodec.ReleasePart;
import org.interweave.wire.protocol.LockCodec.ReleaseResolved;
import org.interweave.wire.protocol.LockCodec.ReleaseWriter;
import org.interweave.wire.protocol.LockCodec.ResolveRelease;
import org.interweave.wire.protocol.LockCodec.SerialsGranted;
import org.interweave.wire.protocol.LockCodec.WriterKept;
import org.interweave.wire.protocol.LockCodec.WriterReleased;
import org.interweave.wire.protocol.SegmentCodec.VersionStamp;

/**
 * One writer section, from the grant to its release or abort, whatever happens to connections. All
 * methods need the link's lock. A release is not given up when its thread is interrupted, because
 * its outcome must be known.
 */
final class Writing {
  private static final byte[] NO_BYTES = new byte[0];
  private static final long MOST_SERIALS = 1 << 19;
  private static final long REFUSAL_PAUSE = 10_000_000;

  final Changes changes;
  private final Exchange exchange;
  private final Conversation conversation;
  private final WriterGrant grant;
  private final SegmentObjects objects;
  private final ReentrantLock gate;
  private final Release release = new Release();
  private long serialsAsked;
  /** Connections that were given a diff and did not answer, and so may still have it. */
  private int unanswered;

  Writing(Exchange exchange, Changes changes, SegmentObjects objects) {
    this.exchange = exchange;
    this.changes = changes;
    this.objects = objects;
    gate = objects.gate();
    conversation = exchange.conversation;
    grant = conversation.grant();
    serialsAsked = grant.serialCount();
  }

  /** Blocks are as they were at the grant, and so are their objects. */
  private void undo() {
    gate.lock();
    try {
      changes.undo();
      objects.reload();
    } finally {
      gate.unlock();
    }
  }

  void abort() {
    try {
      undo();
    } finally {
      end();
    }
  }

  private void end() {
    grant.serialsAre(changes.firstSerial(), changes.serialsLeft());
    conversation.writingEnded();
    exchange.carryOut();
  }

  /** Throws if the lock is known to be lost. */
  void checkHeld() {
    InterweaveException loss = conversation.loss();
    if (loss != null) throw loss;
    if (grant.isLost()) {
      throw InterweaveException.of(
          Error.FENCED,
          "the writer lock was lost before its release (its lease or hold time ended, or the"
              + " server was restarted); the changes were undone");
    }
  }

  /**
   * Sends the diff (null: nothing changed) and makes it the version, which is returned. After an
   * error that `isStillHeld` the section continues; otherwise the changes are undone. The copy is
   * fetched anew if it is not known whether the release was committed.
   */
  long release(byte[] diff, long deadline) {
    VersionStamp base = conversation.state().have();
    try {
      checkHeld();
      boolean isUnsaid = diff == null && conversation.mayEndUnsaid(Clock.now());
      VersionStamp version = isUnsaid ? base : send(diff, base, deadline);
      changes.commit(diff == null ? base.number() : version.number(), unanswered == 0);
      end();
      return version.number();
    } catch (InterweaveException wrong) {
      Release.Outcome outcome = release.outcome(wrong.code());
      if (outcome == Release.Outcome.STILL_HELD) throw wrong;
      abort();
      if (wrong.code() == Error.UNREACHABLE) conversation.state().forget();
      throw wrong;
    } catch (RuntimeException | java.lang.Error wrong) {
      abort();
      conversation.state().forget();
      throw wrong;
    }
  }

  /** Whether the section continues after a release that failed so. */
  boolean isStillHeld(InterweaveException wrong) {
    return release.outcome(wrong.code()) == Release.Outcome.STILL_HELD;
  }

  /** The answer, over as many connections as it takes. */
  private VersionStamp send(byte[] diff, VersionStamp base, long deadline) {
    while (true) {
      try {
        VersionStamp version = trySend(diff, base, deadline);
        if (version != null) return version;
      } catch (InterweaveException wrong) {
        InterweaveException told = release.told(wrong);
        if (release.outcome(told.code()) != Release.Outcome.ASK_AGAIN) throw told;
        if (Clock.now() >= deadline) throw Release.unknown(wrong);
        exchange.link().await(exchange.changed, Clock.now() + REFUSAL_PAUSE, false);
      }
    }
  }

  /** Null: the connection was lost before the answer came, or another server has the segment. */
  private VersionStamp trySend(byte[] diff, VersionStamp base, long deadline) {
    if (release.isNew()) {
      Link link = exchange.link();
      release.begin(link.session(), link.nextSequence());
      conversation.releasing(Clock.now());
    }
    Connection on = exchange.open(deadline, false, false);
    Link link = exchange.link();
    if (!release.isSentIn(link.session())) return resolve(deadline);
    byte[] bulk = diff == null ? NO_BYTES : diff;
    ReleasePart part =
        new ReleasePart(conversation.number(), grant.fence(), base, bulk.length);
    ReleaseWriter body = new ReleaseWriter(release.sequence(), List.of(part));
    release.sent();
    ++unanswered;
    Call call =
        exchange.send(RELEASE_WRITER, ReleaseWriter.CODEC.toBytes(body), bulk, true);
    Message answer;
    try {
      answer = link.await(call, Freshness.FOREVER, false, false);
      --unanswered;
    } catch (InterweaveException wrong) {
      if (link.live() != on && Clock.now() < deadline) return null;
      throw wrong;
    }
    // The segment's new owner is asked what became of the release.
    if (Answers.redirect(answer) != null) return null;
    List<VersionStamp> versions = versions(answer);
    return versions.isEmpty() ? conversation.state().have() : versions.get(0);
  }

  /** From the answer to the release. */
  private List<VersionStamp> versions(Message answer) {
    if (answer.is(WRITER_KEPT)) return answer.decode(WriterKept.CODEC).versions();
    try {
      return Answers.expect(answer, WRITER_RELEASED, WriterReleased.CODEC).versions();
    } catch (InterweaveException wrong) {
      release.answered(wrong.code());
      throw wrong;
    }
  }

  /** [LOCK-9] */
  private VersionStamp resolve(long deadline) {
    Question question =
        new Question(RESOLVE_RELEASE, false) {
          @Override
          byte[] body() {
            return ResolveRelease.CODEC.toBytes(
                new ResolveRelease(
                    conversation.number(), release.session(), release.sequence()));
          }
        };
    Call call = exchange.ask(question, deadline, false);
    ReleaseResolved resolved =
        Answers.expect(call.answer, RELEASE_RESOLVED, ReleaseResolved.CODEC);
    if (!resolved.committed()) throw Release.notCommitted();
    conversation.resolved(resolved.version(), call.sentAt);
    return resolved.version();
  }

  /** A further range, twice as large as the last. */
  void moreSerials(long deadline) {
    serialsAsked = Math.min(Math.max(2 * serialsAsked, 64), MOST_SERIALS);
    Question question =
        new Question(MORE_SERIALS, false) {
          @Override
          byte[] body() {
            return MoreSerials.CODEC.toBytes(
                new MoreSerials(conversation.number(), grant.fence(), serialsAsked));
          }
        };
    Call call = exchange.ask(question, deadline, true);
    SerialsGranted granted =
        Answers.expect(call.answer, SERIALS_GRANTED, SerialsGranted.CODEC);
    gate.lock();
    try {
      changes.addSerials(granted.firstSerial(), granted.serialCount());
    } finally {
      gate.unlock();
    }
  }
}
