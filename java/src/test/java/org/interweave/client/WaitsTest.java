package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** Futures of calls that cannot begin. */
class WaitsTest {
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
}
