package org.interweave.objects;

import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.diff.CopiedBlock;
import org.interweave.types.Type;
import org.interweave.wire.LittleEndian;
import org.interweave.wire.protocol.DescriptorCodec.TypeBody;

/** Finds the types of fields by where they lie, also in the selected arm of a union. */
final class OwnedField {
  private OwnedField() {}

  /** The innermost type at a byte, which begins there. */
  static Type typeAt(CopiedBlock block, int place, byte[] memory) {
    return walk(block, place, memory, false);
  }

  /** The union that begins at a byte. If one holds another there, it is the outer one. */
  static Type unionAt(CopiedBlock block, int place, byte[] memory) {
    return walk(block, place, memory, true);
  }

  private static Type walk(CopiedBlock block, int place, byte[] memory, boolean toUnion) {
    Type type = block.type;
    int begin = (int) (place - place % type.size());
    while (true) {
      int rest = place - begin;
      Type.Member found = null;
      if (type.element() != null) {
        type = type.element();
        begin += (int) (rest / type.size() * type.size());
        continue;
      }
      if (type.choice() != null) {
        if (toUnion && rest == 0) return type;
        found = type.choice().selected(LittleEndian.getInt(memory, begin));
        if (found != null && (found.type() == null || found.at() > rest)) found = null;
      } else {
        for (Type.Member field : type.fields()) {
          if (field.at() <= rest) found = field;
        }
      }
      if (found == null) return type;
      begin += (int) found.at();
      type = found.type();
    }
  }

  static void checkBound(Type field, long count) {
    TypeBody body = field.descriptor().body();
    long bound = 0;
    if (body instanceof TypeBody.OfSequence one) bound = one.sequence().bound();
    else if (body instanceof TypeBody.OfTextBound one && one.textBound() > 0) {
      bound = one.textBound() + 1;
    }
    if (bound == 0 || count <= bound) return;
    throw InterweaveException.of(
        Error.TOO_LARGE, count + " elements where " + bound + " are the most");
  }
}
