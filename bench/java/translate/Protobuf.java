package translate;

import com.google.protobuf.CodedInputStream;

/** Protocol Buffers: plain objects become messages, and messages plain objects. */
final class Protobuf<P> extends Rival<P> {
  private byte[] bytes;

  Protobuf(Shape<P, ?> shape) {
    super(shape);
  }

  @Override
  public int out() {
    bytes = shape.message(data).toByteArray();
    return bytes.length;
  }

  @Override
  public void in() throws Exception {
    CodedInputStream stream = CodedInputStream.newInstance(bytes);
    stream.setRecursionLimit(Integer.MAX_VALUE);
    arrived = shape.read(stream);
  }
}
