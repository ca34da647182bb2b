package org.interweave.client;

import static org.interweave.wire.protocol.SessionCodec.MessageType.OPEN_SEGMENT;

import java.util.List;
import java.util.concurrent.locks.Condition;
import org.interweave.Interface;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.session.Answers;
import org.interweave.session.Connection;
import org.interweave.session.Conversation;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.SegmentCodec.Durability;
import org.interweave.wire.protocol.SegmentCodec.OpenSegment;
import org.interweave.wire.protocol.SegmentCodec.SegmentOpened;
import org.interweave.wire.protocol.SessionCodec.MessageType;

/**
 * Drives the conversation about one segment: opens the segment on every connection, sends what the
 * conversation wants sent, and gives it what comes. All methods need the link's lock.
 */
final class Exchange {
  private static final byte[] NO_BYTES = new byte[0];

  /** Is told of what came; called with the link's lock, by the library's thread. */
  interface Listener {
    void changed();

    void connectionIs(Interface.Connection state);
  }

  final Conversation conversation;
  final Condition changed;
  private final Link link;
  private final String path;
  private final OpenOptions options;
  private final Listener listener;
  /** Under which the link finds it; 0: under none. */
  private long number;
  private boolean isOpening;
  /** Closed, or another opening of the path follows. */
  private boolean isLeaving;
  private InterweaveException openFailure;
  private long bytesReceived;
  private long messagesSent;

  Exchange(Link link, String path, OpenOptions options, Listener listener) {
    this.link = link;
    this.path = path;
    this.options = options;
    this.listener = listener;
    conversation = new Conversation(path);
    changed = link.lock.newCondition();
    link.lock.lock();
    try {
      link.add(this);
    } finally {
      link.lock.unlock();
    }
  }

  String path() {
    return path;
  }

  long number() {
    return number;
  }

  /** Of bulk, in answers and notifications. */
  long bytesReceived() {
    return bytesReceived;
  }

  long messagesSent() {
    return messagesSent;
  }

  // ---- opening ----

  /** The segment is open on a live connection, which is returned. */
  Connection open(long deadline, boolean failsAtOnce, boolean isInterruptible) {
    boolean hasAsked = false;
    while (true) {
      conversation.check();
      Connection live = link.connected(deadline, failsAtOnce, isInterruptible);
      if (conversation.isOpen()) return live;
      Exchange before = link.leaving(path);
      if (before == null) {
        if (!isOpening) {
          if (hasAsked && openFailure != null) throw openFailure;
          sendOpen();
        }
        hasAsked = true;
      }
      if (!link.await(before == null ? changed : before.changed, deadline, isInterruptible)) {
        throw InterweaveException.of(
            Error.TIMED_OUT, path + ": the server did not open it in time");
      }
    }
  }

  private void sendOpen() {
    OpenSegment body =
        new OpenSegment(
            path,
            options.creates() && conversation.mayCreate(),
            options.isReadOnly(),
            Durability.of(options.durability().number),
            options.quotaBytes(),
            List.of());
    isOpening = true;
    openFailure = null;
    send(OPEN_SEGMENT, OpenSegment.CODEC.toBytes(body), NO_BYTES, false);
  }

  private void opened(Message answer) {
    isOpening = false;
    conversation.opened(answer);
    if (isLeaving) {
      link.remove(this);
    } else if (conversation.isOpen()) {
      link.isAt(number, conversation.number(), this);
      number = conversation.number();
      listener.connectionIs(Interface.Connection.CONNECTED);
    } else if (!conversation.isOver()) {
      try {
        Answers.expect(answer, MessageType.SEGMENT_OPENED, SegmentOpened.CODEC);
      } catch (InterweaveException refused) {
        openFailure = refused;
      }
    }
  }

  /**
   * After this the server hears of the segment no more, but that CLOSE_SEGMENT follows the answer
   * to an opening under way [OPEN-2]. Only another opening of the path waits for that answer.
   */
  void close() {
    conversation.close();
    leave();
    changed.signalAll();
  }

  /** Another opening takes the segment's place at the server; this one is over. */
  void retire() {
    conversation.retire();
    leave();
  }

  private void leave() {
    isLeaving = true;
    carryOut();
    if (isOpening) link.leaves(path, this);
    else link.remove(this);
  }

  // ---- asking ----

  /** Sends a request on the live connection. */
  Call send(MessageType type, byte[] body, byte[] bulk, boolean isAwaited) {
    ++messagesSent;
    return link.send(type, this, body, bulk, isAwaited);
  }

  /** The answer, over a new connection if one is lost. */
  Call ask(Question question, long deadline, boolean isInterruptible) {
    while (true) {
      Connection on = open(deadline, false, isInterruptible);
      Call call = send(question.type, question.body(), NO_BYTES, true);
      try {
        link.await(call, deadline, question.waitsForOthers, isInterruptible);
        return call;
      } catch (InterweaveException wrong) {
        boolean isLost = wrong.code() == Error.UNREACHABLE && link.live() != on;
        if (!isLost || Clock.now() >= deadline) throw wrong;
      }
    }
  }

  /** Sends what the conversation wants sent. */
  void carryOut() {
    Conversation.Effect effect = conversation.takeEffect();
    for (; effect != null; effect = conversation.takeEffect()) {
      if (!link.isLive()) continue;
      if (effect.hasAnswer()) {
        send(effect.type(), effect.body(), NO_BYTES, false);
      } else {
        ++messagesSent;
        link.tell(effect.type(), effect.body());
      }
    }
  }

  // ---- hearing, by the library's thread ----

  void answered(Call call, Message answer, long sentAt) {
    bytesReceived += answer.bulk().length;
    if (call.type == OPEN_SEGMENT) opened(answer);
    else conversation.heard(call.type, answer, call.isLate, sentAt, Clock.now());
    happened();
  }

  void notified(Message message) {
    bytesReceived += message.bulk().length;
    conversation.notified(message, Clock.now());
    happened();
  }

  void connectionLost() {
    isOpening = false;
    openFailure = null;
    conversation.connectionLost();
    if (isLeaving) link.remove(this);
    if (!conversation.isOver()) listener.connectionIs(Interface.Connection.DISCONNECTED);
    happened();
  }

  /** Opens the segment at once, because a program without a lock must also learn of a loss. */
  void connectionMade() {
    if (!conversation.isOver() && !isOpening) sendOpen();
  }

  void tick(long now) {
    // The writer has to renew its lock.
    boolean isAwaited = conversation.grant() != null && !conversation.isOver();
    if (isAwaited && !conversation.isOpen() && !isOpening) sendOpen();
    conversation.tick(now);
    carryOut();
  }

  private void happened() {
    if (conversation.isLost()) listener.connectionIs(Interface.Connection.LOST);
    listener.changed();
    carryOut();
    changed.signalAll();
  }
}
