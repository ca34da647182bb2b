package game.player;

import game.shared.cell;
import game.shared.game_x;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;

/** Plays by itself: walks to the nearest coin. */
final class Hunter {
  private final String name;

  Hunter(String name) {
    this.name = name;
  }

  /** The first step of the shortest way to a coin; null: no way leads to one. */
  Direction choose(Picture now) {
    Picture.Seat own = now.seat(name);
    Direction[] first = new Direction[now.cells().length];
    boolean[] isSeen = new boolean[now.cells().length];
    Deque<Integer> reached = new ArrayDeque<>(Arrays.asList(Picture.at(own.x(), own.y())));
    isSeen[reached.peek()] = true;
    while (!reached.isEmpty()) {
      int at = reached.poll();
      if (now.cells()[at] == cell.CELL_COIN) return first[at];
      for (Direction each : Direction.values()) {
        int x = at % game_x.BOARD_WIDTH + each.dx;
        int y = at / game_x.BOARD_WIDTH + each.dy;
        if (!now.isFree(x, y) || isSeen[Picture.at(x, y)]) continue;
        isSeen[Picture.at(x, y)] = true;
        first[Picture.at(x, y)] = first[at] == null ? each : first[at];
        reached.add(Picture.at(x, y));
      }
    }
    return null;
  }
}
