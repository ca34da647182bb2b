package org.interweave.agent;

/** A class stores into shared fields, and cannot be rewritten; the text says why. */
public final class Unrewritable extends Exception {
  private static final long serialVersionUID = 1;

  Unrewritable(String why) {
    super(why);
  }
}
