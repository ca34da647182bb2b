package translate;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.MessageLite;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.interweave.objects.ObjectMap;
import translate.Messages.CellMessage;
import translate.Messages.CellsMessage;
import translate.data.pointers;

/** Pointers to cells, each to one of its own. A segment sends pointers; rivals send the cells. */
final class Pointers extends Shape<Cell[], pointers> {
  private static final int LENGTH = 1 << 17;

  private final Cells cells = new Cells(LENGTH);

  Pointers() {
    super("pointer");
  }

  @Override
  boolean isGraph() {
    return true;
  }

  @Override
  Cell[] plain() {
    return new Cell[LENGTH];
  }

  @Override
  void fill(Cell[] data, Values values) {
    cells.turn();
    for (int i = 0; i < LENGTH; ++i) data[i] = cells.next(values);
  }

  @Override
  long digest(Cell[] data) {
    long digest = 0;
    for (Cell each : data) digest = digest * PRIME + each.value;
    return digest;
  }

  @Override
  void put(Cell[] data, ByteBuffer to) {
    for (Cell each : data) to.putInt(each.value);
  }

  @Override
  Cell[] get(ByteBuffer from, Cell[] into) {
    Cell[] data = into == null ? new Cell[LENGTH] : into;
    for (int i = 0; i < LENGTH; ++i) {
      if (into == null) data[i] = new Cell();
      data[i].value = from.getInt();
    }
    return data;
  }

  @Override
  MessageLite message(Cell[] data) {
    CellsMessage.Builder built = CellsMessage.newBuilder();
    for (Cell each : data) built.addValues(CellMessage.newBuilder().setValue(each.value).build());
    return built.build();
  }

  @Override
  Cell[] read(CodedInputStream from) throws IOException {
    Cell[] data = new Cell[LENGTH];
    int i = 0;
    for (CellMessage each : CellsMessage.parseFrom(from).getValuesList()) {
      Cell cell = new Cell();
      cell.value = each.getValue();
      data[i++] = cell;
    }
    return data;
  }

  @Override
  pointers shared(ObjectMap map) {
    cells.share(map);
    return new pointers(map, "data");
  }

  @Override
  void fillShared(pointers data, Values values) {
    cells.turn();
    for (int i = 0; i < LENGTH; ++i) data.values[i] = cells.nextShared(values);
  }

  @Override
  long digestShared(pointers data) {
    long digest = 0;
    for (translate.data.cell each : data.values) digest = digest * PRIME + each.value;
    return digest;
  }

  @Override
  pointers find(Section reader) {
    return Found.block(reader, pointers.class);
  }
}
