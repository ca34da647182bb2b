package org.interweave.objects;

/** The other segments that pointers lead to. */
public interface Neighbours {
  /** The objects of the segment with that URL; null: it is not open. */
  ObjectMap at(String url);
}
