package org.interweave.client;

import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.types.Leaf;
import org.interweave.types.Type;
import org.interweave.wire.LittleEndian;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;

/** Numbers, bools and enums in memory. An enum is its number. */
final class Numbers {
  private Numbers() {}

  private static Primitive kind(Type type) {
    Primitive primitive = type.primitive();
    return primitive == null ? Primitive.INT : primitive;
  }

  static Object get(byte[] memory, Type type, int at) {
    return switch (kind(type)) {
      case CHAR -> memory[at];
      case UCHAR -> (short) (memory[at] & 0xff);
      case SHORT -> LittleEndian.getShort(memory, at);
      case USHORT -> LittleEndian.getShort(memory, at) & 0xffff;
      case INT -> LittleEndian.getInt(memory, at);
      case UINT -> LittleEndian.getInt(memory, at) & 0xffffffffL;
      case HYPER, UHYPER -> LittleEndian.getLong(memory, at);
      case FLOAT -> Float.intBitsToFloat(LittleEndian.getInt(memory, at));
      case DOUBLE -> Double.longBitsToDouble(LittleEndian.getLong(memory, at));
      case BOOL -> LittleEndian.getInt(memory, at) != 0;
    };
  }

  static long integer(byte[] memory, Type type, int at) {
    return switch (kind(type)) {
      case CHAR -> memory[at];
      case UCHAR -> memory[at] & 0xff;
      case SHORT -> LittleEndian.getShort(memory, at);
      case USHORT -> LittleEndian.getShort(memory, at) & 0xffff;
      case INT, BOOL -> LittleEndian.getInt(memory, at);
      case UINT -> LittleEndian.getInt(memory, at) & 0xffffffffL;
      case HYPER, UHYPER -> LittleEndian.getLong(memory, at);
      case FLOAT, DOUBLE ->
          throw InterweaveException.of(
              Error.BAD_ARGUMENT, "a " + type.name() + " is not an integer: ask for real()");
    };
  }

  static double real(byte[] memory, Type type, int at) {
    Primitive kind = kind(type);
    if (kind == Primitive.FLOAT) return Float.intBitsToFloat(LittleEndian.getInt(memory, at));
    if (kind == Primitive.DOUBLE) return Double.longBitsToDouble(LittleEndian.getLong(memory, at));
    return integer(memory, type, at);
  }

  static void set(byte[] memory, Type type, int at, double value) {
    Primitive kind = kind(type);
    if (kind == Primitive.FLOAT) {
      LittleEndian.putInt(memory, at, Float.floatToRawIntBits((float) value));
    } else if (kind == Primitive.DOUBLE) {
      LittleEndian.putLong(memory, at, Double.doubleToRawLongBits(value));
    } else {
      throw InterweaveException.of(
          Error.BAD_ARGUMENT, "a " + type.name() + " is not a float or double: store an integer");
    }
  }

  static void set(byte[] memory, Type type, int at, long value) {
    Primitive kind = kind(type);
    switch (kind) {
      case CHAR -> memory[at] = (byte) ranged(type, value, Byte.MIN_VALUE, Byte.MAX_VALUE);
      case UCHAR -> memory[at] = (byte) ranged(type, value, 0, 0xff);
      case SHORT ->
          LittleEndian.putShort(
              memory, at, (short) ranged(type, value, Short.MIN_VALUE, Short.MAX_VALUE));
      case USHORT -> LittleEndian.putShort(memory, at, (short) ranged(type, value, 0, 0xffff));
      case UINT -> LittleEndian.putInt(memory, at, (int) ranged(type, value, 0, 0xffffffffL));
      case HYPER, UHYPER -> LittleEndian.putLong(memory, at, value);
      case INT, BOOL -> {
        int number = (int) ranged(type, value, Integer.MIN_VALUE, Integer.MAX_VALUE);
        Leaf leaf = type.plan().firstLeaf();
        if (!leaf.allows(number)) throw bad(type, value);
        LittleEndian.putInt(memory, at, number);
      }
      case FLOAT, DOUBLE -> set(memory, type, at, (double) value);
    }
  }

  private static long ranged(Type type, long value, long low, long high) {
    if (value < low || value > high) throw bad(type, value);
    return value;
  }

  private static InterweaveException bad(Type type, long value) {
    return InterweaveException.of(
        Error.BAD_VALUE, value + " is not a value of type " + type.name());
  }
}
