package game.player;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.interweave.InterweaveException;

/** The program: a player in a window, or one that plays by itself. */
public final class Player {
  private static final int WRONG_CALL = 2;
  /** The longest time between looks: a picture may come late, and is asked for then. */
  private static final long LOOK_MS = 50;

  private final Options options;
  private final SharedGame game;
  private final Semaphore news = new Semaphore(0);

  private Player(Options options) {
    this.options = options;
    game = new SharedGame(options.url(), options.name(), options.coins(), options.isNew());
    game.onChange(news::release);
  }

  public static void main(String[] arguments) {
    Options options;
    try {
      options = Options.parse(arguments);
    } catch (Options.Wrong wrong) {
      System.err.println("game: " + wrong.getMessage());
      System.exit(WRONG_CALL);
      return;
    }
    if (options == null) {
      System.out.print(Options.HELP);
      return;
    }
    try {
      new Player(options).run();
    } catch (InterweaveException wrong) {
      System.err.println("game: " + options.url() + ": " + wrong.getMessage());
      System.exit(1);
    } catch (InterruptedException ended) {
      System.exit(1);
    }
    System.exit(0);
  }

  private void run() throws InterruptedException {
    try {
      if (options.isHeadless()) hunt();
      else show();
    } finally {
      game.close();
    }
  }

  /** Until no coin is left. */
  private void hunt() throws InterruptedException {
    Picture now = game.look();
    while (now.seats().size() < options.players()) now = next();
    Hunter hunter = new Hunter(options.name());
    while (now.coinsLeft() > 0) {
      boolean hasMoved = game.step(hunter::choose);
      if (hasMoved) Thread.sleep(options.paceMs());
      now = hasMoved ? game.look() : next();
    }
    System.out.println(now.table());
  }

  /** Until the window is closed. */
  private void show() throws InterruptedException {
    GameWindow window = new GameWindow(options.name(), game);
    while (!window.isClosed()) window.show(next());
  }

  private Picture next() throws InterruptedException {
    news.tryAcquire(LOOK_MS, TimeUnit.MILLISECONDS);
    news.drainPermits();
    return game.look();
  }
}
