package translate;

/** All blocks are new to the writer's segment, and the reader has no copy yet. */
final class FirstTime<S> implements Carrier {
  private final Shape<?, S> shape;
  private Section writer;
  private byte[] diff;
  private S arrived;

  FirstTime(Shape<?, S> shape) {
    this.shape = shape;
  }

  @Override
  public void change(Values values) {
    writer = new Section();
    writer.begin();
    shape.fillShared(shape.shared(writer.map), values);
  }

  @Override
  public int out() {
    diff = writer.release();
    return diff.length;
  }

  @Override
  public void in() {
    Section reader = new Section();
    reader.update(diff);
    arrived = shape.find(reader);
  }

  @Override
  public long digest() {
    return shape.digestShared(arrived);
  }
}
