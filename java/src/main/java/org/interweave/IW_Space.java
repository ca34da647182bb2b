package org.interweave;

/** Where blocks are made: a segment. */
public interface IW_Space {
  /**
   * For generated constructors: makes a block for a new object, under the writer lock.
   *
   * @param object the object, of a registered class
   * @param name of the block; null or "" for none
   * @return the object's place
   */
  IW_Place allocate(IW_Object object, String name);
}
