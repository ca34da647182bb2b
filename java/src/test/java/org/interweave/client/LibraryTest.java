package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.interweave.Interface.Connection;
import org.interweave.InterweaveException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The library's threads outlive what a program's callbacks throw. */
@Timeout(60)
class LibraryTest {
  /** Callbacks run in their order. */
  private static void awaitCalls() throws InterruptedException {
    CountDownLatch done = new CountDownLatch(1);
    Library.get().call(done::countDown);
    done.await();
  }

  @Test
  void callbacksContinueAfterAnError() throws Exception {
    BlockingQueue<Throwable> told = new LinkedBlockingQueue<>();
    Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler(
        (thread, wrong) -> {
          told.add(wrong);
          throw new IllegalStateException();
        });
    try {
      AssertionError thrown = new AssertionError();
      Library.get().call(() -> { throw thrown; });
      awaitCalls();
      assertEquals(List.of(thrown), List.copyOf(told));
    } finally {
      Thread.setDefaultUncaughtExceptionHandler(before);
    }
  }

  @Test
  void aListenerIsToldAfterItsExecutorRefused() throws Exception {
    BlockingQueue<Connection> told = new LinkedBlockingQueue<>();
    AtomicInteger calls = new AtomicInteger();
    ConnectionNews news = new ConnectionNews();
    Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler((thread, wrong) -> calls.incrementAndGet());
    try {
      news.listen(
          task -> {
            if (calls.get() == 0) throw new RejectedExecutionException();
            task.run();
          },
          told::add);
      news.is(Connection.CONNECTED);
      awaitCalls();
      assertEquals(1, calls.get());
      news.is(Connection.DISCONNECTED);
      assertEquals(Connection.DISCONNECTED, told.take());
    } finally {
      Thread.setDefaultUncaughtExceptionHandler(before);
    }
  }

  @Test
  void aLaterClientGetsAnotherThread() throws Exception {
    try (Server server = Server.start();
        Client failing = new Client()) {
      Segment lost = failing.open(server.url("/later"));
      Library before = Library.get();
      before.selector().close();
      while (Library.get() == before) assertFalse(Thread.currentThread().isInterrupted());
      assertThrows(InterweaveException.class, lost::readNewest);
      try (Client later = new Client()) {
        Segment segment = later.open(server.url("/later"));
        segment.write(lock -> lock.allocate("int", 1, "n"));
        assertTrue(segment.version() > 0);
      }
    }
  }
}
