package org.interweave;

/** What the classes of named arrays are derived from; they have `length` and `array`. */
public abstract class IW_Array extends IW_Object {
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
}
