package astroflow.viewer;

import astroflow.shared.field;
import astroflow.shared.flow_header;
import java.time.Duration;
import java.util.Optional;
import org.interweave.Interface;
import org.interweave.InterweaveException;
import org.interweave.SegmentLostException;
import org.interweave.TimedOutException;
import org.interweave.UnreachableException;
import org.interweave.client.ReadLock;
import org.interweave.client.Segment;
import org.interweave.client.WriteLock;

/** The shared segment of a simulation. All that this program has to do with sharing is here. */
final class Simulation implements FrameSource {
  private static final Duration LOCK = Duration.ofMillis(250);

  private final String url;
  private Segment segment;
  private Freshness freshness;
  private volatile Runnable listener = () -> {};
  private long shown;

  Simulation(String url, Freshness freshness) {
    this.url = url;
    this.freshness = freshness;
    open();
  }

  private void open() {
    segment = Segment.open(url);
    segment.coherence(freshness.coherence());
    segment.onChange(Runnable::run, version -> listener.run());
    shown = 0;
  }

  @Override
  public void onChange(Runnable called) {
    listener = called;
  }

  /** How far behind the pictures may be. */
  synchronized void freshness(Freshness wanted) {
    freshness = wanted;
    segment.coherence(wanted.coherence());
  }

  @Override
  public synchronized Freshness freshness() {
    return freshness;
  }

  @Override
  public synchronized long bytesReceived() {
    return segment.stats().bytesReceived();
  }

  /** Empty: the copy is recent enough, or no simulator wrote. */
  @Override
  public synchronized Optional<Frame> next() {
    try (ReadLock lock = segment.read(LOCK)) {
      if (lock.version() == shown) return Optional.empty();
      Optional<flow_header> header = header(lock);
      if (header.isEmpty()) return Optional.empty();
      shown = lock.version();
      return Optional.of(copy(lock, header.get()));
    } catch (SegmentLostException lost) {
      segment.close();
      open();
      return Optional.empty();
    } catch (TimedOutException | UnreachableException silent) {
      return Optional.empty();
    }
  }

  private Optional<flow_header> header(ReadLock lock) {
    Optional<flow_header> header = lock.find("header", flow_header.class);
    if (header.isEmpty() && lock.version() > 0 && !lock.values().isEmpty()) {
      throw InterweaveException.of(
          Interface.Error.NO_BLOCK, url + " holds other data than a simulation's");
    }
    return header;
  }

  private static Frame copy(ReadLock lock, flow_header header) {
    double[][] arrays = new double[Quantity.values().length][];
    for (Quantity each : Quantity.values()) {
      arrays[each.ordinal()] = lock.object(each.blockName(), field.class).array.clone();
    }
    return new Frame(lock.version(), header.frame, header.last_frame, header.problem,
        header.status, header.time, header.end_time, header.cfl, arrays);
  }

  @Override
  public synchronized void ask(Wish wish) {
    try (WriteLock lock = segment.write(LOCK)) {
      flow_header header = lock.object("header", flow_header.class);
      wish.put(header);
      ++header.request;
      lock.release();
    }
  }

  @Override
  public synchronized void close() {
    segment.close();
  }
}
