package org.interweave.wire;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Bytes of a diff under construction. Long stretches that are lent are copied once, at the end. */
public final class ByteWriter {
  /** Shorter ones are copied at once. */
  private static final int LONG = 4096;
  /** An array of Java has no more bytes. */
  private static final int MOST = Integer.MAX_VALUE - 8;

  /** Values that are put where the finished bytes have room for them. */
  public interface Source {
    /** Puts the values into `to`, from `at` on. Each `finish` calls it once. */
    void put(byte[] to, int at);
  }

  /** Bytes of an array. */
  private record Lent(byte[] from, int begin, int count) implements Source {
    @Override
    public void put(byte[] to, int at) {
      System.arraycopy(from, begin, to, at, count);
    }
  }

  /** So many bytes, which come before the writer's own byte number `before`. */
  private record Stretch(int before, Source from, int count) {}

  private byte[] bytes = new byte[256];
  /** Of the bytes in `bytes`. */
  private int own;
  /** Of those and of the stretches. */
  private int length;
  private final List<Stretch> stretches = new ArrayList<>(0);

  public int length() {
    return length;
  }

  /** The number of bytes of its own for which the writer has memory. */
  public int room() {
    return bytes.length;
  }

  /** Begins anew, with the memory that is there. */
  public void clear() {
    own = 0;
    length = 0;
    stretches.clear();
  }

  /** Makes room for about so many more bytes at once. */
  public void expect(long count) {
    long wanted = own + count;
    if (wanted > bytes.length && wanted <= MOST) bytes = Arrays.copyOf(bytes, (int) wanted);
  }

  /** Adds bytes, which the caller puts into `claimed` before the next call. Returns their place. */
  public int claim(int count) {
    int begin = own;
    length = Math.addExact(length, count);
    own += count;
    if (own > bytes.length) {
      long grown = Math.min(MOST, 2L * bytes.length);
      bytes = Arrays.copyOf(bytes, (int) Math.max(own, grown));
    }
    return begin;
  }

  /** The array in which the last bytes were claimed. */
  public byte[] claimed() {
    return bytes;
  }

  public void put(int value) {
    int at = claim(1);
    bytes[at] = (byte) value;
  }

  public void put(byte[] from, int begin, int count) {
    int at = claim(count);
    LittleEndian.copy(from, begin, bytes, at, count);
  }

  public void put(byte[] from) {
    put(from, 0, from.length);
  }

  /** Bytes that stay as they are until `finish`. */
  public void lend(byte[] from, int begin, int count) {
    if (count < LONG) put(from, begin, count);
    else lend(new Lent(from, begin, count), count);
  }

  /** Adds `count` bytes that the source puts in `finish`. */
  public void lend(Source from, int count) {
    length = Math.addExact(length, count);
    stretches.add(new Stretch(own, from, count));
  }

  /** All bytes of another writer. Bytes that were lent to the other writer stay lent. */
  public void put(ByteWriter other) {
    take(other, false);
  }

  /** All bytes of another writer, which stays as it is until `finish`. */
  public void lend(ByteWriter other) {
    take(other, true);
  }

  private void take(ByteWriter other, boolean lends) {
    int done = 0;
    for (Stretch each : other.stretches) {
      takeOwn(other, done, each.before, lends);
      lend(each.from, each.count);
      done = each.before;
    }
    takeOwn(other, done, other.own, lends);
  }

  private void takeOwn(ByteWriter other, int begin, int end, boolean lends) {
    if (lends) lend(other.bytes, begin, end - begin);
    else put(other.bytes, begin, end - begin);
  }

  /** An unsigned number of 64 bits. */
  public void varint(long value) {
    while ((value & ~0x7fL) != 0) {
      put((int) value & 0x7f | 0x80);
      value >>>= 7;
    }
    put((int) value);
  }

  public void zigzag(long value) {
    varint(value << 1 ^ value >> 63);
  }

  public byte[] finish() {
    if (stretches.isEmpty()) return Arrays.copyOf(bytes, length);
    return finish(new byte[length]);
  }

  /** Finishes in an array of `length` bytes, and returns it. */
  public byte[] finish(byte[] all) {
    int done = 0;
    int at = 0;
    for (Stretch each : stretches) {
      System.arraycopy(bytes, done, all, at, each.before - done);
      at += each.before - done;
      done = each.before;
      each.from.put(all, at);
      at += each.count;
    }
    System.arraycopy(bytes, done, all, at, own - done);
    return all;
  }
}
