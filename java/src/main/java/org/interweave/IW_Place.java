package org.interweave;

/** For the library: where an object's values lie. */
public interface IW_Place {
  /** Throws NO_BLOCK if the block was freed. */
  void checkLive();

  /** Throws NO_LOCK without a writer lock, too. */
  void checkWritable();

  /** The first part of an object is marked since the last release. */
  void modified(IW_Object object);

  /** The number of the object's block. */
  long serial();

  /** Which unit of the block the object begins at; -1: it lies in an arm of a union. */
  long unit();

  /** The machine-independent pointer to the object. */
  String mip();
}
