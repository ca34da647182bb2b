package astroflow.viewer;

import java.io.UncheckedIOException;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import org.interweave.InterweaveException;

/** The program: shows what a simulator shares, in a window or as lines. */
public final class Viewer {
  private static final int WRONG_CALL = 2;

  private final Options options;
  private final FrameSource source;
  private final Watch watch;
  private final CountDownLatch closed = new CountDownLatch(1);
  private volatile boolean hasFailed;
  private ViewerWindow window;
  private long frames;
  private long lastNumber = -1;
  private boolean wasRunning;

  private Viewer(Options options) {
    this.options = options;
    source =
        options.files() == null
            ? new Simulation(options.url(), options.coherence())
            : new FrameFiles(options.files());
    watch = new Watch(source, this::show, this::say);
  }

  public static void main(String[] arguments) {
    Options options;
    try {
      options = Options.parse(arguments);
    } catch (Options.Wrong wrong) {
      System.err.println("astroflow-viewer: " + wrong.getMessage());
      System.exit(WRONG_CALL);
      return;
    }
    if (options == null) {
      System.out.print(Options.HELP);
      return;
    }
    try {
      new Viewer(options).run();
    } catch (InterweaveException | UncheckedIOException wrong) {
      System.err.println("astroflow-viewer: " + options.url() + ": " + wrong.getMessage());
      System.exit(1);
    }
    System.exit(0);
  }

  private void run() {
    Thread hook = new Thread(this::interrupted, "the end");
    Runtime.getRuntime().addShutdownHook(hook);
    try {
      if (!options.isHeadless()) window = new ViewerWindow(source, watch);
      watch.run();
      if (window == null) {
        System.out.printf("%d frames, %.3f ms a frame%n", frames, watch.medianMs());
      }
    } catch (RuntimeException wrong) {
      hasFailed = true;
      throw wrong;
    } finally {
      source.close();
      closed.countDown();
    }
  }

  /**
   * At Ctrl-C: the segment is closed, and the program ends as it does by itself, also where it was
   * ending by itself at that moment.
   */
  private void interrupted() {
    if (hasFailed) return;
    watch.stop();
    try {
      closed.await();
    } catch (InterruptedException hurried) {
      return;
    }
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  private void show(Frame frame) {
    if (frame.number() != lastNumber) ++frames;
    lastNumber = frame.number();
    if (options.pngFolder() != null) new PngFolder(options.pngFolder()).write(frame);
    if (window == null) System.out.println(line(frame));
    else window.show(frame);
    // A segment that an earlier run left says "finished" until the next simulator takes it up.
    wasRunning |= !frame.isFinished();
    boolean isOver = options.isUntilFinished() && frame.isFinished() && wasRunning;
    if (isOver || options.frames() > 0 && frames >= options.frames()) watch.stop();
  }

  private static String line(Frame frame) {
    return String.format("version %d frame %d time %.6f of %g checksum %s", frame.version(),
        frame.number(), frame.time(), frame.endTime(), frame.checksum());
  }

  private void say(String message) {
    Consumer<String> to = window == null ? System.err::println : window::say;
    to.accept(message);
  }
}
