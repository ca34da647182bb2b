package translate;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.MessageLite;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.interweave.objects.ObjectMap;
import translate.Messages.Integers;
import translate.data.ints;

/** 1 MiB of ints. */
final class Ints extends Shape<int[], ints> {
  private static final int LENGTH = 1 << 18;

  Ints() {
    super("int_array");
  }

  @Override
  int[] plain() {
    return new int[LENGTH];
  }

  @Override
  void fill(int[] data, Values values) {
    values.integers(data);
  }

  @Override
  long digest(int[] data) {
    return Arrays.hashCode(data);
  }

  @Override
  void put(int[] data, ByteBuffer to) {
    to.asIntBuffer().put(data);
    to.position(to.position() + Integer.BYTES * LENGTH);
  }

  @Override
  int[] get(ByteBuffer from, int[] into) {
    int[] data = into == null ? new int[LENGTH] : into;
    from.asIntBuffer().get(data);
    return data;
  }

  @Override
  MessageLite message(int[] data) {
    Integers.Builder built = Integers.newBuilder();
    for (int each : data) built.addValues(each);
    return built.build();
  }

  @Override
  int[] read(CodedInputStream from) throws IOException {
    Integers message = Integers.parseFrom(from);
    int[] data = new int[LENGTH];
    for (int i = 0; i < LENGTH; ++i) data[i] = message.getValues(i);
    return data;
  }

  @Override
  ints shared(ObjectMap map) {
    return new ints(map, "data");
  }

  @Override
  void fillShared(ints data, Values values) {
    values.integers(data.values);
  }

  @Override
  long digestShared(ints data) {
    return digest(data.values);
  }

  @Override
  ints find(Section reader) {
    return Found.block(reader, ints.class);
  }
}
