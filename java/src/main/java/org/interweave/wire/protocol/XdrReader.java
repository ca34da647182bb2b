package org.interweave.wire.protocol;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * Bytes being decoded as XDR (RFC 4506). Decoding is strict, because the bytes come from the
 * network: declared bounds hold, padding is zero, booleans and optionals are 0 or 1, text is UTF-8,
 * recursion ends at MAX_DEPTH, and a count is believed only if the bytes for that many elements are
 * there. After an exception the position means nothing.
 */
public final class XdrReader {
  /** How deep recursive types may nest. */
  public static final int MAX_DEPTH = 128;

  private final byte[] bytes;
  /** Reads numbers of the bytes. The first use of a VarHandle costs milliseconds. */
  private final ByteBuffer numbers;
  private final int end;
  private int at;
  private int depth;

  public XdrReader(byte[] bytes) {
    this(bytes, 0, bytes.length);
  }

  /** Of the bytes from `begin` to `end`. */
  public XdrReader(byte[] bytes, int begin, int end) {
    this.bytes = bytes;
    numbers = ByteBuffer.wrap(bytes);
    this.at = begin;
    this.end = end;
  }

  /** Where the next value begins in the array. */
  public int at() {
    return at;
  }

  /** How many bytes are not yet decoded. */
  public int remaining() {
    return end - at;
  }

  /** Fails unless all bytes are decoded. */
  public void finish() {
    if (at < end) throw new XdrException("bytes follow the value");
  }

  private int take(long count) {
    if (count > end - at) throw new XdrException("the bytes end too early");
    int begin = at;
    at += (int) count;
    return begin;
  }

  private int ranged(int low, int high) {
    int value = i32();
    if (value < low || value > high) throw new XdrException("a number is too large for its type");
    return value;
  }

  public byte i8() {
    return (byte) ranged(Byte.MIN_VALUE, Byte.MAX_VALUE);
  }

  public int u8() {
    return ranged(0, 0xff);
  }

  public short i16() {
    return (short) ranged(Short.MIN_VALUE, Short.MAX_VALUE);
  }

  public int u16() {
    return ranged(0, 0xffff);
  }

  public int i32() {
    return numbers.getInt(take(4));
  }

  public long u32() {
    return i32() & 0xffffffffL;
  }

  public long i64() {
    return numbers.getLong(take(8));
  }

  /** As a long of the same bits. */
  public long u64() {
    return i64();
  }

  public float f32() {
    return Float.intBitsToFloat(i32());
  }

  public double f64() {
    return Double.longBitsToDouble(i64());
  }

  public boolean bool() {
    int value = i32();
    if (value != 0 && value != 1) throw new XdrException("a bool is neither 0 nor 1");
    return value == 1;
  }

  /** `opaque[size]` */
  public byte[] fixed(long size) {
    int begin = padded(size);
    return Arrays.copyOfRange(bytes, begin, begin + (int) size);
  }

  /** `opaque<bound>` */
  public byte[] opaque(long bound) {
    return fixed(length(bound));
  }

  /** `string<bound>`, of UTF-8. */
  public String string(long bound) {
    long length = length(bound);
    ByteBuffer text = ByteBuffer.wrap(bytes, padded(length), (int) length);
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(text).toString();
    } catch (CharacterCodingException wrong) {
      throw new XdrException("a string is not UTF-8");
    }
  }

  /** `T[count]`; an element takes `least` bytes or more. */
  public <T> List<T> elements(long count, long least, XdrCodec<T> element) {
    if (least > 0 && count > remaining() / least) {
      throw new XdrException("the bytes end too early");
    }
    List<T> values = new ArrayList<>((int) Math.min(count, remaining()));
    for (long i = 0; i < count; ++i) values.add(element.decode(this));
    return Collections.unmodifiableList(values);
  }

  /** `T<bound>`; an element takes `least` bytes or more. */
  public <T> List<T> list(long bound, long least, XdrCodec<T> element) {
    return elements(length(bound), least, element);
  }

  /** `T *`; null if there is no value. */
  public <T> T optional(XdrCodec<T> target) {
    int mark = i32();
    if (mark != 0 && mark != 1) throw new XdrException("an optional is neither 0 nor 1");
    return mark == 1 ? target.decode(this) : null;
  }

  /** Around the decoding of a type that may contain itself. */
  public void enter() {
    if (depth == MAX_DEPTH) throw new XdrException("the value is nested too deeply");
    ++depth;
  }

  public void leave() {
    --depth;
  }

  private long length(long bound) {
    long length = u32();
    if (length > bound) throw new XdrException("a length or count is above its bound");
    return length;
  }

  /** Where so many bytes begin, whose padding is zero. */
  private int padded(long count) {
    int begin = take(count);
    for (int pad = take(-count & 3); pad < at; ++pad) {
      if (bytes[pad] != 0) throw new XdrException("padding is not zero");
    }
    return begin;
  }
}
