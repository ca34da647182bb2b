package org.interweave.client.byhand;

import org.interweave.IW_Field;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Ref;
import org.interweave.IW_Space;
import org.interweave.objects.shapes.point;

/** As a program writes a shared class without the compiler: a field of each kind. */
public class person extends IW_Object {
  @IW_Field(order = 0) public byte small;
  @IW_Field(order = 1) public short number;
  @IW_Field(order = 2) public int age;
  @IW_Field(order = 3) public long born;
  @IW_Field(order = 4) public float height;
  @IW_Field(order = 5) public double weight;
  @IW_Field(order = 6) public boolean isMarried;
  @IW_Field(order = 7, bound = 11) public String name;
  @IW_Field(order = 8) public String story;
  @IW_Field(order = 9, length = 3) public double[] place;
  @IW_Field(order = 10, bound = 4) public int[] marks;
  @IW_Field(order = 11, length = 2, bound = 5) public String[] nicknames;
  @IW_Field(order = 12, length = 2) public String[] letters;
  @IW_Field(order = 13) public person spouse;
  @IW_Field(order = 14, length = 2) public person[] parents;
  @IW_Field(order = 15) public person[] children;
  @IW_Field(order = 16) public point home;
  @IW_Field(order = 17) public IW_Ref anything;
  @IW_Field(order = 18) public house house;

  /** Not shared. */
  public Object note;

  /** A new block of the segment. */
  public person(IW_Space space, String name) {
    super(space, name);
  }

  /** For the library: the object of a block that is there. */
  public person(IW_Place place) {
    super(place);
  }
}
