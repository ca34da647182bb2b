package org.interweave.wire;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.interweave.wire.protocol.SessionCodec;
import org.interweave.wire.protocol.SessionCodec.Envelope;
import org.interweave.wire.protocol.SessionCodec.MessageType;
import org.interweave.wire.protocol.XdrCodec;
import org.interweave.wire.protocol.XdrWriter;

/** A message: its envelope, the XDR that follows the envelope, and its bulk. */
public record Message(Envelope envelope, byte[] body, byte[] bulk, Part part) {
  /** How much of a message has come. */
  public enum Part {
    /** All of it, in one frame. */
    WHOLE,
    /** The first of its frames. The bulk is not here yet. */
    FIRST,
    /** All of it. Its first frame was told before. */
    REST
  }

  /** control_bytes:u32 bulk_bytes:u32 */
  static final int HEAD_BYTES = 8;

  private static final byte[] NONE = new byte[0];

  public Message(Envelope envelope, byte[] body, byte[] bulk) {
    this(envelope, body, bulk, Part.WHOLE);
  }

  /** A message with a body and no bulk. */
  public static <T> Message of(MessageType type, long stream, XdrCodec<T> codec, T body) {
    return of(type, stream, codec, body, NONE);
  }

  public static <T> Message of(
      MessageType type, long stream, XdrCodec<T> codec, T body, byte[] bulk) {
    Envelope envelope = new Envelope(type.number, stream, bulk.length);
    return new Message(envelope, codec.toBytes(body), bulk);
  }

  /** A message whose body is encoded. */
  public static Message of(MessageType type, long stream, byte[] body, byte[] bulk) {
    return new Message(new Envelope(type.number, stream, bulk.length), body, bulk);
  }

  /** A message that has no body. */
  public static Message of(MessageType type, long stream) {
    return new Message(new Envelope(type.number, stream, 0), NONE, NONE);
  }

  /** Whether the message is of that type. */
  public boolean is(MessageType type) {
    return envelope.type() == type.number;
  }

  /** The name in session.x. */
  public String typeName() {
    MessageType type = MessageType.of(envelope.type());
    return type == null ? "message " + envelope.type() : type.name();
  }

  /** The body, which must be that and nothing more. */
  public <T> T decode(XdrCodec<T> codec) {
    return Decoding.whole("the body of " + typeName(), codec, body);
  }

  /** Its frames, to be written one after another [FRAME-1..2]. The bulk is not copied. */
  public List<ByteBuffer> frames() {
    List<ByteBuffer> pieces = new ArrayList<>();
    int at = 0;
    do {
      int chunk = Math.min(bulk.length - at, SessionCodec.MAX_CHUNK_BYTES);
      int type = at == 0 ? envelope.type() : MessageType.CONTINUE.number;
      pieces.add(head(type, at == 0 ? body : NONE, bulk.length - at, chunk));
      if (chunk > 0) pieces.add(ByteBuffer.wrap(bulk, at, chunk));
      at += chunk;
    } while (at < bulk.length);
    return pieces;
  }

  private ByteBuffer head(int type, byte[] body, int left, int chunk) {
    XdrWriter w = new XdrWriter();
    Envelope.CODEC.encode(w, new Envelope(type, envelope.stream(), left));
    byte[] control = w.finish();
    ByteBuffer head = ByteBuffer.allocate(HEAD_BYTES + control.length + body.length);
    head.putInt(control.length + body.length).putInt(chunk).put(control).put(body);
    return head.flip();
  }
}
