package org.interweave.client;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.interweave.Interface.Connection;

/**
 * Tells listeners about a segment's connection [CONN-3]. A listener that is slow is told the last
 * of several changes.
 */
final class ConnectionNews {
  private final List<Listening> listeners = new CopyOnWriteArrayList<>();
  private volatile Connection latest;

  void listen(Executor executor, Consumer<Connection> listener) {
    listeners.add(new Listening(executor, listener));
  }

  /** By one thread at a time, under the link's lock. */
  void is(Connection state) {
    if (latest == state) return;
    latest = state;
    for (Listening each : listeners) each.isDue();
  }

  private final class Listening {
    private final Executor executor;
    private final Consumer<Connection> listener;
    private final AtomicBoolean isDue = new AtomicBoolean();

    Listening(Executor executor, Consumer<Connection> listener) {
      this.executor = executor;
      this.listener = listener;
    }

    void isDue() {
      if (isDue.getAndSet(true)) return;
      Runnable told =
          new Runnable() {
            @Override
            public void run() {
              isDue.set(false);
              listener.accept(latest);
            }
          };
      Library.get().call(
          new Runnable() {
            @Override
            public void run() {
              boolean isTaken = false;
              try {
                executor.execute(told);
                isTaken = true;
              } finally {
                // The next change is then another attempt.
                if (!isTaken) isDue.set(false);
              }
            }
          });
    }
  }
}
