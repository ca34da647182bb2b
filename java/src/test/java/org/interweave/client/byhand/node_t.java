package org.interweave.client.byhand;

import org.interweave.IW_Field;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Space;

/** The struct of the C program's list.x. */
public class node_t extends IW_Object {
  @IW_Field(order = 0) public int key;
  @IW_Field(order = 1) public node_t next;

  /** A new block of the segment. */
  public node_t(IW_Space space, String name) {
    super(space, name);
  }

  /** For the library: the object of a block that is there. */
  public node_t(IW_Place place) {
    super(place);
  }
}
