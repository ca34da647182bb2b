package org.interweave.wire.protocol;

import java.util.List;

/**
 * Encodes and decodes one type. Elements and optional values have a codec as an object; for other
 * values generated code calls the methods of XdrReader and XdrWriter.
 */
public abstract class XdrCodec<T> {
  /** The next value; an XdrException if there is none. */
  public abstract T decode(XdrReader r);

  public abstract void encode(XdrWriter w, T value);

  /** The encoding of one value. */
  public final byte[] toBytes(T value) {
    XdrWriter w = new XdrWriter();
    encode(w, value);
    return w.finish();
  }

  /** The value that the bytes encode, all of them. */
  public final T fromBytes(byte[] bytes) {
    XdrReader r = new XdrReader(bytes);
    T value = decode(r);
    r.finish();
    return value;
  }

  public static final XdrCodec<Byte> I8 = new Primitive<>(0);
  public static final XdrCodec<Integer> U8 = new Primitive<>(1);
  public static final XdrCodec<Short> I16 = new Primitive<>(2);
  public static final XdrCodec<Integer> U16 = new Primitive<>(3);
  public static final XdrCodec<Integer> I32 = new Primitive<>(4);
  public static final XdrCodec<Long> U32 = new Primitive<>(5);
  public static final XdrCodec<Long> I64 = new Primitive<>(6);
  public static final XdrCodec<Long> U64 = new Primitive<>(7);
  public static final XdrCodec<Float> F32 = new Primitive<>(8);
  public static final XdrCodec<Double> F64 = new Primitive<>(9);
  public static final XdrCodec<Boolean> BOOL = new Primitive<>(10);

  /**
   * All of them in one class. With a class each, a program would load ten more before its first
   * value.
   */
  private static final class Primitive<T> extends XdrCodec<T> {
    private final int number;

    Primitive(int number) {
      this.number = number;
    }

    @Override
    @SuppressWarnings("unchecked")
    public T decode(XdrReader r) {
      Object value = switch (number) {
        case 0 -> r.i8();
        case 1 -> r.u8();
        case 2 -> r.i16();
        case 3 -> r.u16();
        case 4 -> r.i32();
        case 5 -> r.u32();
        case 6 -> r.i64();
        case 7 -> r.u64();
        case 8 -> r.f32();
        case 9 -> r.f64();
        default -> r.bool();
      };
      return (T) value;
    }

    @Override
    public void encode(XdrWriter w, T value) {
      switch (number) {
        case 0 -> w.i8((Byte) value);
        case 1 -> w.u8((Integer) value);
        case 2 -> w.i16((Short) value);
        case 3 -> w.u16((Integer) value);
        case 4 -> w.i32((Integer) value);
        case 5 -> w.u32((Long) value);
        case 6 -> w.i64((Long) value);
        case 7 -> w.u64((Long) value);
        case 8 -> w.f32((Float) value);
        case 9 -> w.f64((Double) value);
        default -> w.bool((Boolean) value);
      }
    }
  }

  /** `opaque[size]` */
  public static XdrCodec<byte[]> fixed(long size) {
    return new XdrCodec<>() {
      @Override
      public byte[] decode(XdrReader r) {
        return r.fixed(size);
      }

      @Override
      public void encode(XdrWriter w, byte[] value) {
        w.fixed(value, size);
      }
    };
  }

  /** `opaque<bound>` */
  public static XdrCodec<byte[]> opaque(long bound) {
    return new XdrCodec<>() {
      @Override
      public byte[] decode(XdrReader r) {
        return r.opaque(bound);
      }

      @Override
      public void encode(XdrWriter w, byte[] value) {
        w.opaque(value, bound);
      }
    };
  }

  /** `string<bound>` */
  public static XdrCodec<String> string(long bound) {
    return new XdrCodec<>() {
      @Override
      public String decode(XdrReader r) {
        return r.string(bound);
      }

      @Override
      public void encode(XdrWriter w, String value) {
        w.string(value, bound);
      }
    };
  }

  /** `E[count]`; an element takes `least` bytes or more. */
  public static <E> XdrCodec<List<E>> elements(long count, long least, XdrCodec<E> element) {
    return new XdrCodec<>() {
      @Override
      public List<E> decode(XdrReader r) {
        return r.elements(count, least, element);
      }

      @Override
      public void encode(XdrWriter w, List<E> value) {
        w.elements(value, count, least, element);
      }
    };
  }

  /** `E<bound>`; an element takes `least` bytes or more. */
  public static <E> XdrCodec<List<E>> list(long bound, long least, XdrCodec<E> element) {
    return new XdrCodec<>() {
      @Override
      public List<E> decode(XdrReader r) {
        return r.list(bound, least, element);
      }

      @Override
      public void encode(XdrWriter w, List<E> value) {
        w.list(value, bound, least, element);
      }
    };
  }

  /** `E *` */
  public static <E> XdrCodec<E> optional(XdrCodec<E> target) {
    return new XdrCodec<>() {
      @Override
      public E decode(XdrReader r) {
        return r.optional(target);
      }

      @Override
      public void encode(XdrWriter w, E value) {
        w.optional(value, target);
      }
    };
  }
}
