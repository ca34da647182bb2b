package translate;

import org.interweave.objects.ObjectMap;
import translate.data.words;

/** Strings of 3 letters. */
final class Words extends Strings<words> {
  Words() {
    super("small_string", 1 << 18);
  }

  @Override
  void fill(String[] data, Values values) {
    for (int i = 0; i < data.length; ++i) data[i] = values.word();
  }

  @Override
  words shared(ObjectMap map) {
    return new words(map, "data");
  }

  @Override
  void fillShared(words data, Values values) {
    fill(data.values, values);
  }

  @Override
  long digestShared(words data) {
    return digest(data.values);
  }

  @Override
  words find(Section reader) {
    return Found.block(reader, words.class);
  }
}
