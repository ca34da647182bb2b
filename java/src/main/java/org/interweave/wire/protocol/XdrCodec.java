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

  public static final XdrCodec<Byte> I8 = new XdrCodec<>() {
    @Override
    public Byte decode(XdrReader r) {
      return r.i8();
    }

    @Override
    public void encode(XdrWriter w, Byte value) {
      w.i8(value);
    }
  };

  public static final XdrCodec<Integer> U8 = new XdrCodec<>() {
    @Override
    public Integer decode(XdrReader r) {
      return r.u8();
    }

    @Override
    public void encode(XdrWriter w, Integer value) {
      w.u8(value);
    }
  };

  public static final XdrCodec<Short> I16 = new XdrCodec<>() {
    @Override
    public Short decode(XdrReader r) {
      return r.i16();
    }

    @Override
    public void encode(XdrWriter w, Short value) {
      w.i16(value);
    }
  };

  public static final XdrCodec<Integer> U16 = new XdrCodec<>() {
    @Override
    public Integer decode(XdrReader r) {
      return r.u16();
    }

    @Override
    public void encode(XdrWriter w, Integer value) {
      w.u16(value);
    }
  };

  public static final XdrCodec<Integer> I32 = new XdrCodec<>() {
    @Override
    public Integer decode(XdrReader r) {
      return r.i32();
    }

    @Override
    public void encode(XdrWriter w, Integer value) {
      w.i32(value);
    }
  };

  public static final XdrCodec<Long> U32 = new XdrCodec<>() {
    @Override
    public Long decode(XdrReader r) {
      return r.u32();
    }

    @Override
    public void encode(XdrWriter w, Long value) {
      w.u32(value);
    }
  };

  public static final XdrCodec<Long> I64 = new XdrCodec<>() {
    @Override
    public Long decode(XdrReader r) {
      return r.i64();
    }

    @Override
    public void encode(XdrWriter w, Long value) {
      w.i64(value);
    }
  };

  public static final XdrCodec<Long> U64 = new XdrCodec<>() {
    @Override
    public Long decode(XdrReader r) {
      return r.u64();
    }

    @Override
    public void encode(XdrWriter w, Long value) {
      w.u64(value);
    }
  };

  public static final XdrCodec<Float> F32 = new XdrCodec<>() {
    @Override
    public Float decode(XdrReader r) {
      return r.f32();
    }

    @Override
    public void encode(XdrWriter w, Float value) {
      w.f32(value);
    }
  };

  public static final XdrCodec<Double> F64 = new XdrCodec<>() {
    @Override
    public Double decode(XdrReader r) {
      return r.f64();
    }

    @Override
    public void encode(XdrWriter w, Double value) {
      w.f64(value);
    }
  };

  public static final XdrCodec<Boolean> BOOL = new XdrCodec<>() {
    @Override
    public Boolean decode(XdrReader r) {
      return r.bool();
    }

    @Override
    public void encode(XdrWriter w, Boolean value) {
      w.bool(value);
    }
  };

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
