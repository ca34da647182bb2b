package org.interweave;

/** Where a pointer leads that may lead inside of a block: the block and the unit. */
public interface IW_Ref {
  /**
   * The segment's URL.
   *
   * @return "" for the segment that holds the pointer
   */
  String segment();

  /**
   * The block's number.
   *
   * @return from 1 on
   */
  long block();

  /**
   * Which unit of the block.
   *
   * @return from 0 on
   */
  long unit();

  /**
   * The machine-independent pointer.
   *
   * @return url#block or url#block#unit
   */
  String mip();

  /**
   * The object of a class that begins there.
   *
   * @param <T> the class
   * @param type the class
   * @return null if no such object begins there
   */
  <T extends IW_Object> T object(Class<T> type);
}
