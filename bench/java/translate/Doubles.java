package translate;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.MessageLite;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import translate.Messages.Reals;

/** An array of doubles; how it is shared is up to the class. */
abstract class Doubles<S> extends Shape<double[], S> {
  final int length;

  Doubles(String name, int length) {
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
}
