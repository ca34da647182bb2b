package game.player;

import game.shared.board;
import game.shared.cell;
import game.shared.game_x;
import game.shared.player;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import org.interweave.Interface.Durability;
import org.interweave.RolledBackException;
import org.interweave.client.Coherence;
import org.interweave.client.OpenOptions;
import org.interweave.client.ReadLock;
import org.interweave.client.Segment;
import org.interweave.client.SegmentLock;
import org.interweave.client.WriteLock;

/**
 * The game as one player sees it. All that this program has to do with sharing is here.
 *
 * <p>A step takes the writer lock, and so decides on the newest board: two players never take one
 * coin or stand in one cell. A picture may be 50 ms behind, which nobody sees; so a player who only
 * looks costs the server nothing while nobody moves. A step is acknowledged before it is on the
 * disk, because a game needs no more.
 */
final class SharedGame implements AutoCloseable {
  private static final Duration BEHIND = Duration.ofMillis(50);
  /** Walls stand alone, so that every cell can be reached. */
  private static final int WALLS_APART = 3;

  private final Segment segment;
  private final String name;

  /**
   * Joins. Makes the board if nobody has. A new game begins if everybody has left the one that
   * is over, or if the player wants it.
   */
  SharedGame(String url, String name, int coins, boolean isNew) {
    this.name = name;
    segment = Segment.open(url, OpenOptions.DEFAULT.durability(Durability.WRITTEN));
    segment.coherence(Coherence.temporal(BEHIND));
    write(lock -> join(lock, coins, isNew));
  }

  /** Again and again, if the server undoes it because it was started anew. */
  private void write(Segment.Section section) {
    while (true) {
      try {
        segment.write(section);
        return;
      } catch (RolledBackException undone) {
        continue;
      }
    }
  }

  private void join(WriteLock lock, int coins, boolean isNew) {
    board all = lock.find("board", board.class).orElse(null);
    if (all == null) all = new board(segment, "board");
    if (isNew || all.coins_left == 0 && nobodyIsHere(all)) begin(lock, all, coins);
    player own = find(all);
    if (own != null) own.set_is_here(false);
    arrive(lock, all);
  }

  /** This player, who is here from now on. */
  private player arrive(WriteLock lock, board all) {
    player own = find(all);
    if (own == null) own = sitDown(all);
    if (own.is_here) return own;
    if (!picture(lock).isFree(own.x, own.y)) place(picture(lock), own);
    own.set_is_here(true);
    return own;
  }

  private static boolean nobodyIsHere(board all) {
    for (player each = all.players; each != null; each = each.next) {
      if (each.is_here) return false;
    }
    return true;
  }

  /** Walls, coins, and no players. */
  private static void begin(WriteLock lock, board all, int coins) {
    while (all.players != null) {
      player gone = all.players;
      all.set_players(gone.next);
      lock.free(gone);
    }
    List<Integer> free = new ArrayList<>();
    for (int at = 0; at < all.cells.length; ++at) {
      int x = at % game_x.BOARD_WIDTH;
      int y = at / game_x.BOARD_WIDTH;
      boolean isWall = x % WALLS_APART == 1 && y % WALLS_APART == 1;
      all.cells[at] = isWall ? cell.CELL_WALL : cell.CELL_FREE;
      if (!isWall && at > 0) free.add(at);
    }
    Collections.shuffle(free, new Random());
    for (int at : free.subList(0, Math.min(coins, free.size()))) all.cells[at] = cell.CELL_COIN;
    all.set_coins_left(Math.min(coins, free.size()));
  }

  private player sitDown(board all) {
    player own = new player(segment, null);
    own.set_name(name);
    own.set_number(all.last_number + 1);
    own.set_next(all.players);
    all.set_last_number(own.number);
    all.set_players(own);
    return own;
  }

  /** In a free cell without a coin, because coins are for those who walk. */
  private static void place(Picture now, player own) {
    for (int at = 0; at < now.cells().length; ++at) {
      int x = at % game_x.BOARD_WIDTH;
      int y = at / game_x.BOARD_WIDTH;
      if (now.cells()[at] != cell.CELL_FREE || !now.isFree(x, y)) continue;
      own.set_x(x);
      own.set_y(y);
      return;
    }
    throw new IllegalStateException("the board is full");
  }

  /** This player; null: has never joined. */
  private player find(board all) {
    for (player each = all.players; each != null; each = each.next) {
      if (each.name.equals(name)) return each;
    }
    return null;
  }

  /**
   * Steps as `chooser` says, who sees the newest board; null: not at all. False: the way is not
   * free, or the server was started anew within the step and undid it.
   */
  boolean step(Function<Picture, Direction> chooser) {
    try (WriteLock lock = segment.write()) {
      board all = lock.object("board", board.class);
      player own = arrive(lock, all);   // another may have begun a new game
      Picture now = picture(lock);
      Direction to = chooser.apply(now);
      if (to == null || !now.isFree(own.x + to.dx, own.y + to.dy)) {
        lock.abort();
        return false;
      }
      own.set_x(own.x + to.dx);
      own.set_y(own.y + to.dy);
      int at = Picture.at(own.x, own.y);
      if (all.cells[at] == cell.CELL_COIN) {
        all.cells[at] = cell.CELL_FREE;
        all.set_coins_left(all.coins_left - 1);
        own.set_points(own.points + 1);
      }
      lock.release();
      return true;
    } catch (RolledBackException undone) {
      return false;
    }
  }

  /** The board, at most 50 ms old. */
  Picture look() {
    try (ReadLock lock = segment.read()) {
      return picture(lock);
    }
  }

  /** Called by a thread of the library, which may look. */
  void onChange(Runnable called) {
    segment.onChange(Runnable::run, version -> called.run());
  }

  private static Picture picture(SegmentLock lock) {
    board all = lock.object("board", board.class);
    List<Picture.Seat> seats = new ArrayList<>();
    for (player each = all.players; each != null; each = each.next) {
      seats.add(
          new Picture.Seat(
              each.name, each.number, each.x, each.y, each.points, each.is_here));
    }
    Collections.reverse(seats);
    return new Picture(all.cells.clone(), all.coins_left, seats);
  }

  /** Leaves; the points stay until the next game. */
  @Override
  public void close() {
    write(
        lock -> {
          player own = find(lock.object("board", board.class));
          if (own != null) own.set_is_here(false);
        });
    segment.close();
  }
}
