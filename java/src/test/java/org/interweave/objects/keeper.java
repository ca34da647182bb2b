package org.interweave.objects;

import org.interweave.IW_Field;
import org.interweave.IW_Memory;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Space;
import org.interweave.IW_Types;

/** Has a pointer to, and a part of, classes whose objects can be made only when a test says so. */
public class keeper extends IW_Object {
  private static final IW_Types TYPES =
      new IW_Types()
          .structure("unmade", unmade.class, "value int")
          .union("part", part.class, "kind int", "number int 0")
          .structure(
              "keeper", keeper.class, "value int part part one *unmade two *unmade next *keeper")
          .register();

  static {
    TYPES.load();
  }

  /** Whether objects of blocks that are there can be made of the other classes. */
  public static boolean fails;
  /** How often one was to be made and could not. */
  public static int failures;

  @IW_Field(order = 0, at = 0) public int value;
  @IW_Field(order = 1, at = 4) public part part;
  @IW_Field(order = 2, at = 16) public unmade one;
  @IW_Field(order = 3, at = 32) public unmade two;
  @IW_Field(order = 4, at = 48) public keeper next;

  /** A new block of the segment. */
  public keeper(IW_Space space, String name) {
    super(space, name);
  }

  /** For the library: the object of a block that is there. */
  public keeper(IW_Place place) {
    super(place);
  }

  @Override
  public void iw_transfer(IW_Memory memory) {
    value = memory.i32(0, value);
    part = memory.embedded(4, part, part.class);
    one = memory.reference(16, one, unmade.class);
    two = memory.reference(32, two, unmade.class);
    next = memory.reference(48, next, keeper.class);
  }

  private static IW_Place checked(IW_Place place) {
    if (!fails) return place;
    ++failures;
    throw new IllegalStateException("the test wants it so");
  }

  /** A struct. */
  public static class unmade extends IW_Object {
    @IW_Field(order = 0, at = 0) public int value;

    /** A new block of the segment. */
    public unmade(IW_Space space, String name) {
      super(space, name);
    }

    /** For the library: the object of a block that is there. */
    public unmade(IW_Place place) {
      super(checked(place));
    }

    @Override
    public void iw_transfer(IW_Memory memory) {
      value = memory.i32(0, value);
    }
  }

  /** A union within a struct. */
  public static class part extends IW_Object {
    @IW_Field(order = 0, at = 0) public int kind;
    @IW_Field(order = 1, at = 4) public int number;

    /** For the library: the object of a block that is there. */
    public part(IW_Place place) {
      super(checked(place));
    }

    @Override
    public void iw_transfer(IW_Memory memory) {
      memory.select(kind);
      kind = memory.i32(0, kind);
      number = memory.i32(4, number);
    }
  }
}
