package org.interweave.vectors;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.interweave.diff.CopiedBlock;
import org.interweave.types.Leaf;
import org.interweave.types.Plan;
import org.interweave.types.Type;
import org.interweave.wire.LittleEndian;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;

/** A block's memory, unit by unit and in the wire's slot form. */
final class Units {
  private final CopiedBlock block;

  Units(CopiedBlock block) {
    this.block = block;
  }

  List<Object> values() {
    return values(block.type, block.count, block.plan(), 0);
  }

  /** The types of a type's units, in order: a plan does not tell int from float. */
  private static void scalars(Type type, List<Type> out) {
    if (type.element() != null) {
      for (long i = 0; i < type.count(); ++i) scalars(type.element(), out);
    } else if (!type.fields().isEmpty()) {
      for (Type.Member field : type.fields()) scalars(field.type(), out);
    } else {
      out.add(type);
    }
  }

  private List<Object> values(Type type, long count, Plan plan, long base) {
    List<Type> kinds = new ArrayList<>();
    scalars(type, kinds);
    List<Object> values = new ArrayList<>();
    plan.walk(
        base,
        (leaf, at, units) -> {
          for (long i = 0; i < units; ++i) {
            Type kind = kinds.get(values.size() % kinds.size());
            values.add(scalar(kind, leaf, (int) (at + i * leaf.width)));
          }
        });
    return values;
  }

  private Object scalar(Type type, Leaf leaf, int at) {
    byte[] memory = block.memory();
    return switch (leaf.kind) {
      case BOOL -> LittleEndian.getInt(memory, at) != 0;
      case ENUM -> (long) LittleEndian.getInt(memory, at);
      case POINTER, OWNED -> Shown.pointer(memory, at);
      case STRING -> {
        int length = 0;
        while (length < leaf.width && memory[at + length] != 0) ++length;
        yield new String(memory, at, length, StandardCharsets.ISO_8859_1);
      }
      case UNION -> union(type.choice(), at);
      case PLAIN -> number(type.primitive(), at);
    };
  }

  private Object union(Type.Choice choice, int at) {
    int value = LittleEndian.getInt(block.memory(), at);
    Type.Member arm = choice.selected(value);
    boolean isVoid = arm == null || arm.type() == null;
    boolean isUnsigned = choice.discriminant().type().primitive() == Primitive.UINT;
    Map<String, Object> shown = new LinkedHashMap<>();
    shown.put("case", isUnsigned ? value & 0xffffffffL : value);
    shown.put(
        "units",
        isVoid ? List.of() : values(arm.type(), 1, arm.type().plan(), at + arm.at()));
    return shown;
  }

  private Object number(Primitive primitive, int at) {
    byte[] memory = block.memory();
    return switch (primitive) {
      case CHAR -> (long) memory[at];
      case UCHAR -> memory[at] & 0xffL;
      case SHORT -> (long) LittleEndian.getShort(memory, at);
      case USHORT -> LittleEndian.getShort(memory, at) & 0xffffL;
      case INT -> (long) LittleEndian.getInt(memory, at);
      case UINT -> LittleEndian.getInt(memory, at) & 0xffffffffL;
      case HYPER -> Shown.signed(LittleEndian.getLong(memory, at));
      case UHYPER -> Shown.unsigned(LittleEndian.getLong(memory, at));
      case FLOAT -> Shown.real(Float.intBitsToFloat(LittleEndian.getInt(memory, at)));
      case DOUBLE -> Shown.real(Double.longBitsToDouble(LittleEndian.getLong(memory, at)));
      case BOOL -> throw new AssertionError("a bool has a leaf of its own");
    };
  }

  /** Packed, each unit in its slot. */
  byte[] slotForm() {
    byte[] slots = new byte[(int) (block.type.slotBytes() * block.count)];
    List<Type> kinds = new ArrayList<>();
    scalars(block.type, kinds);
    int[] next = {0, 0};
    block.plan().walk(
        0,
        (leaf, at, units) -> {
          for (long i = 0; i < units; ++i) {
            place(leaf, (int) (at + i * leaf.width), slots, next[0]);
            next[0] += (int) kinds.get(next[1]++ % kinds.size()).slotBytes();
          }
        });
    return slots;
  }

  /** Writes a unit to its slot; how many bytes it took. */
  private int place(Leaf leaf, int at, byte[] slots, int to) {
    if (leaf.kind != Leaf.Kind.UNION) {
      System.arraycopy(block.memory(), at, slots, to, (int) leaf.width);
      return (int) leaf.width;
    }
    System.arraycopy(block.memory(), at, slots, to, 4);
    Plan arm = leaf.choice.selected(LittleEndian.getInt(block.memory(), at));
    int[] out = {4};
    if (arm == null || arm == Plan.VOID) return out[0];
    arm.walk(
        at + leaf.choice.armAt(),
        (inner, from, units) -> {
          for (long i = 0; i < units; ++i) {
            out[0] += place(inner, (int) (from + i * inner.width), slots, to + out[0]);
          }
        });
    return out[0];
  }
}
