package org.interweave.session;

import static org.interweave.wire.protocol.SessionCodec.MessageType.MORE_SERIALS;
import static org.interweave.wire.protocol.SessionCodec.MessageType.RELEASE_RESOLVED;
import static org.interweave.wire.protocol.SessionCodec.MessageType.RELEASE_WRITER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.RESOLVE_RELEASE;
import static org.interweave.wire.protocol.SessionCodec.MessageType.SERIALS_GRANTED;
import static org.interweave.wire.protocol.SessionCodec.MessageType.WRITER_KEPT;
import static org.interweave.wire.protocol.SessionCodec.MessageType.WRITER_RELEASED;

import java.util.List;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.coherence.Bound;
import org.interweave.coherence.Freshness;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.LockCodec.CoherenceModel;
import org.interweave.wire.protocol.LockCodec.MoreSerials;
import org.interweave.wire.protocol.LockCodec.ReleasePart;
import org.interweave.wire.protocol.LockCodec.ReleaseResolved;
import org.interweave.wire.protocol.LockCodec.ReleaseWriter;
import org.interweave.wire.protocol.LockCodec.ResolveRelease;
import org.interweave.wire.protocol.LockCodec.SerialsGranted;
import org.interweave.wire.protocol.LockCodec.WriterKept;
import org.interweave.wire.protocol.LockCodec.WriterReleased;
import org.interweave.wire.protocol.SegmentCodec.VersionStamp;

/** The actions of a trace's program: client/SegmentLocks.java and Writing.java for one thread. */
final class TracedProgram {
  private static final long REFUSAL_PAUSE = 10_000_000;

  /** The end of an action. */
  record Ended(
      String code, String outcome, VersionStamp version, long fence, boolean isResumed) {}

  private final TracedClient client;
  private Coroutine thread;
  private Ended ended;

  private boolean isStrict;
  private WriterGrant grant;
  private Release release;
  private boolean isResumed;
  private String outcome;

  TracedProgram(TracedClient client) {
    this.client = client;
  }

  void is(Coroutine coroutine) {
    thread = coroutine;
    ended = null;
  }

  /** Null: the action is under way. */
  Ended ended() {
    return ended;
  }

  boolean isWriting() {
    return grant != null;
  }

  void act(Trace.Line line) {
    outcome = "";
    String code = "OK";
    try {
      act(line.text("action"), line);
    } catch (InterweaveException wrong) {
      code = wrong.code().name();
    }
    Conversation talk = client.conversation();
    VersionStamp version = talk == null ? CopyState.NO_VERSION : talk.state().have();
    long fence = grant == null ? 0 : grant.fence();
    ended = new Ended(code, outcome, version, fence, isResumed);
  }

  private void act(String action, Trace.Line line) {
    long deadline = line.has("until") ? line.number("until") : Freshness.FOREVER;
    if (action.equals("CLOSE")) {
      close();
      return;
    }
    if (client.conversation() == null) {
      client.begin();
      boolean isOpen = false;
      try {
        client.open(deadline);
        isOpen = true;
      } finally {
        if (!isOpen) client.close();
      }
    }
    switch (action) {
      case "READ" -> read(line, deadline);
      case "END_READ" -> {
        if (isStrict) client.conversation().strictLeft();
        isStrict = false;
        client.carryOut();
      }
      case "WRITE" -> write(deadline);
      case "RELEASE" -> release(line.has("diff") ? line.bytes("diff") : null, deadline);
      case "ABORT" -> end();
      case "SERIALS" -> moreSerials(deadline);
      case "LISTEN", "IGNORE" -> {
        client.open(deadline);
        client.listen(action.equals("LISTEN"));
      }
      default -> throw new IllegalStateException("no action " + action);
    }
  }

  private void close() {
    if (client.conversation() == null) {
      throw InterweaveException.of(Error.NOT_OPEN, "it is not open");
    }
    isStrict = false;
    client.close();
  }

  // ---- readers ----

  private void read(Trace.Line line, long deadline) {
    double x = ((Number) line.members().get("x")).doubleValue();
    client.bound(new Bound(CoherenceModel.valueOf(line.text("model")), x));
    boolean fresh = Boolean.TRUE.equals(line.members().get("fresh"));
    Bound bound = client.bound();
    long now = client.now();
    long began = now + 1; // after all that was heard
    client.conversation().check();
    if (fresh || !Freshness.isRecent(bound, client.knowledge(), began, now)) {
      update(bound, fresh, began, deadline);
    }
    isStrict = bound.model() == CoherenceModel.STRICT;
    client.conversation().entered(isStrict);
  }

  private void update(Bound bound, boolean fresh, long began, long deadline) {
    CopyState state = client.state();
    boolean isStaged =
        !fresh
            && state.hasStaged()
            && Freshness.isRecent(
                bound, state.withStaged(client.knowledge()), began, client.now());
    if (!isStaged) {
      client.askReader(bound, fresh, deadline);
      client.watch();
    }
    client.applyStaged();
  }

  // ---- the writer ----

  private void write(long deadline) {
    Conversation talk = client.conversation();
    boolean isBegun = false;
    try {
      talk.check();
      isResumed = talk.resume(client.now());
      if (!isResumed) client.acquireGrant(deadline);
      grant = talk.grant();
      client.applyStaged();
      becomeNewest(deadline);
      release = new Release();
      isBegun = true;
    } finally {
      if (!isBegun) end();
    }
  }

  private void becomeNewest(long deadline) {
    CopyState state = client.state();
    VersionStamp newest = grant.newest();
    while (!Freshness.isSame(state.have(), newest)) {
      if (!state.hasCopy() && newest.number() == 0) {
        state.upToDate(newest, client.now());
        continue;
      }
      client.askReader(Bound.FULL, true, deadline);
      client.applyStaged();
    }
  }

  private void end() {
    grant = null;
    client.conversation().writingEnded();
    client.carryOut();
  }

  private void release(byte[] diff, long deadline) {
    Conversation talk = client.conversation();
    VersionStamp base = talk.state().have();
    try {
      InterweaveException loss = talk.loss();
      if (loss != null) throw loss;
      if (grant.isLost()) throw InterweaveException.of(Error.FENCED, "the lock is lost");
      boolean isUnsaid = diff == null && talk.mayEndUnsaid(client.now());
      if (!isUnsaid) send(diff, base, deadline);
      outcome = isUnsaid ? "UNSAID" : "COMMITTED";
      end();
    } catch (InterweaveException wrong) {
      boolean isHeld = release.outcome(wrong.code()) == Release.Outcome.STILL_HELD;
      boolean isUnknown = wrong.code() == Error.UNREACHABLE;
      outcome = isHeld ? "HELD" : isUnknown ? "UNKNOWN" : "ROLLED_BACK";
      if (!isHeld) end();
      if (isUnknown) talk.state().forget();
      throw wrong;
    }
  }

  private void send(byte[] diff, VersionStamp base, long deadline) {
    while (true) {
      try {
        if (trySend(diff, base, deadline)) return;
      } catch (InterweaveException wrong) {
        InterweaveException told = release.told(wrong);
        if (release.outcome(told.code()) != Release.Outcome.ASK_AGAIN) throw told;
        if (client.now() >= deadline) throw Release.unknown(wrong);
        long again = client.now() + REFUSAL_PAUSE;
        while (client.now() < again) thread.pause();
      }
    }
  }

  private boolean trySend(byte[] diff, VersionStamp base, long deadline) {
    Conversation talk = client.conversation();
    if (release.isNew()) {
      release.begin(client.session(), client.nextSequence());
      talk.releasing(client.now());
    }
    Connection on = client.open(deadline);
    if (!release.isSentIn(client.session())) {
      resolve(deadline);
      return true;
    }
    byte[] bulk = diff == null ? TracedClient.NO_BYTES : diff;
    ReleasePart part = new ReleasePart(talk.number(), grant.fence(), base, bulk.length);
    ReleaseWriter body = new ReleaseWriter(release.sequence(), List.of(part));
    release.sent();
    TracedClient.Call call =
        client.send(RELEASE_WRITER, ReleaseWriter.CODEC.toBytes(body), bulk);
    try {
      check(client.await(call, Freshness.FOREVER));
      return true;
    } catch (InterweaveException wrong) {
      boolean isLost = call.isLost && client.live() != on;
      if (isLost && client.now() < deadline) return false;
      throw wrong;
    }
  }

  private void check(Message answer) {
    if (answer.is(WRITER_KEPT)) {
      answer.decode(WriterKept.CODEC);
      return;
    }
    try {
      Answers.expect(answer, WRITER_RELEASED, WriterReleased.CODEC);
    } catch (InterweaveException wrong) {
      release.answered(wrong.code());
      throw wrong;
    }
  }

  private void resolve(long deadline) {
    TracedClient.Call call =
        client.ask(
            RESOLVE_RELEASE,
            () ->
                ResolveRelease.CODEC.toBytes(
                    new ResolveRelease(
                        client.conversation().number(), release.session(), release.sequence())),
            deadline);
    ReleaseResolved resolved =
        Answers.expect(call.answer, RELEASE_RESOLVED, ReleaseResolved.CODEC);
    if (!resolved.committed()) throw Release.notCommitted();
    client.conversation().resolved(resolved.version(), call.sentAt);
  }

  private void moreSerials(long deadline) {
    TracedClient.Call call =
        client.ask(
            MORE_SERIALS,
            () ->
                MoreSerials.CODEC.toBytes(
                    new MoreSerials(client.conversation().number(), grant.fence(), 64)),
            deadline);
    Answers.expect(call.answer, SERIALS_GRANTED, SerialsGranted.CODEC);
  }
}
