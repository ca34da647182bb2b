package org.interweave.session;

import static org.interweave.wire.protocol.SessionCodec.MessageType.ACQUIRE_READER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.ACQUIRE_WRITER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.HELLO;
import static org.interweave.wire.protocol.SessionCodec.MessageType.OPEN_SEGMENT;
import static org.interweave.wire.protocol.SessionCodec.MessageType.READER_ACQUIRED;
import static org.interweave.wire.protocol.SessionCodec.MessageType.SEGMENT_OPENED;
import static org.interweave.wire.protocol.SessionCodec.MessageType.WRITER_ACQUIRED;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.coherence.Bound;
import org.interweave.coherence.Freshness;
import org.interweave.coherence.Knowledge;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.LockCodec.AcquireReader;
import org.interweave.wire.protocol.LockCodec.AcquireWriter;
import org.interweave.wire.protocol.LockCodec.CoherenceModel;
import org.interweave.wire.protocol.LockCodec.ReaderAcquired;
import org.interweave.wire.protocol.LockCodec.WriterAcquired;
import org.interweave.wire.protocol.SegmentCodec.Durability;
import org.interweave.wire.protocol.SegmentCodec.OpenSegment;
import org.interweave.wire.protocol.SegmentCodec.SegmentOpened;
import org.interweave.wire.protocol.SegmentCodec.VersionStamp;
import org.interweave.wire.protocol.SessionCodec.MessageType;

/**
 * A client whose network, time and program are those of a trace. It calls Connection, Conversation
 * and Release as client/Link.java, Exchange.java, SegmentLocks.java and Writing.java do, for a
 * program of one thread.
 */
final class TracedClient implements Connection.Hearing<TracedClient.Call> {
  static final byte[] NO_BYTES = new byte[0];

  /** A request. */
  static final class Call {
    final MessageType type;
    /** Null: HELLO. */
    final Conversation of;
    boolean isLate;
    Message answer;
    long sentAt;
    boolean isLost;

    Call(MessageType type, Conversation of, boolean isAwaited) {
      this.type = type;
      this.of = of;
      isLate = !isAwaited;
    }
  }

  private final Trace trace;
  final List<Message> sent = new ArrayList<>();
  private long now;

  private Connection connection;
  private boolean isLive;
  private byte[] session = new byte[16];
  private long sequence;
  private boolean isHungUp;

  private Conversation conversation;
  /** Closed, and its opening is not answered yet [OPEN-2]. */
  private Conversation leaving;
  private boolean isOpening;
  private InterweaveException openFailure;
  private Bound bound = Bound.FULL;

  private final TracedProgram program = new TracedProgram(this);
  private Coroutine action;

  TracedClient(Trace trace) {
    this.trace = trace;
  }

  // ---- what goes in ----

  void timeIs(long at) {
    now = at;
  }

  long now() {
    return now;
  }

  void connected() {
    connection = new Connection(now);
    isHungUp = false;
    byte[] hello = Connection.hello(session, "", new Introduction("trace", "", "", 1), null);
    long stream = connection.begin(new Call(HELLO, null, true), now);
    sent.add(Message.of(HELLO, stream, hello, NO_BYTES));
  }

  void disconnected() {
    if (connection == null) return;
    for (Object each : connection.unanswered()) ((Call) each).isLost = true;
    connection = null;
    if (isLive) {
      isLive = false;
      isOpening = false;
      openFailure = null;
      leaving = null;
      if (conversation != null) conversation.connectionLost();
      carryOut();
    }
    goOn();
  }

  /** Whether the client gives up the connection now. */
  boolean givesUp() {
    return isHungUp || !isLive || connection.isSilent(now);
  }

  void heard(List<Message> messages) {
    if (connection == null || isHungUp) return;
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (Message message : messages) {
      for (ByteBuffer piece : message.frames()) {
        byte[] copied = new byte[piece.remaining()];
        piece.get(copied);
        bytes.writeBytes(copied);
      }
    }
    try {
      connection.receive(bytes.toByteArray(), 0, bytes.size(), now, this);
    } catch (InterweaveException wrong) {
      isHungUp = true;
    }
    goOn();
  }

  /** As the link's timer does, but for PING and for silence, which the trace decides. */
  void tick() {
    if (isLive && conversation != null) {
      conversation.tick(now);
      carryOut();
    }
    goOn();
  }

  void begins(Trace.Line line) {
    action = new Coroutine(() -> program.act(line));
    program.is(action);
    goOn();
  }

  /** The program continues, if there is something that it waited for. */
  void goOn() {
    if (action != null) action.resume();
  }

  /** The trace is over. */
  void end() {
    if (action != null) action.end();
  }

  TracedProgram program() {
    return program;
  }

  // ---- hearing ----

  @Override
  public void answered(Call call, Message answer, long sentAt) {
    if (call.type == HELLO) {
      welcomed(answer);
      return;
    }
    if (call.type == OPEN_SEGMENT) opened(call, answer);
    else call.of.heard(call.type, answer, call.isLate, sentAt, now);
    carryOut(call.of);
    call.answer = answer;
    call.sentAt = sentAt;
  }

  private void welcomed(Message answer) {
    byte[] given = connection.welcomed(answer).session();
    if (!Arrays.equals(given, session)) {
      sequence = 0;
      if (conversation != null) conversation.sessionEnded();
    }
    session = given;
    isLive = true;
    if (conversation != null && !conversation.isOver()) sendOpen();
  }

  private void opened(Call call, Message answer) {
    call.of.opened(answer);
    if (call.of == leaving) leaving = null;
    if (call.of != conversation) return;
    isOpening = false;
    if (conversation.isOpen() || conversation.isOver()) return;
    try {
      Answers.expect(answer, SEGMENT_OPENED, SegmentOpened.CODEC);
    } catch (InterweaveException refused) {
      openFailure = refused;
    }
  }

  @Override
  public void notified(Message message) {
    // Messages about a segment begin with its number on this connection.
    if (message.body().length < 4 || conversation == null || !conversation.isOpen()) return;
    if (ByteBuffer.wrap(message.body()).getInt() != (int) conversation.number()) return;
    conversation.notified(message);
    carryOut();
  }

  /** A trace tells a message when it is whole. */
  @Override
  public void begins(Call call, Message first) {
    throw new AssertionError("a message in several frames");
  }

  // ---- sending ----

  private Call send(MessageType type, Conversation of, byte[] body, byte[] bulk, boolean awaited) {
    Call call = new Call(type, of, awaited);
    sent.add(Message.of(type, connection.begin(call, now), body, bulk));
    return call;
  }

  Call send(MessageType type, byte[] body, byte[] bulk) {
    return send(type, conversation, body, bulk, true);
  }

  void carryOut() {
    carryOut(conversation);
  }

  private void carryOut(Conversation of) {
    if (of == null) return;
    Conversation.Effect effect = of.takeEffect();
    for (; effect != null; effect = of.takeEffect()) {
      if (!isLive) continue;
      if (effect.hasAnswer()) send(effect.type(), of, effect.body(), NO_BYTES, false);
      else sent.add(Message.of(effect.type(), connection.tell(now), effect.body(), NO_BYTES));
    }
  }

  private void sendOpen() {
    if (isOpening || leaving != null) return;
    Durability how = Durability.valueOf(trace.durability());
    OpenSegment body =
        new OpenSegment(trace.path(), conversation.mayCreate(), false, how, 0, List.of());
    isOpening = true;
    openFailure = null;
    send(OPEN_SEGMENT, conversation, OpenSegment.CODEC.toBytes(body), NO_BYTES, false);
  }

  // ---- what a program calls; it waits by pausing ----

  Conversation conversation() {
    return conversation;
  }

  CopyState state() {
    return conversation.state();
  }

  byte[] session() {
    return session;
  }

  long nextSequence() {
    return ++sequence;
  }

  Connection live() {
    return isLive ? connection : null;
  }

  Bound bound() {
    return bound;
  }

  private InterweaveException timedOut() {
    return InterweaveException.of(Error.TIMED_OUT, "not in time");
  }

  private static InterweaveException unreachable() {
    return InterweaveException.of(Error.UNREACHABLE, "the client has no connection");
  }

  void begin() {
    if (conversation == null) conversation = new Conversation(trace.path());
  }

  /** A connection on which the segment is open. */
  Connection open(long deadline) {
    boolean hasAsked = false;
    while (true) {
      conversation.check();
      if (!isLive) {
        if (now >= deadline) throw unreachable();
        action.pause();
        continue;
      }
      if (conversation.isOpen()) return connection;
      if (!isOpening) {
        if (hasAsked && openFailure != null) throw openFailure;
        sendOpen();
      }
      hasAsked = true;
      if (now >= deadline) throw timedOut();
      action.pause();
    }
  }

  Message await(Call call, long deadline) {
    while (call.answer == null && !call.isLost) {
      if (now >= deadline) {
        call.isLate = true;
        throw timedOut();
      }
      action.pause();
    }
    if (call.isLost) throw unreachable();
    return call.answer;
  }

  /** The answer, over a new connection if one is lost. */
  Call ask(MessageType type, Supplier<byte[]> body, long deadline) {
    while (true) {
      Connection on = open(deadline);
      Call call = send(type, body.get(), NO_BYTES);
      try {
        await(call, deadline);
        return call;
      } catch (InterweaveException wrong) {
        boolean isLost = wrong.code() == Error.UNREACHABLE && live() != on;
        if (!isLost || now >= deadline) throw wrong;
      }
    }
  }

  Knowledge knowledge() {
    long heard = connection == null ? Freshness.NEVER : connection.heard();
    return state().knowledge(heard, isLive ? connection.heartbeat() : 0);
  }

  void bound(Bound wanted) {
    if (Bound.areSame(wanted, bound)) return;
    bound = wanted;
    conversation.follow(bound);
    carryOut();
  }

  void watch() {
    conversation.watch();
    carryOut();
  }

  void listen(boolean listens) {
    conversation.listen(listens);
    carryOut();
  }

  void askReader(Bound wanted, boolean fresh, long deadline) {
    CopyState.Asked[] asks = new CopyState.Asked[1];
    while (true) {
      Call call =
          ask(
              ACQUIRE_READER,
              () -> {
                asks[0] = state().asked();
                return AcquireReader.CODEC.toBytes(conversation.question(wanted, fresh, 0));
              },
              deadline);
      ReaderAcquired acquired =
          Answers.expect(call.answer, READER_ACQUIRED, ReaderAcquired.CODEC);
      state().adaptation.asked(!acquired.updated());
      if (program.isWriting() || !state().mustAskAgain(acquired, asks[0])) return;
    }
  }

  void applyStaged() {
    for (StagedDiff diff = state().takeStaged(); diff != null; diff = state().takeStaged()) {
      state().applied(diff);
    }
    conversation.giveCredit();
    carryOut();
  }

  void acquireGrant(long deadline) {
    carryOut();
    while (true) {
      long late = conversation.lateGrants();
      Call call =
          ask(
              ACQUIRE_WRITER,
              () -> AcquireWriter.CODEC.toBytes(conversation.writerQuestion(0)),
              deadline);
      try {
        Answers.expect(call.answer, WRITER_ACQUIRED, WriterAcquired.CODEC);
        return;
      } catch (InterweaveException wrong) {
        boolean isOwn =
            wrong.code() == Error.WOULD_DEADLOCK && late != conversation.lateGrants();
        if (!isOwn) throw wrong;
      }
    }
  }

  /** The program closes the segment. */
  void close() {
    conversation.close();
    carryOut();
    if (isOpening) leaving = conversation;
    isOpening = false;
    conversation = null;
    bound = Bound.FULL;
  }
}
