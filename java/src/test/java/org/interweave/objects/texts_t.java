package org.interweave.objects;

import org.interweave.IW_Field;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Space;

/** Strings that are all of their block. */
public class texts_t extends IW_Object {
  public static final int LENGTH = 3500;
  public static final int BOUND = 20;

  @IW_Field(order = 0, length = LENGTH, bound = BOUND) public String[] row;

  /** A new block. */
  public texts_t(IW_Space space, String name) {
    super(space, name);
  }

  /** For the library. */
  public texts_t(IW_Place place) {
    super(place);
  }
}
