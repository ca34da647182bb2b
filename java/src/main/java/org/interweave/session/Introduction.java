package org.interweave.session;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.interweave.wire.protocol.FieldCodec;
import org.interweave.wire.protocol.FieldCodec.FieldKey;
import org.interweave.wire.protocol.FieldCodec.HeaderField;
import org.interweave.wire.protocol.FieldCodec.KeepingField;
import org.interweave.wire.protocol.FieldCodec.LabelField;
import org.interweave.wire.protocol.FieldCodec.MovingField;
import org.interweave.wire.protocol.FieldCodec.PidField;
import org.interweave.wire.protocol.SessionCodec;

/**
 * What HELLO says of the client. Label, program, host and pid are for people; host is "" where the
 * platform does not tell it.
 */
public record Introduction(String label, String program, String host, long pid) {
  public Introduction {
    label = fitting(label, SessionCodec.MAX_LABEL);
  }

  List<HeaderField> fields() {
    List<HeaderField> fields = new ArrayList<>();
    add(fields, FieldKey.FIELD_PROGRAM, program);
    add(fields, FieldKey.FIELD_HOST, host);
    byte[] own = PidField.CODEC.toBytes(new PidField(pid));
    fields.add(new HeaderField(FieldKey.FIELD_PID.number, own));
    byte[] keeps = KeepingField.CODEC.toBytes(new KeepingField(true));
    fields.add(new HeaderField(FieldKey.FIELD_KEEPING.number, keeps));
    byte[] follows = MovingField.CODEC.toBytes(new MovingField(true));
    fields.add(new HeaderField(FieldKey.FIELD_MOVING.number, follows));
    return fields;
  }

  private static void add(List<HeaderField> fields, FieldKey key, String text) {
    if (text.isEmpty()) return;
    LabelField label = new LabelField(fitting(text, FieldCodec.MAX_FIELD_TEXT));
    fields.add(new HeaderField(key.number, LabelField.CODEC.toBytes(label)));
  }

  /** As much of the text as the field takes. */
  private static String fitting(String text, int most) {
    String fits = text;
    while (fits.getBytes(StandardCharsets.UTF_8).length > most) {
      fits = fits.substring(0, fits.offsetByCodePoints(fits.length(), -1));
    }
    return fits;
  }
}
