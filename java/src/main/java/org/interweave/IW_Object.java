package org.interweave;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.interweave.Interface.Error;

/**
 * What generated classes are derived from: an object whose fields are the values of a block, or of
 * a part of one. Names of this class begin with `iw_`; a field of that name gets an underscore.
 *
 * <p>Each object has a modification word of 32 parts. A setter, or what the agent puts before a
 * store into a field, calls `iw_modified` with the field's order. Field number `order` belongs to
 * part `order >>> shift`. The shift is the smallest that gives all fields a part.
 */
public abstract class IW_Object implements IWObject {
  private static final int IW_PARTS = 32;
  private static final int IW_ALL = -1;
  private static final VarHandle IW_WORD = iw_wordOf(MethodHandles.lookup());
  private static volatile boolean iw_marksAll = Boolean.getBoolean("interweave.marks");
  private static volatile boolean iw_missesSome;

  private IW_Place iw_place;
  private int iw_word;
  private final byte iw_shift;

  private static VarHandle iw_wordOf(MethodHandles.Lookup lookup) {
    try {
      return lookup.findVarHandle(IW_Object.class, "iw_word", int.class);
    } catch (ReflectiveOperationException wrong) {
      throw new ExceptionInInitializerError(wrong);
    }
  }

  /**
   * A new block.
   *
   * @param space the segment, of which the caller holds the writer lock
   * @param name of the block; null for none
   */
  protected IW_Object(IW_Space space, String name) {
    iw_shift = iw_shiftOf(iw_fields());
    iw_place = space.allocate(this, name);
  }

  /**
   * The object of values that are there.
   *
   * @param place where
   */
  protected IW_Object(IW_Place place) {
    iw_shift = iw_shiftOf(iw_fields());
    iw_place = place;
  }

  /**
   * Carries all fields between the object and the block's memory; which way is the memory's
   * business. Generated classes have their own; this one carries by reflection what has an {@link
   * IW_Field}, in classes that were written by hand.
   *
   * @param memory the block's
   */
  public void iw_transfer(IW_Memory memory) {
    HandWritten.of(getClass()).carry(this, memory);
  }

  /**
   * Says which fields `iw_load` and `iw_store` carry by themselves; for the library.
   *
   * @return 0: none; 1: the numbers; 2: all, because all are numbers, so `memory` may be null
   */
  public int iw_direct() {
    return 0;
  }

  /**
   * Gives all fields the values that lie in an array. Generated classes have their own.
   *
   * @param memory carries the fields that are not numbers; null if all fields are numbers
   * @param bytes of the block
   * @param at where the object begins
   */
  public void iw_load(IW_Memory memory, byte[] bytes, int at) {
    iw_transfer(memory);
  }

  /**
   * Stores all fields into an array. Generated classes override this, and do not compare numbers.
   *
   * @param memory carries the fields that are not numbers; null if all fields are numbers
   * @param bytes of the block
   * @param at where the object begins
   */
  public void iw_store(IW_Memory memory, byte[] bytes, int at) {
    iw_transfer(memory);
  }

  /** What a getter does first. */
  protected final void iw_read() {
    iw_place.checkLive();
  }

  /**
   * How many shared fields the class has; a constant, because the constructor asks for it.
   *
   * @return one more than the largest order of an {@link IW_Field}
   */
  protected int iw_fields() {
    return IW_PARTS;
  }

  private static byte iw_shiftOf(int fields) {
    int shift = 0;
    while ((fields - 1) >>> shift >= IW_PARTS) ++shift;
    return (byte) shift;
  }

  /**
   * Marks a field as modified. Setters call it before their store, and so does rewritten code. The
   * first mark of an object in a section checks that the store is allowed. Threads that share the
   * writer lock may call it at the same time.
   *
   * @param order of the field, as its {@link IW_Field} says
   */
  public final void iw_modified(int order) {
    int part = 1 << (order >>> iw_shift);
    if ((iw_word & part) == 0) iw_mark(part);
  }

  /** Marks all parts, before a store that replaces everything. */
  protected final void iw_modifiedAll() {
    if (iw_word != IW_ALL) iw_mark(IW_ALL);
  }

  private void iw_mark(int part) {
    iw_place.checkWritable();
    int before = (int) IW_WORD.getAndBitwiseOr(this, part);
    if (before == 0) iw_place.modified(this);
  }

  /**
   * The modification word.
   *
   * @return a bit for each part that was stored to since the last release; for the library
   */
  public final int iw_word() {
    return iw_word;
  }

  /**
   * Which part a field belongs to: part `order >>> shift`.
   *
   * @return the shift; for the library
   */
  public final int iw_shift() {
    return iw_shift;
  }

  /** For the library: no part is modified any more. */
  public final void iw_unmark() {
    iw_word = 0;
  }

  /**
   * For the agent: every store into a shared field by a class of this program calls `iw_modified`
   * from now on. A release then looks at marked objects, and at those that have arrays.
   */
  public static void iw_storesAreMarked() {
    iw_marksAll = true;
  }

  /**
   * For the agent: a class could not be rewritten. From now on, and for good, a release compares
   * all objects.
   */
  public static void iw_storesAreMissed() {
    iw_missesSome = true;
  }

  /**
   * Whether a release may pass over objects without a mark.
   *
   * @return for the library
   */
  public static boolean iw_isTracked() {
    return iw_marksAll && !iw_missesSome;
  }

  /**
   * Where the object's values lie.
   *
   * @return for the library
   */
  public final IW_Place iw_place() {
    return iw_place;
  }

  /**
   * The machine-independent pointer to the object: the segment's URL, the block and the unit.
   *
   * @return url#block or url#block#unit
   */
  public final String iw_mip() {
    return iw_place.mip();
  }

  // ---- unsigned numbers: fields have the bits, getters and setters the value ----

  /**
   * The value of an unsigned byte.
   *
   * @param bits the field
   * @return from 0 to 255
   */
  protected static int iw_u8(byte bits) {
    return bits & 0xff;
  }

  /**
   * The bits of an unsigned byte.
   *
   * @param value from 0 to 255
   * @return the field
   */
  protected static byte iw_bits8(int value) {
    iw_check(value, 0xff);
    return (byte) value;
  }

  /**
   * The value of an unsigned short.
   *
   * @param bits the field
   * @return from 0 to 65535
   */
  protected static int iw_u16(short bits) {
    return bits & 0xffff;
  }

  /**
   * The bits of an unsigned short.
   *
   * @param value from 0 to 65535
   * @return the field
   */
  protected static short iw_bits16(int value) {
    iw_check(value, 0xffff);
    return (short) value;
  }

  /**
   * The value of an unsigned int.
   *
   * @param bits the field
   * @return from 0 to 2^32-1
   */
  protected static long iw_u32(int bits) {
    return bits & 0xffffffffL;
  }

  /**
   * The bits of an unsigned int.
   *
   * @param value from 0 to 2^32-1
   * @return the field
   */
  protected static int iw_bits32(long value) {
    iw_check(value, 0xffffffffL);
    return (int) value;
  }

  private static void iw_check(long value, long most) {
    if (value >= 0 && value <= most) return;
    throw InterweaveException.of(
        Error.BAD_VALUE, value + " is stored into an unsigned number of at most " + most);
  }

  // ---- numbers in arrays of bytes, for iw_load and iw_store ----

  /**
   * Reads a number.
   *
   * @param bytes where it lies
   * @param at its first byte
   * @return the number
   */
  protected static short iw_i16(byte[] bytes, int at) {
    return (short) IW_Bytes.SHORT.get(bytes, at);
  }

  /**
   * Stores a number.
   *
   * @param bytes where it is to lie
   * @param at its first byte
   * @param value the number
   */
  protected static void iw_i16(byte[] bytes, int at, short value) {
    IW_Bytes.SHORT.set(bytes, at, value);
  }

  /**
   * Reads a number.
   *
   * @param bytes where it lies
   * @param at its first byte
   * @return the number
   */
  protected static int iw_i32(byte[] bytes, int at) {
    return (int) IW_Bytes.INT.get(bytes, at);
  }

  /**
   * Stores a number.
   *
   * @param bytes where it is to lie
   * @param at its first byte
   * @param value the number
   */
  protected static void iw_i32(byte[] bytes, int at, int value) {
    IW_Bytes.INT.set(bytes, at, value);
  }

  /**
   * Reads a number.
   *
   * @param bytes where it lies
   * @param at its first byte
   * @return the number
   */
  protected static long iw_i64(byte[] bytes, int at) {
    return (long) IW_Bytes.LONG.get(bytes, at);
  }

  /**
   * Stores a number.
   *
   * @param bytes where it is to lie
   * @param at its first byte
   * @param value the number
   */
  protected static void iw_i64(byte[] bytes, int at, long value) {
    IW_Bytes.LONG.set(bytes, at, value);
  }

  /**
   * Reads a number.
   *
   * @param bytes where it lies
   * @param at its first byte
   * @return the number
   */
  protected static float iw_f32(byte[] bytes, int at) {
    return Float.intBitsToFloat(iw_i32(bytes, at));
  }

  /**
   * Stores a number.
   *
   * @param bytes where it is to lie
   * @param at its first byte
   * @param value the number
   */
  protected static void iw_f32(byte[] bytes, int at, float value) {
    iw_i32(bytes, at, Float.floatToRawIntBits(value));
  }

  /**
   * Reads a number.
   *
   * @param bytes where it lies
   * @param at its first byte
   * @return the number
   */
  protected static double iw_f64(byte[] bytes, int at) {
    return Double.longBitsToDouble(iw_i64(bytes, at));
  }

  /**
   * Stores a number.
   *
   * @param bytes where it is to lie
   * @param at its first byte
   * @param value the number
   */
  protected static void iw_f64(byte[] bytes, int at, double value) {
    iw_i64(bytes, at, Double.doubleToRawLongBits(value));
  }

  /**
   * Reads a number.
   *
   * @param bytes where it lies
   * @param at its first byte
   * @return the number
   */
  protected static boolean iw_bool(byte[] bytes, int at) {
    return iw_i32(bytes, at) != 0;
  }

  /**
   * Stores a number.
   *
   * @param bytes where it is to lie
   * @param at its first byte
   * @param value the number
   */
  protected static void iw_bool(byte[] bytes, int at, boolean value) {
    iw_i32(bytes, at, value ? 1 : 0);
  }
}
