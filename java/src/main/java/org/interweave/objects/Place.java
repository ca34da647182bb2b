package org.interweave.objects;

import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;

/** An object's first byte in its block. */
interface Place extends IW_Place {
  MappedBlock mapped();

  int at();

  /** A place behind the block's first byte, or of a part that begins there. */
  final class Inner implements Place {
    private final MappedBlock mapped;
    private final int at;

    Inner(MappedBlock mapped, int at) {
      this.mapped = mapped;
      this.at = at;
    }

    @Override
    public MappedBlock mapped() {
      return mapped;
    }

    @Override
    public int at() {
      return at;
    }
  }

  @Override
  default void checkLive() {
    MappedBlock mapped = mapped();
    mapped.map.checkOpen();
    if (mapped.isLive()) return;
    throw InterweaveException.of(Error.NO_BLOCK, "block " + mapped.serial + " was freed");
  }

  @Override
  default void checkWritable() {
    checkLive();
    mapped().map.writing();
  }

  @Override
  default void modified(IW_Object object) {
    mapped().map.marked(object);
  }

  @Override
  default long serial() {
    return mapped().serial;
  }

  @Override
  default long unit() {
    return mapped().unitAt(at());
  }

  @Override
  default String mip() {
    checkLive();
    long unit = unit();
    if (unit < 0) {
      throw InterweaveException.of(
          Error.BAD_POINTER, "an object in an arm of a union has no address");
    }
    return mapped().map.mip(mapped(), unit);
  }
}
