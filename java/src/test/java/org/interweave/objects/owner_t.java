package org.interweave.objects;

import org.interweave.IW_Field;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Space;

/** A sequence of numbers. */
public class owner_t extends IW_Object {
  @IW_Field(order = 0) public int[] owned;

  /** A new block. */
  public owner_t(IW_Space space, String name) {
    super(space, name);
  }

  /** For the library. */
  public owner_t(IW_Place place) {
    super(place);
  }
}
