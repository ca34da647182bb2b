package org.interweave.objects;

import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;

/** An object's first byte in its block. */
record Place(MappedBlock mapped, int at) implements IW_Place {
  @Override
  public void checkLive() {
    if (mapped.block.isLive()) return;
    throw InterweaveException.of(Error.NO_BLOCK, "block " + mapped.block.serial + " was freed");
  }

  @Override
  public void checkWritable() {
    checkLive();
    mapped.map.writing();
  }

  @Override
  public void modified(IW_Object object) {
    mapped.map.marked(object);
  }

  @Override
  public long serial() {
    return mapped.block.serial;
  }

  @Override
  public long unit() {
    return mapped.unitAt(at);
  }
}
