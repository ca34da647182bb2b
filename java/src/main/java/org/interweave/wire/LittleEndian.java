package org.interweave.wire;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Numbers in arrays of bytes, in the order of wire format. Floating point goes by its raw bits.
 *
 * <p>A VarHandle is faster than a buffer that lives for one call, but the first use of a VarHandle
 * costs 16 ms. So buffers serve until a program has carried much.
 */
public final class LittleEndian {
  /** So many bytes take longer than the first use of a VarHandle. */
  private static final long MUCH = 16 << 20;

  private static long carried;
  private static boolean isMuch;

  /** Initialised at its first use. */
  private static final class Handles {
    static final VarHandle SHORT = of(short[].class);
    static final VarHandle INT = of(int[].class);
    static final VarHandle LONG = of(long[].class);

    private static VarHandle of(Class<?> numbers) {
      return MethodHandles.byteArrayViewVarHandle(numbers, ByteOrder.LITTLE_ENDIAN);
    }
  }

  private LittleEndian() {}

  /** Told by whoever carried bytes, after the fact. The sum need not be exact. */
  public static void carried(long bytes) {
    if (isMuch) return;
    carried += bytes;
    if (carried >= MUCH) isMuch = true;
  }

  /** Whether so much was carried that the first use of a VarHandle is worth its time. */
  public static boolean isMuch() {
    return isMuch;
  }

  private static ByteBuffer of(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  public static short getShort(byte[] bytes, int at) {
    return isMuch ? (short) Handles.SHORT.get(bytes, at) : of(bytes).getShort(at);
  }

  public static int getInt(byte[] bytes, int at) {
    return isMuch ? (int) Handles.INT.get(bytes, at) : of(bytes).getInt(at);
  }

  public static long getLong(byte[] bytes, int at) {
    return isMuch ? (long) Handles.LONG.get(bytes, at) : of(bytes).getLong(at);
  }

  public static void putShort(byte[] bytes, int at, short value) {
    if (isMuch) Handles.SHORT.set(bytes, at, value);
    else of(bytes).putShort(at, value);
  }

  public static void putInt(byte[] bytes, int at, int value) {
    if (isMuch) Handles.INT.set(bytes, at, value);
    else of(bytes).putInt(at, value);
  }

  public static void putLong(byte[] bytes, int at, long value) {
    if (isMuch) Handles.LONG.set(bytes, at, value);
    else of(bytes).putLong(at, value);
  }

  /** Copies bytes, of which there are often four or eight. */
  public static void copy(byte[] from, int begin, byte[] to, int at, int count) {
    if (count == Integer.BYTES) putInt(to, at, getInt(from, begin));
    else if (count == Long.BYTES) putLong(to, at, getLong(from, begin));
    else System.arraycopy(from, begin, to, at, count);
  }
}
