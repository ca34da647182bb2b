package org.interweave.client;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;
import org.interweave.wire.protocol.DescriptorCodec.TypeKind;

/** Rows of numbers, and strings, as arrays of Java. */
final class Rows {
  private Rows() {}

  private static int count(Value row, Primitive... kinds) {
    Primitive kind = row.type.kind() == TypeKind.ENUM ? Primitive.INT : row.type.primitive();
    for (Primitive each : kinds) {
      if (kind == each) return Math.toIntExact(row.count);
    }
    throw row.misfit("a row of " + kinds[0].name().toLowerCase());
  }

  private static void checkLength(int count, int given) {
    if (count == given) return;
    throw InterweaveException.of(
        Error.BAD_ARGUMENT, given + " values for a row of " + count);
  }

  private static ByteBuffer memory(Value row) {
    return ByteBuffer.wrap(row.block.memory(), row.at, row.block.length() - row.at)
        .order(ByteOrder.LITTLE_ENDIAN);
  }

  static double[] doubles(Value row) {
    double[] values = new double[count(row, Primitive.DOUBLE)];
    memory(row).asDoubleBuffer().get(values);
    return values;
  }

  static void set(Value row, double[] values) {
    checkLength(count(row, Primitive.DOUBLE), values.length);
    memory(row).asDoubleBuffer().put(values);
  }

  static float[] floats(Value row) {
    float[] values = new float[count(row, Primitive.FLOAT)];
    memory(row).asFloatBuffer().get(values);
    return values;
  }

  static void set(Value row, float[] values) {
    checkLength(count(row, Primitive.FLOAT), values.length);
    memory(row).asFloatBuffer().put(values);
  }

  static int[] ints(Value row) {
    int[] values = new int[count(row, Primitive.INT, Primitive.UINT, Primitive.BOOL)];
    memory(row).asIntBuffer().get(values);
    return values;
  }

  static void set(Value row, int[] values) {
    checkLength(count(row, Primitive.INT, Primitive.UINT), values.length);
    memory(row).asIntBuffer().put(values);
  }

  static long[] longs(Value row) {
    long[] values = new long[count(row, Primitive.HYPER, Primitive.UHYPER)];
    memory(row).asLongBuffer().get(values);
    return values;
  }

  static void set(Value row, long[] values) {
    checkLength(count(row, Primitive.HYPER, Primitive.UHYPER), values.length);
    memory(row).asLongBuffer().put(values);
  }

  private static int end(byte[] memory, int begin, int end) {
    for (int at = begin; at < end; ++at) if (memory[at] == 0) return at;
    return end;
  }

  static byte[] bytes(Value value) {
    if (value.count < 0 && value.type.kind() == TypeKind.STRING) {
      int end = end(value.block.memory(), value.at, (int) (value.at + value.type.size()));
      return Arrays.copyOfRange(value.block.memory(), value.at, end);
    }
    Value row = value.row();
    int count = count(row, Primitive.CHAR, Primitive.UCHAR);
    boolean isText = value.count < 0 && value.type.kind() == TypeKind.TEXT;
    int end = isText ? end(row.block.memory(), row.at, row.at + count) : row.at + count;
    return Arrays.copyOfRange(row.block.memory(), row.at, end);
  }

  static void set(Value value, byte[] bytes) {
    TypeKind kind = value.count < 0 ? value.type.kind() : null;
    boolean isString = kind == TypeKind.STRING || kind == TypeKind.TEXT;
    if (isString && end(bytes, 0, bytes.length) < bytes.length) {
      throw InterweaveException.of(Error.BAD_VALUE, "a string contains NUL");
    }
    if (kind == TypeKind.STRING) {
      if (bytes.length > value.type.size()) {
        throw InterweaveException.of(
            Error.TOO_LARGE,
            bytes.length + " bytes for a string of at most " + value.type.size());
      }
      int end = (int) (value.at + value.type.size());
      System.arraycopy(bytes, 0, value.block.memory(), value.at, bytes.length);
      Arrays.fill(value.block.memory(), value.at + bytes.length, end, (byte) 0);
    } else if (kind == TypeKind.TEXT) {
      // With the NUL at its end [WIRE-7].
      References.replaceOwned(value, bytes.length == 0 ? 0 : bytes.length + 1L);
      Value row = value.row();
      System.arraycopy(bytes, 0, row.block.memory(), row.at, bytes.length);
    } else {
      Value row = value.row();
      row.checkWritable();
      checkLength(count(row, Primitive.CHAR, Primitive.UCHAR), bytes.length);
      System.arraycopy(bytes, 0, row.block.memory(), row.at, bytes.length);
    }
  }
}
