package translate;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.MessageLite;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.interweave.objects.ObjectMap;
import translate.Messages.Reals;
import translate.data.row;

/** An array of doubles. */
final class Row extends Shape<double[], row> {
  private final int length;

  Row(String name, int length) {
    super(name);
    this.length = length;
  }

  @Override
  double[] plain() {
    return new double[length];
  }

  @Override
  void fill(double[] data, Values values) {
    values.reals(data);
  }

  @Override
  long digest(double[] data) {
    return Arrays.hashCode(data);
  }

  @Override
  void put(double[] data, ByteBuffer to) {
    to.asDoubleBuffer().put(data);
    to.position(to.position() + Double.BYTES * length);
  }

  @Override
  double[] get(ByteBuffer from, double[] into) {
    double[] data = into == null ? new double[length] : into;
    from.asDoubleBuffer().get(data);
    return data;
  }

  @Override
  MessageLite message(double[] data) {
    Reals.Builder built = Reals.newBuilder();
    for (double each : data) built.addValues(each);
    return built.build();
  }

  @Override
  double[] read(CodedInputStream from) throws IOException {
    Reals message = Reals.parseFrom(from);
    double[] data = new double[length];
    for (int i = 0; i < length; ++i) data[i] = message.getValues(i);
    return data;
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
