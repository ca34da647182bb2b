package org.interweave.vectors;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.interweave.wire.protocol.ErrorCodec;
import org.interweave.wire.protocol.FieldCodec;
import org.interweave.wire.protocol.LockCodec;
import org.interweave.wire.protocol.MovingCodec;
import org.interweave.wire.protocol.NotifyCodec;
import org.interweave.wire.protocol.SegmentCodec;
import org.interweave.wire.protocol.SessionCodec;
import org.interweave.wire.protocol.XdrCodec;

/** The codecs of messages and header fields, found by the names of their numbers. */
final class Bodies {
  private static final List<Class<?>> FILES =
      List.of(
          SessionCodec.class,
          SegmentCodec.class,
          LockCodec.class,
          NotifyCodec.class,
          MovingCodec.class,
          ErrorCodec.class);

  private static final Map<String, String> FIELDS =
      Map.of(
          "SPACE_ID", "Id",
          "SERVER_ID", "Id",
          "PROGRAM", "Label",
          "HOST", "Label",
          "PROOF", "Challenge",
          "CHAIN_HASH", "Chain");

  private Bodies() {}

  /** Null for a message that has no body. */
  static XdrCodec<Record> of(SessionCodec.MessageType type) {
    String name = type == SessionCodec.MessageType.ERROR ? "ErrorReply" : camel(type.name());
    return FILES.stream().map(file -> codec(file, name)).filter(c -> c != null).findAny()
        .orElse(null);
  }

  static XdrCodec<Record> of(FieldCodec.FieldKey key) {
    String word = key.name().substring("FIELD_".length());
    String name = FIELDS.containsKey(word) ? FIELDS.get(word) : camel(word);
    XdrCodec<Record> codec = codec(FieldCodec.class, name + "Field");
    if (codec == null) throw new AssertionError("no codec for " + key);
    return codec;
  }

  private static String camel(String name) {
    StringBuilder camel = new StringBuilder();
    for (String word : name.split("_")) {
      camel.append(word.charAt(0)).append(word.substring(1).toLowerCase(Locale.ROOT));
    }
    return camel.toString();
  }

  @SuppressWarnings("unchecked")
  private static XdrCodec<Record> codec(Class<?> file, String name) {
    for (Class<?> one : Arrays.asList(file.getDeclaredClasses())) {
      if (!one.getSimpleName().equals(name)) continue;
      try {
        Field codec = one.getField("CODEC");
        return (XdrCodec<Record>) codec.get(null);
      } catch (ReflectiveOperationException wrong) {
        throw new AssertionError(wrong);
      }
    }
    return null;
  }
}
