package translate;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.interweave.objects.ObjectMap;
import translate.data.texts;

/** Strings of 255 letters. */
final class Texts extends Strings<texts> {
  Texts() {
    super("string", 1 << 12);
  }

  static void put(String text, ByteBuffer to) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    to.putShort((short) bytes.length).put(bytes);
  }

  static String get(ByteBuffer from) {
    int length = from.getShort();
    String text =
        new String(from.array(), from.position(), length, StandardCharsets.UTF_8);
    from.position(from.position() + length);
    return text;
  }

  @Override
  void fill(String[] data, Values values) {
    for (int i = 0; i < data.length; ++i) data[i] = values.text();
  }

  @Override
  texts shared(ObjectMap map) {
    return new texts(map, "data");
  }

  @Override
  void fillShared(texts data, Values values) {
    fill(data.values, values);
  }

  @Override
  long digestShared(texts data) {
    return digest(data.values);
  }

  @Override
  texts find(Section reader) {
    return Found.block(reader, texts.class);
  }
}
