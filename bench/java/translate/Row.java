package translate;

import org.interweave.objects.ObjectMap;
import translate.data.row;

/** Doubles in a sequence, which releases compare. */
final class Row extends Doubles<row> {
  Row(String name, int length) {
    super(name, length);
  }

  @Override
  row shared(ObjectMap map) {
    row data = new row(map, "data");
    data.set_values(new double[length]);
    return data;
  }

  @Override
  void fillShared(row data, Values values) {
    values.reals(data.values);
  }

  @Override
  long digestShared(row data) {
    return digest(data.values);
  }

  @Override
  row find(Section reader) {
    return Found.block(reader, row.class);
  }
}
