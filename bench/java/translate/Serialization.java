package translate;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;

/** The object serialization of the JDK. */
final class Serialization<P> extends Rival<P> {
  private final ByteArrayOutputStream buffer = new ByteArrayOutputStream(1 << 23);
  private byte[] bytes;

  Serialization(Shape<P, ?> shape) {
    super(shape);
  }

  @Override
  public int out() throws Exception {
    buffer.reset();
    try (ObjectOutputStream stream = new ObjectOutputStream(buffer)) {
      stream.writeObject(data);
    }
    bytes = buffer.toByteArray();
    return bytes.length;
  }

  @Override
  @SuppressWarnings("unchecked")
  public void in() throws Exception {
    try (ObjectInputStream stream = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
      arrived = (P) stream.readObject();
    }
  }
}
