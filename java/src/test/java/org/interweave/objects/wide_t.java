package org.interweave.objects;

import org.interweave.IW_Field;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Space;

/** A row that is all of its block. */
public class wide_t extends IW_Object {
  public static final int LENGTH = 1 << 13;

  @IW_Field(order = 0, length = LENGTH) public double[] row;

  /** A new block. */
  public wide_t(IW_Space space, String name) {
    super(space, name);
  }

  /** For the library. */
  public wide_t(IW_Place place) {
    super(place);
  }
}
