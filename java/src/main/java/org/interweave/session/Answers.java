package org.interweave.session;

import static org.interweave.InterweaveException.malformed;

import java.util.List;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.ErrorCodec.ErrorCode;
import org.interweave.wire.protocol.ErrorCodec.ErrorReply;
import org.interweave.wire.protocol.ErrorCodec.PlainError;
import org.interweave.wire.protocol.FieldCodec.FieldKey;
import org.interweave.wire.protocol.FieldCodec.HeaderField;
import org.interweave.wire.protocol.FieldCodec.IdField;
import org.interweave.wire.protocol.FieldCodec.RedirectField;
import org.interweave.wire.protocol.SessionCodec.MessageType;
import org.interweave.wire.protocol.SessionCodec.Welcome;
import org.interweave.wire.protocol.XdrCodec;

/** What answers say: a body of the type that was hoped for, or an error, which is thrown. */
public final class Answers {
  private Answers() {}

  /** The body of an answer of that type. */
  public static <T> T expect(Message answer, MessageType type, XdrCodec<T> codec) {
    check(answer, type);
    return answer.decode(codec);
  }

  /** An answer of that type, which has no body. */
  public static void expect(Message answer, MessageType type) {
    check(answer, type);
    if (answer.body().length > 0) throw malformed(answer.typeName() + " has a body");
  }

  private static void check(Message answer, MessageType type) {
    if (answer.is(type)) return;
    if (answer.is(MessageType.ERROR)) throw refusal(answer);
    if (answer.is(MessageType.UNIMPLEMENTED)) {
      throw InterweaveException.of(Error.UNIMPLEMENTED, "the server does not implement this");
    }
    throw malformed("the server answered with " + answer.typeName() + ", not " + type.name());
  }

  /** What an ERROR says. */
  static InterweaveException refusal(Message answer) {
    ErrorReply reply = read(answer);
    if (reply.code() == ErrorCode.OK) return malformed("the server answered with the error OK");
    HeaderFields.check(reply.fields());
    RedirectField to =
        HeaderFields.find(reply.fields(), FieldKey.FIELD_REDIRECT, RedirectField.CODEC);
    String instead = to == null ? "" : "; ask the server at " + readable(to.address());
    return InterweaveException.of(
        Error.of(-reply.code().number), readable(reply.text()) + instead);
  }

  /** Where a server sends the client on [SPACE-9]; null: it does not. */
  public static RedirectField redirect(Message answer) {
    if (!isError(answer, ErrorCode.REDIRECTED)) return null;
    List<HeaderField> fields = read(answer).fields();
    HeaderFields.check(fields);
    return HeaderFields.find(fields, FieldKey.FIELD_REDIRECT, RedirectField.CODEC);
  }

  /** What the server serves together with others; null: it does not say. */
  public static byte[] space(Welcome welcome) {
    IdField found = HeaderFields.find(welcome.fields(), FieldKey.FIELD_SPACE_ID, IdField.CODEC);
    return found == null ? null : found.id();
  }

  /** In either of its forms [SES-5]. */
  private static ErrorReply read(Message answer) {
    try {
      return answer.decode(ErrorReply.CODEC);
    } catch (InterweaveException first) {
      try {
        PlainError plain = answer.decode(PlainError.CODEC);
        return new ErrorReply(plain.code(), plain.text(), List.of());
      } catch (InterweaveException neither) {
        throw first;
      }
    }
  }

  /** Whether the answer is that error. */
  static boolean isError(Message answer, ErrorCode code) {
    return answer.is(MessageType.ERROR) && read(answer).code() == code;
  }

  /** The text of a peer without its control characters [FIELD-8]. */
  public static String readable(String text) {
    StringBuilder shown = new StringBuilder(text);
    for (int i = 0; i < shown.length(); ++i) {
      if (Character.isISOControl(shown.charAt(i))) shown.setCharAt(i, '?');
    }
    return shown.toString();
  }
}
