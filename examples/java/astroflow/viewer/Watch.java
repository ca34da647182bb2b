package astroflow.viewer;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.interweave.InterweaveException;

/** The thread that looks at the simulation and passes wishes on, until it is told to stop. */
final class Watch {
  /** The longest time between looks: what counts as recent enough changes with time, too. */
  private static final long LOOK_MS = 50;

  private final Simulation simulation;
  private final Consumer<Frame> shown;
  private final Consumer<String> said;
  private final Queue<Wish> wishes = new ConcurrentLinkedQueue<>();
  private final Semaphore news = new Semaphore(0);
  private volatile boolean isStopped;

  /** `shown` gets each frame, `said` a message for the user. */
  Watch(Simulation simulation, Consumer<Frame> shown, Consumer<String> said) {
    this.simulation = simulation;
    this.shown = shown;
    this.said = said;
    simulation.onChange(news::release);
  }

  void ask(Wish wish) {
    wishes.add(wish);
    news.release();
  }

  void stop() {
    isStopped = true;
    news.release();
  }

  /** Runs until `stop`. */
  void run() {
    while (!isStopped) {
      for (Wish wish = wishes.poll(); wish != null; wish = wishes.poll()) pass(wish);
      simulation.next().ifPresent(shown);
      try {
        news.tryAcquire(LOOK_MS, TimeUnit.MILLISECONDS);
        news.drainPermits();
      } catch (InterruptedException ended) {
        return;
      }
    }
  }

  private void pass(Wish wish) {
    try {
      simulation.ask(wish);
    } catch (InterweaveException wrong) {
      said.accept("not passed on: " + wrong.getMessage());
    }
  }
}
