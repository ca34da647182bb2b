package org.interweave;

/**
 * For generated classes: carries values between fields and a block's memory. Each method takes the
 * field's value and returns what the field is to hold. `at` counts bytes from the object's first.
 */
public abstract class IW_Memory {
  /** For the library. */
  protected IW_Memory() {}

  /** A number of `width` bytes. */
  protected abstract long bits(int at, int width, long value);

  /** An array of numbers in its place; `elements` is their class. */
  protected abstract Object anyRow(int at, int count, Object value, Class<?> elements);

  /** An array of numbers in the block that the field owns. */
  protected abstract Object anyOwned(int at, Object value, Class<?> elements);

  /** Begins a union with that discriminant. */
  public abstract void select(int discriminant);

  /** A string in its place. */
  public abstract String string(int at, int bound, String value);

  /** A string in the block that the field owns. */
  public abstract String text(int at, String value);

  /** A pointer to an object. */
  public abstract <T extends IW_Object> T reference(int at, T value, Class<T> type);

  /** A pointer to anything. */
  public abstract IW_Ref pointer(int at, IW_Ref value);

  /** A pointer to an owned block that cannot be assigned. */
  public abstract IW_Ref ownedPointer(int at, IW_Ref value);

  /** A union within the object. */
  public abstract <T extends IW_Object> T embedded(int at, T value, Class<T> type);

  /** An array of structs. */
  public abstract <T extends IW_Object> IW_Elements<T> elements(
      int at, int count, IW_Elements<T> value, Class<T> type);

  /** A sequence of structs. */
  public abstract <T extends IW_Object> IW_Elements<T> ownedElements(
      int at, IW_Elements<T> value, Class<T> type);

  /** An array of pointers to objects. */
  public abstract <T extends IW_Object> T[] references(
      int at, int count, T[] value, Class<T> type);

  /** A sequence of pointers to objects. */
  public abstract <T extends IW_Object> T[] ownedReferences(int at, T[] value, Class<T> type);

  /** An array of pointers to anything. */
  public abstract IW_Ref[] pointers(int at, int count, IW_Ref[] value);

  /** An array of owned blocks. */
  public abstract IW_Ref[] ownedPointers(int at, int count, IW_Ref[] value);

  /** An array of strings. */
  public abstract String[] strings(int at, int count, int bound, String[] value);

  /** An array of strings in owned blocks. */
  public abstract String[] texts(int at, int count, String[] value);

  public final byte i8(int at, byte value) {
    return (byte) bits(at, 1, value);
  }

  public final short i16(int at, short value) {
    return (short) bits(at, 2, value);
  }

  public final int i32(int at, int value) {
    return (int) bits(at, 4, value);
  }

  /** An enum's. */
  public final int member(int at, int value) {
    return (int) bits(at, 4, value);
  }

  public final long i64(int at, long value) {
    return bits(at, 8, value);
  }

  public final float f32(int at, float value) {
    return Float.intBitsToFloat((int) bits(at, 4, Float.floatToRawIntBits(value)));
  }

  public final double f64(int at, double value) {
    return Double.longBitsToDouble(bits(at, 8, Double.doubleToRawLongBits(value)));
  }

  public final boolean bool(int at, boolean value) {
    return bits(at, 4, value ? 1 : 0) != 0;
  }

  public final byte[] row(int at, int count, byte[] value) {
    return (byte[]) anyRow(at, count, value, byte.class);
  }

  public final byte[] owned(int at, byte[] value) {
    return (byte[]) anyOwned(at, value, byte.class);
  }

  public final short[] row(int at, int count, short[] value) {
    return (short[]) anyRow(at, count, value, short.class);
  }

  public final short[] owned(int at, short[] value) {
    return (short[]) anyOwned(at, value, short.class);
  }

  public final int[] row(int at, int count, int[] value) {
    return (int[]) anyRow(at, count, value, int.class);
  }

  public final int[] owned(int at, int[] value) {
    return (int[]) anyOwned(at, value, int.class);
  }

  public final long[] row(int at, int count, long[] value) {
    return (long[]) anyRow(at, count, value, long.class);
  }

  public final long[] owned(int at, long[] value) {
    return (long[]) anyOwned(at, value, long.class);
  }

  public final float[] row(int at, int count, float[] value) {
    return (float[]) anyRow(at, count, value, float.class);
  }

  public final float[] owned(int at, float[] value) {
    return (float[]) anyOwned(at, value, float.class);
  }

  public final double[] row(int at, int count, double[] value) {
    return (double[]) anyRow(at, count, value, double.class);
  }

  public final double[] owned(int at, double[] value) {
    return (double[]) anyOwned(at, value, double.class);
  }

  public final boolean[] row(int at, int count, boolean[] value) {
    return (boolean[]) anyRow(at, count, value, boolean.class);
  }

  public final boolean[] owned(int at, boolean[] value) {
    return (boolean[]) anyOwned(at, value, boolean.class);
  }
}
