package game.player;

import java.awt.Component;
import java.awt.Container;
import java.awt.Point;
import java.awt.Robot;
import java.awt.Window;
import java.awt.event.KeyEvent;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import javax.swing.SwingUtilities;

/**
 * `WindowTest URL`: arrow keys walk, and the screen shows where the player is. Leaves a board on
 * which coins are left.
 */
public final class WindowTest {
  private static final int PATIENCE_S = 30;
  private static final int RGB = 0xffffff;

  private final Robot robot = new Robot();
  private final SharedGame game;
  private final GameWindow window;
  private final Semaphore news = new Semaphore(0);

  private WindowTest(String url) throws Exception {
    robot.setAutoWaitForIdle(true);
    game = new SharedGame(url, "ada", 40, false);
    game.onChange(news::release);
    window = new GameWindow("ada", game);
  }

  public static void main(String[] arguments) throws Exception {
    new WindowTest(arguments[0]).run();
    System.out.println("the window shows the player");
    System.exit(0);
  }

  private void run() throws Exception {
    Window frame = Window.getWindows()[0];
    await(() -> frame.isFocused(), "the window has no keys");
    Picture.Seat began = game.look().seat("ada");
    shows(began);
    shows(walk(KeyEvent.VK_DOWN, began, began.x(), began.y() + 1));
    Picture.Seat below = game.look().seat("ada");
    shows(walk(KeyEvent.VK_UP, below, began.x(), began.y()));
    game.close();
  }

  /** Presses the key, and waits for the step. */
  private Picture.Seat walk(int key, Picture.Seat from, int x, int y) throws Exception {
    robot.waitForIdle();
    robot.keyPress(key);
    robot.keyRelease(key);
    while (game.look().seat("ada").equals(from)) {
      if (!news.tryAcquire(PATIENCE_S, TimeUnit.SECONDS)) throw new AssertionError("no step");
    }
    Picture.Seat now = game.look().seat("ada");
    if (now.x() != x || now.y() != y) throw new AssertionError(now + " instead of " + x + ", " + y);
    return now;
  }

  /** The cell has the player's colour on the screen. */
  private void shows(Picture.Seat seat) throws Exception {
    window.show(game.look());
    Point[] corner = new Point[1];
    SwingUtilities.invokeAndWait(
        () -> corner[0] = named(Window.getWindows()[0], "board").getLocationOnScreen());
    int x = corner[0].x + seat.x() * GameWindow.CELL_PIXELS + 4;
    int y = corner[0].y + seat.y() * GameWindow.CELL_PIXELS + 4;
    int wanted = GameWindow.colour(seat.number()).getRGB() & RGB;
    await(() -> (robot.getPixelColor(x, y).getRGB() & RGB) == wanted, "not shown: " + seat);
  }

  private void await(BooleanSupplier holds, String otherwise) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
    while (!holds.getAsBoolean()) {
      if (System.nanoTime() > deadline) throw new AssertionError(otherwise);
      robot.waitForIdle();
    }
  }

  private static Component named(Component in, String name) {
    if (name.equals(in.getName())) return in;
    if (!(in instanceof Container container)) return null;
    for (Component each : container.getComponents()) {
      Component found = named(each, name);
      if (found != null) return found;
    }
    return null;
  }
}
