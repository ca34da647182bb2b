package org.interweave.client;

import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.diff.CopiedBlock;
import org.interweave.types.Type;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;
import org.interweave.wire.protocol.DescriptorCodec.TypeKind;

/** Blocks and units by the names that the runner gives them: BLOCK["#"UNIT]("/"UNIT)*. */
final class Units {
  private Units() {}

  static CopiedBlock block(Segment segment, String text) {
    boolean isSerial = Character.isDigit(text.charAt(0));
    CopiedBlock found =
        isSerial ? segment.copy().block(Long.parseLong(text)) : segment.copy().block(text);
    if (found != null) return found;
    throw InterweaveException.of(Error.NO_BLOCK, segment.url() + " has no block " + text);
  }

  static Value at(Segment segment, String place) {
    String[] steps = place.split("/");
    String[] first = steps[0].split("#");
    CopiedBlock block = block(segment, first[0]);
    long offset = first.length > 1 ? Long.parseLong(first[1]) : 0;
    Value unit = unit(Value.of(segment, block), block.units(), offset);
    for (int i = 1; i < steps.length; ++i) unit = inside(unit, Long.parseLong(steps[i]));
    return unit;
  }

  /** The unit of a value that has so many. */
  private static Value unit(Value whole, long units, long wanted) {
    if (wanted < 0 || wanted >= units) {
      throw new IllegalArgumentException("the value has no unit " + wanted);
    }
    Value value = whole;
    long left = wanted;
    while (true) {
      if (value.count >= 0) {
        Value element = value.at(left / value.type.units());
        left -= element.unit - value.unit;
        value = element;
      } else if (value.type.fields().isEmpty()) {
        return value;
      } else {
        Type.Member field = fieldAt(value.type, left);
        left -= field.unit();
        value = value.field(field.name());
      }
    }
  }

  private static Type.Member fieldAt(Type type, long unit) {
    Type.Member found = null;
    for (Type.Member field : type.fields()) if (field.unit() <= unit) found = field;
    return found;
  }

  /** An element's unit of a sequence, a character of a text, a unit of a union's active arm. */
  private static Value inside(Value value, long wanted) {
    if (value.type.choice() != null) {
      Value arm = value.arm();
      if (arm == null) throw new IllegalArgumentException("the union has no active arm");
      return unit(arm, unitsOf(arm), wanted);
    }
    Value row = value.row();
    boolean isText = value.type.kind() == TypeKind.TEXT;
    return unit(row, isText ? value.bytes().length : unitsOf(row), wanted);
  }

  private static long unitsOf(Value value) {
    return value.count < 0 ? value.type.units() : value.count * value.type.units();
  }

  static boolean isBytes(Type type) {
    return type.primitive() == Primitive.UCHAR;
  }
}
