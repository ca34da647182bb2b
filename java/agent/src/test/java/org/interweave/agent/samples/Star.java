package org.interweave.agent.samples;

import org.interweave.IW_Field;

/** A program's own class over a generated one, with orders that need each form of a constant. */
public class Star extends Body {
  @IW_Field(order = 127, at = 56) public int color;
  @IW_Field(order = 300, at = 60) public long age;
  @IW_Field(order = 40_000, at = 68) public float size;
  public String note;

  public Star() {
    note = "made";
    color = 3;
  }

  public Star(boolean isOld) {
    super();
    age = isOld ? 9 : 1;
  }

  @Override
  protected int iw_fields() {
    return 40_001;
  }

  public void shine() {
    color = 7;
    i = 1;
  }
}
