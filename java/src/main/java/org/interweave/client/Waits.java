package org.interweave.client;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Calls that wait, as futures. Each waits on a thread of its own: a virtual one, where Java has
 * such, or a daemon that ends when it was idle for some seconds. As many calls wait as were begun,
 * so the program cannot wait for a lock that stands behind another in a queue.
 */
final class Waits {
  private static final long IDLE_SECONDS = 5;

  private Waits() {}

  /** Begins with the first future. */
  private static final class Threads {
    static final Executor EXECUTOR = executor();

    /** By reflection, because Java has virtual threads since 21. */
    private static Executor executor() {
      try {
        return (ExecutorService)
            Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
      } catch (ReflectiveOperationException older) {
        return new ThreadPoolExecutor(
            0, Integer.MAX_VALUE, IDLE_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<>(),
            Threads::daemon);
      }
    }

    private static Thread daemon(Runnable body) {
      Thread thread = new Thread(body, "interweave-waits");
      thread.setDaemon(true);
      return thread;
    }
  }

  /**
   * The outcome of a call that is given up when the future is completed otherwise, as by `cancel`
   * or `orTimeout`. `giveBack` takes what the call had found by then.
   */
  static <T> CompletableFuture<T> begin(Supplier<T> call, Consumer<T> giveBack) {
    return begin(Threads.EXECUTOR, call, giveBack);
  }

  /** On an executor that a test gives. */
  static <T> CompletableFuture<T> begin(
      Executor executor, Supplier<T> call, Consumer<T> giveBack) {
    return begin(executor, new Wait<>(call, giveBack, true));
  }

  /** The outcome of a call that is made to its end, unless no thread can be started for it. */
  static <T> CompletableFuture<T> beginForSure(Supplier<T> call) {
    return begin(Threads.EXECUTOR, new Wait<>(call, null, false));
  }

  private static <T> CompletableFuture<T> begin(Executor executor, Wait<T> wait) {
    wait.future.whenComplete((value, wrong) -> wait.stop());
    try {
      executor.execute(wait);
    } catch (RuntimeException | Error wrong) {
      // As OutOfMemoryError, if the machine has no thread left.
      wait.future.completeExceptionally(wrong);
    }
    return wait.future;
  }

  private static final class Wait<T> implements Runnable {
    final CompletableFuture<T> future = new CompletableFuture<>();
    private final Supplier<T> call;
    private final Consumer<T> giveBack;
    private final boolean canStop;
    /** Guards `inside`, because an interrupt must not reach the thread's next call. */
    private final ReentrantLock lock = new ReentrantLock();
    /** The thread, while it may be interrupted. */
    private Thread inside;

    Wait(Supplier<T> call, Consumer<T> giveBack, boolean canStop) {
      this.call = call;
      this.giveBack = giveBack;
      this.canStop = canStop;
    }

    @Override
    public void run() {
      if (canStop && !enter()) return;
      T found;
      try {
        found = call.get();
      } catch (RuntimeException | Error wrong) {
        leave();
        future.completeExceptionally(wrong);
        return;
      }
      leave();
      if (!future.complete(found) && giveBack != null) giveBack(found);
    }

    private void giveBack(T found) {
      try {
        giveBack.accept(found);
      } catch (RuntimeException | Error wrong) {
        System.getLogger("org.interweave").log(
            System.Logger.Level.WARNING,
            found + " came to a future that was done by then, and could not be given back",
            wrong);
      }
    }

    /** False: nobody wants the outcome any more. */
    private boolean enter() {
      lock.lock();
      try {
        if (future.isDone()) return false;
        inside = Thread.currentThread();
        return true;
      } finally {
        lock.unlock();
      }
    }

    private void leave() {
      lock.lock();
      try {
        inside = null;
        Thread.interrupted();
      } finally {
        lock.unlock();
      }
    }

    void stop() {
      lock.lock();
      try {
        if (inside != null) inside.interrupt();
      } finally {
        lock.unlock();
      }
    }
  }
}
