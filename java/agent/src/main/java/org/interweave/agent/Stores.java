package org.interweave.agent;

/** Which stores of a class are marked. */
interface Stores {
  /** Whether any are in a method, which is given by name and descriptor. */
  boolean areIn(String method);

  /** The order of the field that a store means; NOT_SHARED: the store is not marked. */
  int order(String owner, String field);
}
