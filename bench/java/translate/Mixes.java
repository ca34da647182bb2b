package translate;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.MessageLite;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.interweave.IW_Elements;
import org.interweave.objects.ObjectMap;
import translate.Messages.CellMessage;
import translate.Messages.MixedMessage;
import translate.Messages.MixesMessage;
import translate.data.cell;
import translate.data.mixed;

/** Structs of numbers, strings and a pointer. Each turn has cells of its own. */
final class Mixes extends Structs<Mixed, mixed> {
  private final Cells cells = new Cells(count);

  Mixes() {
    super("mix", 3640, mixed.class);
  }

  @Override
  boolean isGraph() {
    return true;
  }

  @Override
  Mixed[] array() {
    return new Mixed[count];
  }

  @Override
  Mixed element() {
    return new Mixed();
  }

  @Override
  IW_Elements<mixed> shared(ObjectMap map) {
    cells.share(map);
    return super.shared(map);
  }

  @Override
  void fill(Mixed[] data, Values values) {
    cells.turn();
    super.fill(data, values);
  }

  @Override
  void fillShared(IW_Elements<mixed> data, Values values) {
    cells.turn();
    super.fillShared(data, values);
  }

  @Override
  void fillOne(Mixed to, Values values) {
    to.i = values.integer();
    to.d = values.real();
    to.text = values.text();
    to.word = values.word();
    to.pointer = cells.next(values);
  }

  @Override
  void fillOneShared(mixed to, Values values) {
    to.set_i(values.integer());
    to.set_d(values.real());
    to.set_text(values.text());
    to.set_word(values.word());
    to.set_pointer(cells.nextShared(values));
  }

  private static long digest(int i, double d, String text, String word, int pointed) {
    long digest = i * PRIME + Double.doubleToLongBits(d);
    return ((digest * PRIME + text.hashCode()) * PRIME + word.hashCode()) * PRIME + pointed;
  }

  @Override
  long digestOne(Mixed of) {
    return digest(of.i, of.d, of.text, of.word, of.pointer.value);
  }

  @Override
  long digestOneShared(mixed of) {
    return digest(of.i, of.d, of.text, of.word, of.pointer.value);
  }

  @Override
  void putOne(Mixed from, ByteBuffer to) {
    to.putInt(from.i).putDouble(from.d);
    Texts.put(from.text, to);
    Texts.put(from.word, to);
    to.putInt(from.pointer.value);
  }

  @Override
  void getOne(ByteBuffer from, Mixed to) {
    to.i = from.getInt();
    to.d = from.getDouble();
    to.text = Texts.get(from);
    to.word = Texts.get(from);
    if (to.pointer == null) to.pointer = new Cell();
    to.pointer.value = from.getInt();
  }

  @Override
  MessageLite message(Mixed[] data) {
    MixesMessage.Builder built = MixesMessage.newBuilder();
    for (Mixed each : data) {
      CellMessage pointer = CellMessage.newBuilder().setValue(each.pointer.value).build();
      built.addValues(
          MixedMessage.newBuilder()
              .setI(each.i)
              .setD(each.d)
              .setText(each.text)
              .setWord(each.word)
              .setPointer(pointer)
              .build());
    }
    return built.build();
  }

  @Override
  Mixed[] read(CodedInputStream from) throws IOException {
    Mixed[] data = plain();
    int i = 0;
    for (MixedMessage each : MixesMessage.parseFrom(from).getValuesList()) {
      Mixed to = data[i++];
      to.i = each.getI();
      to.d = each.getD();
      to.text = each.getText();
      to.word = each.getWord();
      to.pointer = new Cell();
      to.pointer.value = each.getPointer().getValue();
    }
    return data;
  }
}
