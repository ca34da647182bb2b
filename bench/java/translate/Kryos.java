package translate;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;

/** Kryo, with the classes registered; it follows references where the shape has some. */
final class Kryos<P> extends Rival<P> {
  private final Kryo kryo = new Kryo();
  private final Output output = new Output(1 << 23, -1);
  private final Input input = new Input();

  Kryos(Shape<P, ?> shape) {
    super(shape);
    kryo.setReferences(shape.isGraph());
    for (Class<?> each : Plain.CLASSES) kryo.register(each);
  }

  @Override
  public int out() {
    output.reset();
    kryo.writeObject(output, data);
    return output.position();
  }

  @Override
  @SuppressWarnings("unchecked")
  public void in() {
    input.setBuffer(output.getBuffer(), 0, output.position());
    arrived = (P) kryo.readObject(input, data.getClass());
  }
}
