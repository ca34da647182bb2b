package org.interweave;

/**
 * The base of the classes of named arrays, which have `length` and `array`. Classes of numbers also
 * have `get` and `set` of an element. `set` marks the part of the row that has the element.
 */
public abstract class IW_Array extends IW_Object {
  private boolean iw_isSetAlone;

  /**
   * A new block.
   *
   * @param space the segment, of which the caller holds the writer lock
   * @param name of the block; null for none
   */
  protected IW_Array(IW_Space space, String name) {
    super(space, name);
  }

  /**
   * The array of values that are there.
   *
   * @param place where
   */
  protected IW_Array(IW_Place place) {
    super(place);
  }

  /**
   * Promises that from now on the program stores into the row by `set` and `set_array` alone. A
   * release then compares only the parts that these have marked, instead of the whole row. It does
   * not find other stores.
   */
  public final void iw_setAlone() {
    iw_isSetAlone = true;
  }

  /**
   * Whether the program promised so.
   *
   * @return for the library
   */
  public final boolean iw_isSetAlone() {
    return iw_isSetAlone;
  }
}
