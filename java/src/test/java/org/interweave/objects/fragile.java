package org.interweave.objects;

import org.interweave.IW_Field;
import org.interweave.IW_Memory;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Space;
import org.interweave.IW_Types;

/** Fails as a machine without memory would, once, where a test says so. */
public class fragile extends IW_Object {
  private static final IW_Types TYPES =
      new IW_Types().structure("fragile", fragile.class, "value int next *fragile").register();

  static {
    TYPES.load();
  }

  /** How many transfers until one fails; 0: none does. */
  public static int failsIn;

  @IW_Field(order = 0, at = 0) public int value;
  @IW_Field(order = 1, at = 8) public fragile next;

  /** A new block of the segment. */
  public fragile(IW_Space space, String name) {
    super(space, name);
  }

  /** For the library: the object of a block that is there. */
  public fragile(IW_Place place) {
    super(place);
  }

  @Override
  public void iw_transfer(IW_Memory memory) {
    if (failsIn > 0 && --failsIn == 0) throw new OutOfMemoryError("the test wants it so");
    value = memory.i32(0, value);
    next = memory.reference(8, next, fragile.class);
  }
}
