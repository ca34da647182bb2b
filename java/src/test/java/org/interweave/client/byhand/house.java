package org.interweave.client.byhand;

import org.interweave.IW_Field;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Space;

/** Is registered with the class whose pointer leads to it. */
public class house extends IW_Object {
  @IW_Field(order = 0) public int number;

  /** A new block of the segment. */
  public house(IW_Space space, String name) {
    super(space, name);
  }

  /** For the library: the object of a block that is there. */
  public house(IW_Place place) {
    super(place);
  }
}
