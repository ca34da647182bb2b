package org.interweave.objects;

import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;

/** An object's first byte in its block. */
abstract class Place implements IW_Place {
  abstract MappedBlock mapped();

  abstract int at();

  /** A place behind the block's first byte, or of a part that begins there. */
  static final class Inner extends Place {
    private final MappedBlock mapped;
    private final int at;

    Inner(MappedBlock mapped, int at) {
      this.mapped = mapped;
      this.at = at;
    }

    @Override
    MappedBlock mapped() {
      return mapped;
    }

    @Override
    int at() {
      return at;
    }
  }

  @Override
  public final void checkLive() {
    MappedBlock mapped = mapped();
    mapped.map.checkOpen();
    if (mapped.block.isLive()) return;
    throw InterweaveException.of(Error.NO_BLOCK, "block " + mapped.block.serial + " was freed");
  }

  @Override
  public final void checkWritable() {
    checkLive();
    mapped().map.writing();
  }

  @Override
  public final void modified(IW_Object object) {
    mapped().map.marked(object);
  }

  @Override
  public final long serial() {
    return mapped().block.serial;
  }

  @Override
  public final long unit() {
    return mapped().unitAt(at());
  }

  @Override
  public final String mip() {
    checkLive();
    long unit = unit();
    if (unit < 0) {
      throw InterweaveException.of(
          Error.BAD_POINTER, "an object in an arm of a union has no address");
    }
    return mapped().map.mip(mapped().block, unit);
  }
}
