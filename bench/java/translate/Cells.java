package translate;

import org.interweave.objects.ObjectMap;
import translate.data.cell;

/**
 * The targets of pointers: two sets of cells, one for each turn. The values of a set are stored
 * when the set is used first.
 */
final class Cells {
  final int count;
  private final Cell[][] plain = new Cell[2][];
  private final cell[][] shared = new cell[2][];
  private int turn;
  private int next;

  Cells(int count) {
    this.count = count;
  }

  /** Two sets of blocks. */
  void share(ObjectMap map) {
    for (int set = 0; set < 2; ++set) {
      shared[set] = new cell[count];
      for (int i = 0; i < count; ++i) shared[set][i] = new cell(map, null);
    }
  }

  /** The other set, from its first cell on. */
  void turn() {
    turn ^= 1;
    next = 0;
  }

  Cell next(Values values) {
    if (plain[turn] == null) plain[turn] = new Cell[count];
    if (plain[turn][next] == null) plain[turn][next] = new Cell();
    Cell found = plain[turn][next++];
    found.value = values.integer();
    return found;
  }

  cell nextShared(Values values) {
    cell found = shared[turn][next++];
    int wanted = values.integer();
    if (found.value != wanted) found.set_value(wanted);
    return found;
  }
}
