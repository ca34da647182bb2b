package translate;

/** A carrier of plain objects. */
abstract class Rival<P> implements Carrier {
  final Shape<P, ?> shape;
  final P data;
  P arrived;

  Rival(Shape<P, ?> shape) {
    this.shape = shape;
    data = shape.plain();
  }

  @Override
  public void change(Values values) {
    shape.fill(data, values);
  }

  @Override
  public long digest() {
    return shape.digest(arrived);
  }
}
