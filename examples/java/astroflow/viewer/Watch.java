package astroflow.viewer;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
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

  private final FrameSource source;
  private final Consumer<Frame> shown;
  private final Consumer<String> said;
  private final Queue<Wish> wishes = new ConcurrentLinkedQueue<>();
  private final Semaphore news = new Semaphore(0);
  private final List<Long> readNs = new ArrayList<>();
  private volatile boolean isStopped;

  /** `shown` gets each frame, `said` a message for the user. */
  Watch(FrameSource source, Consumer<Frame> shown, Consumer<String> said) {
    this.source = source;
    this.shown = shown;
    this.said = said;
    source.onChange(news::release);
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
      look();
      try {
        news.tryAcquire(LOOK_MS, TimeUnit.MILLISECONDS);
        news.drainPermits();
      } catch (InterruptedException ended) {
        return;
      }
    }
  }

  private void look() {
    long begun = System.nanoTime();
    Optional<Frame> frame = source.next();
    frame.ifPresent(found -> readNs.add(System.nanoTime() - begun));
    frame.ifPresent(shown);
  }

  /** The median of the times that frames took to read. */
  double medianMs() {
    if (readNs.isEmpty()) return 0;
    List<Long> sorted = new ArrayList<>(readNs);
    Collections.sort(sorted);
    return sorted.get(sorted.size() / 2) / 1e6;
  }

  private void pass(Wish wish) {
    try {
      source.ask(wish);
    } catch (InterweaveException wrong) {
      said.accept("not passed on: " + wrong.getMessage());
    }
  }
}
