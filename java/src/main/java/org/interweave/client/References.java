package org.interweave.client;

import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.diff.CopiedBlock;
import org.interweave.swizzle.Spot;
import org.interweave.types.Type;
import org.interweave.wire.WirePointer;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;
import org.interweave.wire.protocol.DescriptorCodec.TypeBody;
import org.interweave.wire.protocol.DescriptorCodec.TypeKind;

/** Where pointers lead, and the blocks that sequences and texts own [WIRE-5, WIRE-7]. */
final class References {
  private References() {}

  private static Type targetType(Value value) {
    return value.segment.copy().types().get(value.type.targetSerial());
  }

  static Value target(Value pointer) {
    WirePointer wire = WirePointer.at(pointer.block.memory(), pointer.at);
    if (wire.isNull()) return null;
    Segment segment = pointer.segment;
    if (wire.slot() != 0) {
      segment = segment.neighbour(segment.copy().slots().get(wire.slot() - 1));
      segment.checkReadable();
    }
    CopiedBlock block = segment.copy().block(wire.serial());
    Spot spot = block == null ? null : Spot.find(block, wire.offset(), targetType(pointer));
    if (spot == null) {
      throw InterweaveException.of(
          Error.BAD_POINTER,
          pointer.mip() + " leads to unit " + wire.offset() + " of block " + wire.serial()
              + " of " + segment.url() + ", where no such value begins");
    }
    if (spot.at() == 0 && spot.type() == block.type) return Value.of(segment, block);
    return new Value(segment, block, spot.type(), -1, spot.at(), spot.unit(), false);
  }

  static void point(Value pointer, Value target) {
    if (target == null) {
      WirePointer.NULL.put(pointer.block.memory(), pointer.at);
      return;
    }
    target.checkReadable();
    Type wanted = targetType(pointer);
    boolean isOfType =
        wanted == null
            || target.type.isSameAs(wanted)
            || Spot.find(target.block, target.unit, wanted) != null;
    if (target.isInArm || !isOfType) {
      throw InterweaveException.of(
          Error.BAD_POINTER,
          "a pointer to " + (wanted == null ? "a value" : wanted.name()) + " cannot lead to "
              + target);
    }
    int slot = pointer.segment.slotOf(target.segment);
    new WirePointer(slot, target.block.serial, target.unit).put(pointer.block.memory(), pointer.at);
  }

  /** The elements of a sequence or text. */
  static Value owned(Value value) {
    value.checkReadable();
    WirePointer wire = WirePointer.at(value.block.memory(), value.at);
    if (wire.isNull()) {
      return new Value(value.segment, value.block, elementType(value), 0, value.at, 0, true);
    }
    CopiedBlock block = value.segment.copy().block(wire.serial());
    if (block == null) {
      throw InterweaveException.of(
          Error.BAD_POINTER, "a sequence's elements, block " + wire.serial() + ", are missing");
    }
    return new Value(value.segment, block, block.type, block.count, 0, 0, false);
  }

  private static Type elementType(Value value) {
    if (value.type.kind() != TypeKind.TEXT) return targetType(value);
    return value.segment.copy().types().get(Primitive.CHAR.number);
  }

  /** Gives a sequence or text a new block, all zeros; the old one is freed [COPY-4]. */
  static void replaceOwned(Value value, long count) {
    long bound = boundOf(value);
    if (count < 0 || bound > 0 && count > bound) {
      throw InterweaveException.of(
          Error.TOO_LARGE, count + " elements where " + bound + " are the most");
    }
    CopiedBlock made =
        count == 0 ? null : value.segment.allocate(elementType(value), count, "");
    value.segment.changes().freeOwned(value.block, value.type, value.at);
    WirePointer pointer =
        made == null ? WirePointer.NULL : new WirePointer(0, made.serial, 0);
    pointer.put(value.block.memory(), value.at);
  }

  /** The most elements, a text's NUL among them; 0: no bound. */
  private static long boundOf(Value value) {
    TypeBody body = value.type.descriptor().body();
    if (body instanceof TypeBody.OfSequence one) return one.sequence().bound();
    if (body instanceof TypeBody.OfTextBound one && one.textBound() > 0) {
      return one.textBound() + 1;
    }
    return 0;
  }
}
