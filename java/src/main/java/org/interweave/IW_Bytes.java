package org.interweave;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Numbers in arrays of bytes, in the order of wire format. The first use costs milliseconds. So the
 * library uses this class only after a program has carried much (wire/LittleEndian.java).
 */
final class IW_Bytes {
  static final VarHandle SHORT = of(short[].class);
  static final VarHandle INT = of(int[].class);
  static final VarHandle LONG = of(long[].class);

  private IW_Bytes() {}

  private static VarHandle of(Class<?> numbers) {
    return MethodHandles.byteArrayViewVarHandle(numbers, ByteOrder.LITTLE_ENDIAN);
  }
}
