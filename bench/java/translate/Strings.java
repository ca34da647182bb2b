package translate;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.MessageLite;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.interweave.IW_Object;

/** 1 MiB of strings. */
abstract class Strings<S extends IW_Object> extends Shape<String[], S> {
  private final int length;

  Strings(String name, int length) {
    super(name);
    this.length = length;
  }

  @Override
  String[] plain() {
    return new String[length];
  }

  @Override
  long digest(String[] data) {
    return Arrays.hashCode(data);
  }

  @Override
  void put(String[] data, ByteBuffer to) {
    for (String each : data) Texts.put(each, to);
  }

  @Override
  String[] get(ByteBuffer from, String[] into) {
    String[] data = into == null ? new String[length] : into;
    for (int i = 0; i < length; ++i) data[i] = Texts.get(from);
    return data;
  }

  @Override
  MessageLite message(String[] data) {
    return Messages.Strings.newBuilder().addAllValues(Arrays.asList(data)).build();
  }

  @Override
  String[] read(CodedInputStream from) throws IOException {
    return Messages.Strings.parseFrom(from).getValuesList().toArray(new String[0]);
  }
}
