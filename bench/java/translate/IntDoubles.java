package translate;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.MessageLite;
import java.io.IOException;
import java.nio.ByteBuffer;
import translate.Messages.IntDoubleMessage;
import translate.Messages.IntDoublesMessage;
import translate.data.int_double;

/** Structs of an int and a double, which C pads to 16 bytes. */
final class IntDoubles extends Structs<IntDouble, int_double> {
  IntDoubles() {
    super("int_double", 1 << 16, int_double.class);
  }

  @Override
  IntDouble[] array() {
    return new IntDouble[count];
  }

  @Override
  IntDouble element() {
    return new IntDouble();
  }

  @Override
  void fillOne(IntDouble to, Values values) {
    to.i = values.integer();
    to.d = values.real();
  }

  @Override
  void fillOneShared(int_double to, Values values) {
    to.set_i(values.integer());
    to.set_d(values.real());
  }

  @Override
  long digestOne(IntDouble of) {
    return of.i * PRIME + Double.doubleToLongBits(of.d);
  }

  @Override
  long digestOneShared(int_double of) {
    return of.i * PRIME + Double.doubleToLongBits(of.d);
  }

  @Override
  void putOne(IntDouble from, ByteBuffer to) {
    to.putInt(from.i).putDouble(from.d);
  }

  @Override
  void getOne(ByteBuffer from, IntDouble to) {
    to.i = from.getInt();
    to.d = from.getDouble();
  }

  @Override
  MessageLite message(IntDouble[] data) {
    IntDoublesMessage.Builder built = IntDoublesMessage.newBuilder();
    for (IntDouble each : data) {
      built.addValues(IntDoubleMessage.newBuilder().setI(each.i).setD(each.d).build());
    }
    return built.build();
  }

  @Override
  IntDouble[] read(CodedInputStream from) throws IOException {
    IntDouble[] data = plain();
    int i = 0;
    for (IntDoubleMessage each : IntDoublesMessage.parseFrom(from).getValuesList()) {
      data[i].i = each.getI();
      data[i++].d = each.getD();
    }
    return data;
  }
}
