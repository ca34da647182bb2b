package translate;

import org.apache.fory.Fory;
import org.apache.fory.logging.LoggerFactory;
import org.apache.fory.memory.MemoryBuffer;

/** Apache Fory, with the classes registered; it follows references where the shape has some. */
final class Forys<P> extends Rival<P> {
  private final Fory fory;
  private final MemoryBuffer buffer = MemoryBuffer.newHeapBuffer(1 << 23);

  Forys(Shape<P, ?> shape) {
    super(shape);
    LoggerFactory.disableLogging();  // it writes to the standard output
    fory =
        Fory.builder()
            .withXlang(false)
            .withRefTracking(shape.isGraph())
            .requireClassRegistration(true)
            .withMaxDepth(1 << 20)
            .build();
    for (Class<?> each : Plain.CLASSES) fory.register(each);
  }

  @Override
  public int out() {
    buffer.writerIndex(0);
    fory.serialize(buffer, data);
    return buffer.writerIndex();
  }

  @Override
  @SuppressWarnings("unchecked")
  public void in() {
    buffer.readerIndex(0);
    arrived = (P) fory.deserialize(buffer);
  }
}
