package org.interweave.session;

import static org.interweave.InterweaveException.malformed;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.wire.FrameDecoder;
import org.interweave.wire.Message;
import org.interweave.wire.Message.Part;
import org.interweave.wire.protocol.ErrorCodec.ErrorCode;
import org.interweave.wire.protocol.FieldCodec.FieldKey;
import org.interweave.wire.protocol.FieldCodec.HeaderField;
import org.interweave.wire.protocol.FieldCodec.RedirectField;
import org.interweave.wire.protocol.SessionCodec;
import org.interweave.wire.protocol.SessionCodec.Hello;
import org.interweave.wire.protocol.SessionCodec.MessageType;
import org.interweave.wire.protocol.SessionCodec.Welcome;

/**
 * One connection, without I/O: bytes and time in, messages out. It assigns streams to requests and
 * answers to requests. It says when to send a ping and when the server is silent [SES-3]. Times are
 * nanoseconds.
 */
public final class Connection {
  private static final long NOTIFICATION_BIT = 0x80000000L;
  private static final int MAX_REQUESTS = 65536;
  /** Heartbeats missed before the connection is taken for lost. */
  private static final int PATIENCE_HEARTBEATS = 5;
  private static final long MILLISECOND = 1_000_000;
  private static final byte[] MAGIC = {'I', 'W', 'V', '1'};

  /** Takes in what the server says, in its order. */
  public interface Hearing<R> {
    /** `sentAt` is when the request was sent. */
    void answered(R request, Message answer, long sentAt);

    void notified(Message notification);

    /**
     * The first frame of an answer, or of a notification (`request` is null), of which the rest
     * comes later.
     */
    void begins(R request, Message first);
  }

  private record Pending(Object request, long sentAt) {}

  private final FrameDecoder frames = new FrameDecoder(0);
  private final Map<Long, Pending> pending = new HashMap<>();
  private long nextStream = 1;
  /** When a message last began to come [FRESH-3], and when bytes last came. */
  private long heard;
  private long bytesCame;
  private long said;
  /** Holds the session, which is a secret. */
  private Welcome welcome;

  public Connection(long now) {
    heard = now;
    bytesCame = now;
    said = now;
  }

  /**
   * What HELLO says, encoded, so that nothing that can be printed holds the token; all zeros in
   * `session` ask for a new one. `relay`: where the server is to pass the connection on to
   * [SPACE-48]; null: nowhere.
   */
  public static byte[] hello(
      byte[] session, String token, Introduction introduction, RedirectField relay) {
    List<HeaderField> fields = new ArrayList<>(introduction.fields());
    if (relay != null) {
      byte[] wish = RedirectField.CODEC.toBytes(relay);
      fields.add(new HeaderField(FieldKey.FIELD_REDIRECT.number, wish));
    }
    return Hello.CODEC.toBytes(
        new Hello(
            MAGIC,
            SessionCodec.PROTOCOL_VERSION_MIN,
            SessionCodec.PROTOCOL_VERSION_MAX,
            session,
            token,
            introduction.label(),
            fields));
  }

  /** Takes the answer to HELLO in. */
  public Welcome welcomed(Message answer) {
    if (Answers.isError(answer, ErrorCode.NOT_OPEN)) throw older(answer);
    Welcome said = Answers.expect(answer, MessageType.WELCOME, Welcome.CODEC);
    HeaderFields.check(said.fields());
    if (said.version() < SessionCodec.PROTOCOL_VERSION_MIN
        || said.version() > SessionCodec.PROTOCOL_VERSION_MAX) {
      throw InterweaveException.of(
          Error.VERSION_MISMATCH,
          "the server chose version " + said.version()
              + " of the protocol, which was not offered");
    }
    if (said.heartbeatMs() == 0 || said.sessionLeaseMs() == 0) {
      throw malformed("the server's welcome has no heartbeat or lease");
    }
    frames.bound(said.maxDiffBytes());
    welcome = said;
    return said;
  }

  /** A server of version 1 takes the hello of this version for something else [SES-5]. */
  private static InterweaveException older(Message answer) {
    return InterweaveException.of(
        Error.VERSION_MISMATCH,
        "this client speaks protocol versions " + SessionCodec.PROTOCOL_VERSION_MIN + " to "
            + SessionCodec.PROTOCOL_VERSION_MAX + "; the server does not understand its hello, as"
            + " servers of version 1 do not; update the older program (the server said: "
            + Answers.refusal(answer).getMessage() + ")");
  }

  public boolean isWelcome() {
    return welcome != null;
  }

  /** The stream for a request, whose answer will be given with it. */
  public long begin(Object request, long now) {
    if (pending.size() >= MAX_REQUESTS) {
      throw InterweaveException.of(
          Error.TOO_LARGE, "too many requests wait for their answers");
    }
    while (nextStream == 0 || pending.containsKey(nextStream)) {
      nextStream = (nextStream + 1) % NOTIFICATION_BIT;
    }
    long stream = nextStream;
    nextStream = (stream + 1) % NOTIFICATION_BIT;
    pending.put(stream, new Pending(request, now));
    said = now;
    return stream;
  }

  /** The stream for a message that has no answer. */
  public long tell(long now) {
    said = now;
    return nextStream == 0 ? 1 : nextStream;
  }

  /** Takes bytes in. After an exception the connection is to be closed. */
  @SuppressWarnings("unchecked")
  public <R> void receive(byte[] bytes, int begin, int end, long now, Hearing<R> hearing) {
    bytesCame = now;
    List<Message> come = new ArrayList<>();
    frames.push(bytes, begin, end, come);
    for (Message message : come) {
      // The server may have begun other messages before the frames that follow a first one.
      if (message.part() != Part.REST) heard = now;
      boolean isFirst = message.part() == Part.FIRST;
      long stream = message.envelope().stream();
      if (stream >= NOTIFICATION_BIT) {
        if (isFirst) hearing.begins(null, message);
        else hearing.notified(message);
        continue;
      }
      Pending asked = isFirst ? pending.get(stream) : pending.remove(stream);
      if (asked == null) {
        // Stream 0: the server says why it is about to close the connection.
        if (message.is(MessageType.ERROR)) throw Answers.refusal(message);
        throw malformed("the server answered what was not asked");
      }
      if (isFirst) hearing.begins((R) asked.request, message);
      else hearing.answered((R) asked.request, message, asked.sentAt);
    }
  }

  /** The requests that will not be answered any more. */
  public Collection<Object> unanswered() {
    List<Object> requests = new ArrayList<>();
    for (Pending one : pending.values()) requests.add(one.request);
    pending.clear();
    return requests;
  }

  /** When the server was last heard: a message began to come [FRESH-3]. */
  public long heard() {
    return heard;
  }

  /** How often the server speaks. */
  public long heartbeat() {
    return welcome == null ? 0 : welcome.heartbeatMs() * MILLISECOND;
  }

  public boolean isPingDue(long now) {
    return welcome != null && now - said >= welcome.sessionLeaseMs() * MILLISECOND / 3;
  }

  public boolean isSilent(long now) {
    return welcome != null && now - bytesCame > PATIENCE_HEARTBEATS * heartbeat();
  }
}
