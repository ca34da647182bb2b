package org.interweave.types;

/** Numbers of units and of bytes, which are refused when they are too large, and never overflow. */
public final class Extent {
  /** Of a type, and of a block: in units, and in bytes of wire format. */
  public static final long MAX = 1L << 40;

  private static final long BEYOND = 1L << 50;

  private Extent() {}

  /** The product of two numbers that are not negative, or a number far above MAX. */
  public static long times(long a, long b) {
    boolean isLarge = Math.multiplyHigh(a, b) != 0 || a * b < 0 || a * b > BEYOND;
    return isLarge ? BEYOND : a * b;
  }

  static long roundUp(long value, int align) {
    return (value + align - 1) / align * align;
  }
}
