package org.interweave.session;

import static org.interweave.InterweaveException.malformed;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.interweave.wire.Decoding;
import org.interweave.wire.protocol.FieldCodec.FieldKey;
import org.interweave.wire.protocol.FieldCodec.HeaderField;
import org.interweave.wire.protocol.XdrCodec;

/** Header fields: what messages carry besides their own members [FIELD-1..9]. */
public final class HeaderFields {
  private HeaderFields() {}

  /** MALFORMED if a key stands in the list twice [FIELD-2]. */
  public static void check(List<HeaderField> list) {
    Set<Object> keys = new HashSet<>();
    for (HeaderField field : list) {
      if (!keys.add(field.key())) {
        throw malformed("the header field " + field.key() + " is there twice");
      }
    }
  }

  /** The value of the key; null if there is none; MALFORMED if it cannot be read [FIELD-5]. */
  public static <T> T find(List<HeaderField> list, FieldKey key, XdrCodec<T> codec) {
    for (HeaderField field : list) {
      if (field.key() != key.number) continue;
      return Decoding.whole("the header field " + field.key(), codec, field.value());
    }
    return null;
  }
}
