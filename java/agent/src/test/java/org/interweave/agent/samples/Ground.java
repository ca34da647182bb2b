package org.interweave.agent.samples;

import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Space;

/** A place for objects that allows everything, and keeps nothing. */
public final class Ground implements IW_Space, IW_Place {
  @Override
  public IW_Place allocate(IW_Object object, String name) {
    return this;
  }

  @Override
  public void checkLive() {}

  @Override
  public void checkWritable() {}

  @Override
  public void modified(IW_Object object) {}

  @Override
  public long serial() {
    return 1;
  }

  @Override
  public long unit() {
    return 0;
  }
}
