package game.player;

import game.shared.cell;
import game.shared.game_x;
import java.util.List;

/** The board, copied, so that it can be drawn without a lock. */
record Picture(int[] cells, int coinsLeft, List<Seat> seats) {
  /** A player, in the order of their numbers. */
  record Seat(String name, int number, int x, int y, int points, boolean isHere) {}

  /** Whether a player can step there. */
  boolean isFree(int x, int y) {
    if (x < 0 || y < 0 || x >= game_x.BOARD_WIDTH || y >= game_x.BOARD_HEIGHT) return false;
    if (cell(x, y) == cell.CELL_WALL) return false;
    for (Seat each : seats) if (each.isHere && each.x == x && each.y == y) return false;
    return true;
  }

  int cell(int x, int y) {
    return cells[at(x, y)];
  }

  static int at(int x, int y) {
    return y * game_x.BOARD_WIDTH + x;
  }

  Seat seat(String name) {
    for (Seat each : seats) if (each.name.equals(name)) return each;
    throw new IllegalArgumentException(name + " does not play");
  }

  /** The points of each player, in a line that is the same at all of them. */
  String table() {
    StringBuilder line = new StringBuilder();
    for (Seat each : seats) line.append(each.name).append(' ').append(each.points).append(", ");
    return line.append(coinsLeft).append(" left").toString();
  }
}
