package org.interweave.wire;

import static org.interweave.InterweaveException.malformed;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.wire.Message.Part;
import org.interweave.wire.protocol.SessionCodec;
import org.interweave.wire.protocol.SessionCodec.Envelope;
import org.interweave.wire.protocol.SessionCodec.MessageType;
import org.interweave.wire.protocol.XdrReader;

/**
 * Turns the bytes of one direction into whole messages, wherever they are cut
 * (spec/protocol/session.x, [FRAME-1..4]). What it holds is bounded by what has arrived. A wrong
 * frame is refused before the bytes that it announces; after that the decoder is of no use.
 */
public final class FrameDecoder {
  private static final int HTTP = 0x48545450;

  private static final byte[] NONE = new byte[0];

  /** A message whose bulk has not come whole. */
  private static final class Incomplete {
    final Envelope envelope;
    final byte[] body;
    final Arriving bulk;
    /** Of the whole message. */
    Part part = Part.WHOLE;

    Incomplete(Envelope envelope, byte[] body, Arriving bulk) {
      this.envelope = envelope;
      this.body = body;
      this.bulk = bulk;
    }
  }

  private final Map<Long, Incomplete> incomplete = new HashMap<>();
  private long maxBulkBytes;

  private Arriving head = new Arriving(Message.HEAD_BYTES);
  /** The frame whose head has come: its control part, and the size of its bulk. */
  private Arriving control;
  private int bulkBytes;
  /** The frame whose bulk is arriving: its message, and how much of the frame is missing. */
  private Incomplete filled;
  private int missing;

  /** `maxBulkBytes` bounds a message's whole bulk. */
  public FrameDecoder(long maxBulkBytes) {
    bound(maxBulkBytes);
  }

  /** Another bound for the messages that begin later. An array has less than 2^31 bytes. */
  public void bound(long maxBulkBytes) {
    boolean isLarge = Long.compareUnsigned(maxBulkBytes, Integer.MAX_VALUE - 8) > 0;
    this.maxBulkBytes = isLarge ? Integer.MAX_VALUE - 8 : maxBulkBytes;
  }

  /**
   * Takes the bytes from `begin` to `end`. Adds the messages that are whole, and those of which the
   * first frame is here, in their order.
   */
  public void push(byte[] bytes, int begin, int end, List<Message> come) {
    int at = begin;
    while (true) {
      if (filled != null) {
        int count = filled.bulk.take(bytes, at, at + Math.min(missing, end - at));
        at += count;
        missing -= count;
        if (missing > 0) return;
        finishFrame(come);
      } else if (control != null) {
        at += control.take(bytes, at, end);
        if (control.missing() > 0) return;
        takeControl();
      } else {
        at += head.take(bytes, at, end);
        if (head.missing() > 0) return;
        takeHead();
      }
    }
  }

  private void finishFrame(List<Message> come) {
    if (filled.bulk.missing() == 0) {
      incomplete.remove(filled.envelope.stream());
      come.add(new Message(filled.envelope, filled.body, filled.bulk.bytes(), filled.part));
    } else if (filled.part == Part.WHOLE) {
      filled.part = Part.REST;
      come.add(new Message(filled.envelope, filled.body, NONE, Part.FIRST));
    }
    filled = null;
  }

  /** [FRAME-1] */
  private void takeHead() {
    XdrReader r = new XdrReader(head.bytes());
    long controlBytes = r.u32();
    long bulk = r.u32();
    if (controlBytes == HTTP) {
      throw malformed(
          "HTTP answers there, not this protocol: use the server's port for programs (7747 by"
              + " default), iw://host:port");
    }
    if (controlBytes > SessionCodec.MAX_CONTROL_BYTES || bulk > SessionCodec.MAX_CHUNK_BYTES) {
      throw malformed(
          "a frame of " + controlBytes + " and " + bulk + " bytes; "
              + SessionCodec.MAX_CONTROL_BYTES + " and " + SessionCodec.MAX_CHUNK_BYTES
              + " are the most");
    }
    head = new Arriving(Message.HEAD_BYTES);
    control = new Arriving((int) controlBytes);
    bulkBytes = (int) bulk;
  }

  private void takeControl() {
    XdrReader r = new XdrReader(control.bytes());
    Envelope envelope = Decoding.next("a frame's envelope", Envelope.CODEC, r);
    byte[] body = new byte[r.remaining()];
    System.arraycopy(control.bytes(), r.at(), body, 0, body.length);
    boolean isContinued = envelope.type() == MessageType.CONTINUE.number;
    filled = isContinued ? continued(envelope, body) : begun(envelope, body);
    missing = bulkBytes;
    control = null;
  }

  /** [FRAME-4] */
  private Incomplete continued(Envelope envelope, byte[] body) {
    Incomplete message = incomplete.get(envelope.stream());
    if (message == null) {
      throw malformed("CONTINUE on stream " + envelope.stream() + ", which has no message begun");
    }
    if (body.length > 0 || bulkBytes > message.bulk.missing()) {
      throw malformed(
          "CONTINUE on stream " + envelope.stream() + " has more than the bytes missing");
    }
    return message;
  }

  /** [FRAME-3] */
  private Incomplete begun(Envelope envelope, byte[] body) {
    long announced = envelope.bulkBytes();
    if (Long.compareUnsigned(announced, maxBulkBytes) > 0) {
      throw new InterweaveException(
          Error.TOO_LARGE,
          "a message with " + Long.toUnsignedString(announced) + " bytes of bulk; " + maxBulkBytes
              + " are the most");
    }
    if (bulkBytes > announced) throw malformed("a frame has more bulk than its message");
    if (incomplete.containsKey(envelope.stream())) {
      throw malformed("a second message begins on stream " + envelope.stream());
    }
    if (bulkBytes < announced && incomplete.size() >= SessionCodec.MAX_OPEN_STREAMS) {
      throw malformed("more than " + SessionCodec.MAX_OPEN_STREAMS + " messages are incomplete");
    }
    Incomplete message = new Incomplete(envelope, body, new Arriving((int) announced));
    incomplete.put(envelope.stream(), message);
    return message;
  }
}
