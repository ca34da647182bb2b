package org.interweave;

import org.interweave.Interface.Error;

/**
 * What generated classes are derived from: an object whose fields are the values of a block, or of
 * a part of one. Names of this class begin with `iw_`; a field of that name gets an underscore.
 */
public abstract class IW_Object {
  private IW_Place iw_place;
  private boolean iw_marked;

  /**
   * A new block.
   *
   * @param space the segment, of which the caller holds the writer lock
   * @param name of the block; null for none
   */
  protected IW_Object(IW_Space space, String name) {
    iw_place = space.allocate(this, name);
  }

  /**
   * The object of values that are there.
   *
   * @param place where
   */
  protected IW_Object(IW_Place place) {
    iw_place = place;
  }

  /**
   * Carries all fields between the object and the block's memory; which way is the memory's
   * business.
   *
   * @param memory the block's
   */
  public abstract void iw_transfer(IW_Memory memory);

  /** What a getter does first. */
  protected final void iw_read() {
    iw_place.checkLive();
  }

  /** What a setter does first: a release need not look for the store. */
  protected final void iw_write() {
    iw_place.checkWritable();
    iw_marked = true;
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
   * Whether a setter was called since the last flush.
   *
   * @return for the library
   */
  public final boolean iw_isMarked() {
    return iw_marked;
  }

  /** For the library, after a flush. */
  public final void iw_unmark() {
    iw_marked = false;
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
}
