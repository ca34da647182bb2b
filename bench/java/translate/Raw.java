package translate;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Written by hand for each shape: what a program would do that knows the shape. */
final class Raw<P> extends Rival<P> {
  private static final int ROOM = 1 << 23;

  private final ByteBuffer buffer = ByteBuffer.allocate(ROOM).order(ByteOrder.LITTLE_ENDIAN);
  private final boolean isInPlace;

  Raw(Shape<P, ?> shape, boolean isInPlace) {
    super(shape);
    this.isInPlace = isInPlace;
  }

  @Override
  public int out() {
    buffer.clear();
    shape.put(data, buffer);
    return buffer.position();
  }

  @Override
  public void in() {
    buffer.flip();
    arrived = shape.get(buffer, isInPlace ? arrived : null);
  }
}
