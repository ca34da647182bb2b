package org.interweave.session;

import java.util.concurrent.Semaphore;

/** A program that stops wherever it waits, and continues when it is told to. */
final class Coroutine {
  private static final class Ended extends java.lang.Error {
    private static final long serialVersionUID = 1;
  }

  private final Semaphore inside = new Semaphore(0);
  private final Semaphore outside = new Semaphore(0);
  private Throwable failure;
  private boolean isOver;
  private boolean isEnded;

  Coroutine(Runnable body) {
    Thread thread =
        new Thread(
            () -> {
              inside.acquireUninterruptibly();
              try {
                if (!isEnded) body.run();
              } catch (Ended ended) {
                // Nobody wants to know what became of it.
              } catch (Throwable thrown) {
                failure = thrown;
              }
              isOver = true;
              outside.release();
            });
    thread.setDaemon(true);
    thread.start();
  }

  boolean isOver() {
    return isOver;
  }

  /** Continues until the body waits or is over. */
  void resume() {
    if (isOver) return;
    inside.release();
    outside.acquireUninterruptibly();
    if (failure instanceof RuntimeException wrong) throw wrong;
    if (failure instanceof java.lang.Error wrong) throw wrong;
  }

  /** In the body: waits for `resume`. */
  void pause() {
    outside.release();
    inside.acquireUninterruptibly();
    if (isEnded) throw new Ended();
  }

  /** The body is given up where it waits. */
  void end() {
    isEnded = true;
    resume();
  }
}
