package translate;

/** One copy releases its changes, the other one takes them in. */
final class InterWeave<S> implements Carrier {
  private final Shape<?, S> shape;
  private final Section writer = new Section();
  private final Section reader = new Section();
  private final S data;
  private final S arrived;
  private byte[] diff;
  private byte[] received;

  InterWeave(Shape<?, S> shape, Values first) {
    this.shape = shape;
    writer.begin();
    data = shape.shared(writer.map);
    shape.fillShared(data, first);
    reader.update(writer.release().clone());
    arrived = shape.find(reader);
  }

  void begin() {
    writer.begin();
  }

  S data() {
    return data;
  }

  @Override
  public void change(Values values) {
    begin();
    shape.fillShared(data, values);
  }

  @Override
  public int out() {
    diff = writer.release();
    return diff.length;
  }

  /** What a connection does: the reader gets an array of its own. */
  @Override
  public void arrive() {
    received = diff.clone();
  }

  @Override
  public void in() {
    reader.update(received);
  }

  @Override
  public long digest() {
    return shape.digestShared(arrived);
  }
}
