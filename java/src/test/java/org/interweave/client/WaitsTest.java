package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/** Futures of calls that cannot begin, or whose outcome nobody can take back. */
class WaitsTest {
  private static final Logger LOGGER = Logger.getLogger("org.interweave");

  /** As a machine that has no thread left. */
  @Test
  void aCallThatCannotBeginFailsItsFuture() {
    OutOfMemoryError why = new OutOfMemoryError("unable to create native thread");
    CompletableFuture<String> found =
        Waits.begin(
            body -> {
              throw why;
            },
            () -> "never",
            each -> { });
    assertSame(why, assertThrows(CompletionException.class, found::join).getCause());
  }

  @Test
  void whatCannotBeGivenBackIsLoggedOnce() {
    List<LogRecord> said = new ArrayList<>();
    Handler handler =
        new Handler() {
          @Override
          public void publish(LogRecord record) {
            said.add(record);
          }

          @Override
          public void flush() {
            said.clear();
          }

          @Override
          public void close() {
            said.clear();
          }
        };
    IllegalStateException why = new IllegalStateException("the test wants it so");
    Deque<Runnable> begun = new ArrayDeque<>();
    List<CompletableFuture<String>> own = new ArrayList<>();
    own.add(
        Waits.begin(
            begun::add,
            () -> {
              assertTrue(own.get(0).cancel(true));
              return "the lock";
            },
            each -> {
              throw why;
            }));
    LOGGER.addHandler(handler);
    LOGGER.setUseParentHandlers(false);
    try {
      begun.remove().run();
    } finally {
      LOGGER.removeHandler(handler);
      LOGGER.setUseParentHandlers(true);
    }
    assertEquals(1, said.size());
    assertSame(why, said.get(0).getThrown());
    assertTrue(said.get(0).getMessage().startsWith("the lock came to a future"));
  }
}
