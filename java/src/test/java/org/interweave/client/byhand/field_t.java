package org.interweave.client.byhand;

import org.interweave.IW_Field;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Space;

/** A long row of numbers between others. */
public class field_t extends IW_Object {
  @IW_Field(order = 0) public int before;
  @IW_Field(order = 1, length = 1 << 20) public double[] row;
  @IW_Field(order = 2) public int[] owned;
  @IW_Field(order = 3) public int after;

  /** A new block of the segment. */
  public field_t(IW_Space space, String name) {
    super(space, name);
  }

  /** For the library: the object of a block that is there. */
  public field_t(IW_Place place) {
    super(place);
  }
}
