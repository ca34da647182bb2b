package org.interweave.wire.protocol;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * Bytes of XDR under construction. A value beyond its bound is a mistake of the caller's: an
 * IllegalArgumentException.
 */
public final class XdrWriter {
  private byte[] bytes = new byte[128];
  private int length;

  /** What was written. */
  public byte[] finish() {
    return Arrays.copyOf(bytes, length);
  }

  /** Room for so many more bytes; where they begin. */
  private int room(int count) {
    int begin = length;
    length = Math.addExact(length, count);
    if (length > bytes.length) {
      long grown = Math.min(Integer.MAX_VALUE - 8, 2L * bytes.length);
      bytes = Arrays.copyOf(bytes, (int) Math.max(length, grown));
    }
    return begin;
  }

  private void ranged(long value, long low, long high) {
    if (value < low || value > high) {
      throw new IllegalArgumentException(value + " is not from " + low + " to " + high);
    }
    i32((int) value);
  }

  public void i8(byte value) {
    i32(value);
  }

  public void u8(int value) {
    ranged(value, 0, 0xff);
  }

  public void i16(short value) {
    i32(value);
  }

  public void u16(int value) {
    ranged(value, 0, 0xffff);
  }

  public void i32(int value) {
    int at = room(4);
    bytes[at] = (byte) (value >> 24);
    bytes[at + 1] = (byte) (value >> 16);
    bytes[at + 2] = (byte) (value >> 8);
    bytes[at + 3] = (byte) value;
  }

  public void u32(long value) {
    ranged(value, 0, 0xffffffffL);
  }

  public void i64(long value) {
    i32((int) (value >> 32));
    i32((int) value);
  }

  /** Of a long of the same bits. */
  public void u64(long value) {
    i64(value);
  }

  public void f32(float value) {
    i32(Float.floatToRawIntBits(value));
  }

  public void f64(double value) {
    i64(Double.doubleToRawLongBits(value));
  }

  public void bool(boolean value) {
    i32(value ? 1 : 0);
  }

  /** `opaque[size]` */
  public void fixed(byte[] value, long size) {
    checkCount(value.length, size);
    int padded = Math.addExact(value.length, -value.length & 3);
    // What is beyond `length` was never written, so the padding is zero.
    int at = room(padded);
    System.arraycopy(value, 0, bytes, at, value.length);
  }

  /** `opaque<bound>` */
  public void opaque(byte[] value, long bound) {
    putLength(value.length, bound);
    fixed(value, value.length);
  }

  /** `string<bound>`, of UTF-8. */
  public void string(String value, long bound) {
    opaque(value.getBytes(StandardCharsets.UTF_8), bound);
  }

  /** `T[count]` */
  public <T> void elements(List<T> values, long count, long least, XdrCodec<T> element) {
    checkCount(values.size(), count);
    for (T value : values) element.encode(this, value);
  }

  /** `T<bound>` */
  public <T> void list(List<T> values, long bound, long least, XdrCodec<T> element) {
    putLength(values.size(), bound);
    for (T value : values) element.encode(this, value);
  }

  /** `T *`; null if there is no value. */
  public <T> void optional(T value, XdrCodec<T> target) {
    bool(value != null);
    if (value != null) target.encode(this, value);
  }

  static IllegalArgumentException noArm() {
    return new IllegalArgumentException("a union has no arm for its discriminant");
  }

  private static void checkCount(int length, long count) {
    if (length != count) throw new IllegalArgumentException(length + " elements, not " + count);
  }

  private void putLength(int length, long bound) {
    if (length > bound) {
      throw new IllegalArgumentException("length " + length + " is above the bound of " + bound);
    }
    i32(length);
  }
}
