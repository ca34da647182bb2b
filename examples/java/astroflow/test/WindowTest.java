package astroflow.viewer;

import astroflow.shared.field;
import astroflow.shared.flow_header;
import java.awt.Component;
import java.awt.Container;
import java.awt.Insets;
import java.awt.Point;
import java.awt.Rectangle;
import java.awt.Robot;
import java.awt.Window;
import java.awt.event.InputEvent;
import java.awt.image.BufferedImage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.swing.JSlider;
import javax.swing.SwingUtilities;
import org.interweave.client.Client;
import org.interweave.client.ReadLock;
import org.interweave.client.Segment;

/**
 * `WindowTest URL`, where a simulator has finished: what the screen shows is what the segment
 * holds, a click steers, and the slider changes how recent is recent enough.
 */
public final class WindowTest {
  private static final int PATIENCE_S = 30;

  private final Robot robot = new Robot();
  private final Segment seen;
  private Component root;

  private WindowTest(String url) throws Exception {
    robot.setAutoWaitForIdle(true);
    seen = new Client().open(url);
  }

  public static void main(String[] arguments) throws Exception {
    new WindowTest(arguments[0]).run(arguments[0]);
    System.out.println("the window shows the data");
    System.exit(0);
  }

  private void run(String url) throws Exception {
    Freshness chosen = Options.parse("--coherence", "temporal:0.6").coherence();
    Simulation simulation = new Simulation(url, chosen);
    CountDownLatch shown = new CountDownLatch(1);
    ViewerWindow[] window = new ViewerWindow[1];
    Watch watch =
        new Watch(
            simulation,
            frame -> {
              window[0].show(frame);
              shown.countDown();
            },
            System.err::println);
    window[0] = new ViewerWindow(simulation, watch);
    new Thread(watch::run, "watch").start();
    if (!shown.await(PATIENCE_S, TimeUnit.SECONDS)) throw new AssertionError("no frame came");
    int[] began = new int[1];
    SwingUtilities.invokeAndWait(() -> root = Window.getWindows()[0]);
    for (Quantity each : Quantity.values()) compare(each);
    steer();
    JSlider slider = (JSlider) named(root, "temporal");
    SwingUtilities.invokeAndWait(() -> began[0] = slider.getValue());
    if (began[0] != 600) throw new AssertionError("the slider begins at " + began[0] + " ms");
    SwingUtilities.invokeAndWait(() -> slider.setValue(1500));
    String model = simulation.freshness().toString();
    if (!model.equals("TEMPORAL 1.5")) throw new AssertionError("the slider gives " + model);
    watch.stop();
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

  private Rectangle onScreen(Component component) throws Exception {
    Rectangle[] found = new Rectangle[1];
    SwingUtilities.invokeAndWait(
        () -> {
          Point at = component.getLocationOnScreen();
          Insets border = component instanceof PicturePanel picture
              ? picture.getInsets() : new Insets(0, 0, 0, 0);
          found[0] = new Rectangle(at.x + border.left, at.y + border.top,
              component.getWidth() - border.left - border.right,
              component.getHeight() - border.top - border.bottom);
        });
    return found[0];
  }

  /** Every pixel of the picture has the colour of its cell. */
  private void compare(Quantity quantity) throws Exception {
    Component picture = named(root, quantity.blockName());
    int side = Frame.SIDE;
    Point at = onScreen(picture).getLocation();
    Rectangle place = new Rectangle(at.x, at.y, side, side);
    double[] data;
    try (ReadLock lock = seen.read()) {
      data = lock.object(quantity.blockName(), field.class).array.clone();
    }
    ColourMap colours = ColourMap.of(data);
    robot.waitForIdle();
    BufferedImage screen = robot.createScreenCapture(place);
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) {
        int wanted = colours.colour(data[(side - 1 - y) * side + x]);
        int there = screen.getRGB(x, y) & 0xffffff;
        if (there == wanted) continue;
        throw new AssertionError(
            String.format("%s: %d, %d is %06x instead of %06x", quantity, x, y, there, wanted));
      }
    }
  }

  /** A click on "pause" reaches the segment. */
  private void steer() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    boolean[] wanted = new boolean[1];
    seen.onChange(
        Runnable::run,
        version -> {
          try (ReadLock lock = seen.readNewest()) {
            wanted[0] = lock.object("header", flow_header.class).want_pause;
          }
          asked.countDown();
        });
    Rectangle button = onScreen(named(root, "pause"));
    robot.mouseMove((int) button.getCenterX(), (int) button.getCenterY());
    robot.mousePress(InputEvent.BUTTON1_DOWN_MASK);
    robot.mouseRelease(InputEvent.BUTTON1_DOWN_MASK);
    if (!asked.await(PATIENCE_S, TimeUnit.SECONDS)) throw new AssertionError("nobody was asked");
    if (!wanted[0]) throw new AssertionError("the click on pause asks for no pause");
  }
}
