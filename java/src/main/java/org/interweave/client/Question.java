package org.interweave.client;

import org.interweave.wire.protocol.SessionCodec.MessageType;

/** A request about a segment that may be repeated on another connection. */
abstract class Question {
  final MessageType type;
  /** The server may let the request wait for others, so that it is ended by CANCEL. */
  final boolean waitsForOthers;

  Question(MessageType type, boolean waitsForOthers) {
    this.type = type;
    this.waitsForOthers = waitsForOthers;
  }

  /** As of now, because numbers and versions differ from connection to connection. */
  abstract byte[] body();
}
