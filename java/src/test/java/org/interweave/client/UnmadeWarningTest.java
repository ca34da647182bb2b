package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.interweave.objects.keeper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The warning of a class that cannot be constructed. */
@Timeout(60)
class UnmadeWarningTest {
  private static final Logger LOGGER = Logger.getLogger("org.interweave");

  private final BlockingQueue<Integer> locksHeld = new LinkedBlockingQueue<>();

  private static void store(Segment segment) {
    segment.write(
        lock -> {
          keeper first = new keeper(segment, "first");
          first.one = new keeper.unmade(segment, null);
        });
  }

  /** A program's handler may take locks. */
  @Test
  void itsHandlerMayTakeLocks() throws Exception {
    try (Server server = Server.start();
        Client writer = new Client();
        Client reader = new Client()) {
      store(writer.open(server.url("/s")));
      Segment seen = reader.open(server.url("/s"));
      LOGGER.addHandler(new Reading(seen));
      LOGGER.setUseParentHandlers(false);
      keeper.fails = true;
      try (ReadLock lock = seen.read()) {
        assertNull(lock.object("first", keeper.class).one);
        assertEquals(0, locksHeld.take(), "of the pointer's class");
        assertEquals(0, locksHeld.take(), "of the part's class");
      } finally {
        keeper.fails = false;
        for (Handler each : LOGGER.getHandlers()) LOGGER.removeHandler(each);
        LOGGER.setUseParentHandlers(true);
      }
    }
  }

  /** Reads the segment, and says how often its thread has the gate. */
  private final class Reading extends Handler {
    private final Segment segment;

    Reading(Segment segment) {
      this.segment = segment;
    }

    @Override
    public void publish(LogRecord record) {
      int count = segment.objects().gate().getHoldCount();
      segment.read().close();
      locksHeld.add(count);
    }

    @Override
    public void flush() {
      locksHeld.clear();
    }

    @Override
    public void close() {
      locksHeld.clear();
    }
  }
}
