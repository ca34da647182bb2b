package org.interweave.objects;

/** A flush needs more serials than the grant has. It may be repeated with further ones. */
public final class NoSerials extends RuntimeException {
  private static final long serialVersionUID = 1;

  NoSerials() {
    super("the serials of blocks are used up", null, false, false);
  }
}
