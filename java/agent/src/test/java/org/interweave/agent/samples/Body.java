package org.interweave.agent.samples;

import org.interweave.IW_Field;
import org.interweave.IW_Memory;
import org.interweave.IW_Object;

/** A class as the compiler generates them, with a field of each kind, and two that are plain. */
public class Body extends IW_Object {
  public static int count;

  @IW_Field(order = 0, at = 0) public int i;
  @IW_Field(order = 1, at = 8) public long l;
  @IW_Field(order = 2, at = 16) public double d;
  @IW_Field(order = 3, at = 24) public float f;
  @IW_Field(order = 4, at = 28) public byte b;
  @IW_Field(order = 5, at = 30) public short s;
  @IW_Field(order = 6, at = 32) public char c;
  @IW_Field(order = 7, at = 34) public boolean z;
  @IW_Field(order = 8, at = 40) public Body next;
  @IW_Field(order = 9, at = 48) public double[] row;
  public int plain;

  public Body() {
    super(new Ground(), null);
  }

  @Override
  protected int iw_fields() {
    return 10;
  }

  public void set_i(int value) {
    iw_modified(0);
    i = value;
  }

  @Override
  public void iw_transfer(IW_Memory memory) {
    i = memory.i32(0, i);
    next = memory.reference(40, next, Body.class);
  }
}
