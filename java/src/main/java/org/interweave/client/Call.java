package org.interweave.client;

import java.util.concurrent.locks.Condition;
import org.interweave.InterweaveException;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.SessionCodec.MessageType;

/** A request that was sent, until it is answered. The link's lock guards it. */
final class Call {
  final MessageType type;
  /** Takes the answer in before anything that comes later; null: nobody does. */
  final Exchange owner;
  /** How often the owner's segment had moved when it asked [SPACE-23]. */
  final long moves;
  /** Null: no thread waits. */
  final Condition done;
  long stream;
  Message answer;
  long sentAt;
  InterweaveException failure;
  /** The thread that waited has given up, or there was none. */
  boolean isLate;

  Call(MessageType type, Exchange owner, Condition done) {
    this.type = type;
    this.owner = owner;
    moves = owner == null ? 0 : owner.moves();
    this.done = done;
  }

  boolean isDone() {
    return answer != null || failure != null;
  }

  void answered(Message message, long requestSentAt) {
    answer = message;
    sentAt = requestSentAt;
    if (done != null) done.signal();
  }

  void failed(InterweaveException why) {
    failure = why;
    if (done != null) done.signal();
  }
}
