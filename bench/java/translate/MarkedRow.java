package translate;

import org.interweave.objects.ObjectMap;
import translate.data.marked_row;

/** Doubles in a row of which releases look at the parts that were marked. */
final class MarkedRow extends Doubles<marked_row> {
  MarkedRow() {
    super("marked_row", marked_row.length);
  }

  @Override
  marked_row shared(ObjectMap map) {
    marked_row data = new marked_row(map, "data");
    data.iw_setAlone();
    return data;
  }

  @Override
  void fillShared(marked_row data, Values values) {
    double[] filled = new double[length];
    values.reals(filled);
    data.set_array(filled);
  }

  @Override
  long digestShared(marked_row data) {
    return digest(data.array);
  }

  @Override
  marked_row find(Section reader) {
    return Found.block(reader, marked_row.class);
  }
}
