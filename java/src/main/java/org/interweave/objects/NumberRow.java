package org.interweave.objects;

import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.function.IntPredicate;
import org.interweave.wire.ByteWriter;

/** Rows of numbers between arrays of Java and memory, by their bits. */
final class NumberRow {
  /** Stays in the processor's first cache. */
  private static final int CHUNK = 8192;

  /** The number of values in a sample, and how many of them may be unchanged. */
  static final int SAMPLED = 64;
  private static final int SAME_ALLOWED = 3;

  private NumberRow() {}

  static int width(Class<?> elements) {
    if (elements == byte.class) return 1;
    if (elements == short.class) return 2;
    return elements == long.class || elements == double.class ? 8 : 4;
  }

  private static ByteBuffer buffer(byte[] bytes, int at, int length) {
    return ByteBuffer.wrap(bytes, at, length).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** The values, in `current` if that has the length. */
  static Object load(byte[] memory, int at, int count, Object current, Class<?> elements) {
    boolean fits = fits(current, count);
    Object row = fits ? current : Array.newInstance(elements, count);
    load(memory, at, row, 0, count, elements);
    return row;
  }

  static boolean fits(Object row, int count) {
    return row != null && Array.getLength(row) == count;
  }

  /** The values from `first` up to `end` of a row whose bytes begin at `at`. */
  static void load(byte[] memory, int at, Object row, int first, int end, Class<?> elements) {
    int width = width(elements);
    int count = end - first;
    ByteBuffer from = buffer(memory, at + first * width, count * width);
    if (row instanceof byte[] to) from.get(to, first, count);
    else if (row instanceof short[] to) from.asShortBuffer().get(to, first, count);
    else if (row instanceof int[] to) from.asIntBuffer().get(to, first, count);
    else if (row instanceof long[] to) from.asLongBuffer().get(to, first, count);
    else if (row instanceof float[] to) from.asFloatBuffer().get(to, first, count);
    else if (row instanceof double[] to) from.asDoubleBuffer().get(to, first, count);
    else if (row instanceof boolean[] to) {
      for (int i = first; i < end; ++i) to[i] = from.getInt() != 0;
    }
  }

  /** Puts `count` values from `first` on. */
  private static void put(Object row, int first, int count, ByteBuffer out) {
    if (row instanceof byte[] from) out.put(from, first, count);
    else if (row instanceof short[] from) out.asShortBuffer().put(from, first, count);
    else if (row instanceof int[] from) out.asIntBuffer().put(from, first, count);
    else if (row instanceof long[] from) out.asLongBuffer().put(from, first, count);
    else if (row instanceof float[] from) out.asFloatBuffer().put(from, first, count);
    else if (row instanceof double[] from) out.asDoubleBuffer().put(from, first, count);
    else if (row instanceof boolean[] from) {
      for (int i = 0; i < count; ++i) out.putInt(from[first + i] ? 1 : 0);
    }
  }

  /** How many values are compared at once, with vector instructions. */
  static int step(Class<?> elements) {
    return CHUNK / width(elements);
  }

  /** Puts the bytes of up to `step` values before `end` into `scratch`; how many bytes. */
  static int scratched(Object row, int first, int end, byte[] scratch, Class<?> elements) {
    int part = Math.min(step(elements), end - first);
    put(row, first, part, buffer(scratch, 0, part * width(elements)));
    return part * width(elements);
  }

  /**
   * Where the changed values begin among the first `length` bytes of `scratch`, which belong to
   * `at`; -1: nowhere. The memory is the pristine copy: nothing else stores into it.
   */
  static int mismatch(byte[] scratch, int from, int length, byte[] memory, int at, int width) {
    int found = Arrays.mismatch(scratch, from, length, memory, at + from, at + length);
    return found < 0 ? -1 : from + found / width * width;
  }

  /** Stores the values from `first` up to `end`. */
  static void store(Object row, int first, int end, byte[] memory, int at, Class<?> elements) {
    int width = width(elements);
    int count = end - first;
    put(row, first, count, buffer(memory, at + first * width, count * width));
  }

  /** A row of the program, from which a diff takes the values. */
  record Lent(Object row, Class<?> elements) implements ByteWriter.Source {
    @Override
    public void put(byte[] to, int at) {
      store(row, 0, Array.getLength(row), to, at, elements);
    }
  }

  /**
   * Whether values all over a row differ from the bytes that begin at `at`, with few exceptions.
   * `scratch` has room for a value.
   */
  static boolean looksChanged(
      Object row, int count, byte[] bytes, int at, byte[] scratch, Class<?> elements) {
    int width = width(elements);
    return lookChanged(
        count,
        index -> {
          put(row, index, 1, buffer(scratch, 0, width));
          return mismatch(scratch, 0, width, bytes, at + index * width, width) < 0;
        });
  }

  /** Whether a sample of `count` values says that nearly all have changed. */
  static boolean lookChanged(int count, IntPredicate isSame) {
    int sampled = Math.min(SAMPLED, count);
    int stratum = count / sampled;
    int same = 0;
    for (int i = 0; i < sampled; ++i) {
      // At another place of each stratum, so that not all are of one field of many records.
      if (isSame.test(i * stratum + i * 40503 % stratum)) ++same;
    }
    return same <= SAME_ALLOWED;
  }

  static byte[] scratch() {
    return new byte[CHUNK];
  }
}
