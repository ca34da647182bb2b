package org.interweave;

import java.util.AbstractList;
import java.util.RandomAccess;

/**
 * The elements of an array or sequence of structs. An element is an object that is made when the
 * program first asks for it. The elements stay where they are; store into their fields.
 *
 * @param <T> the class of the elements
 */
public abstract class IW_Elements<T extends IW_Object> extends AbstractList<T>
    implements RandomAccess {
  /** For the library. */
  protected IW_Elements() {}

  /**
   * Gives a sequence so many elements in a new block, all zeros.
   *
   * @param count 0 or more
   */
  public abstract void resize(int count);
}
