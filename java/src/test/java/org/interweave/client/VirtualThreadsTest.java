package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Ten thousand virtual threads under the locks of one segment, where the machine has them. */
@Timeout(120)
class VirtualThreadsTest {
  private static final int THREADS = 10_000;
  /** So many threads there are for each one that writes. */
  private static final int READERS = 50;

  /** By reflection, because the tests are compiled for Java 17. */
  private static ExecutorService executor() throws ReflectiveOperationException {
    assumeTrue(Runtime.version().feature() >= 21, "this Java has no virtual threads");
    return (ExecutorService)
        Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
  }

  private static long add(Segment segment) {
    return segment.write(lock -> lock.value("n").set(lock.value("n").integer() + 1));
  }

  private static long read(Segment segment) {
    try (ReadLock lock = segment.read()) {
      return lock.value("n").integer();
    }
  }

  @Test
  void manyVirtualThreadsShareASegment() throws Exception {
    ExecutorService executor = executor();
    try (Server server = Server.start();
        Client client = new Client()) {
      Segment segment = client.open(server.url("/virtual"));
      segment.write(lock -> lock.allocate("int", 1, "n"));
      List<Future<Long>> answers = new ArrayList<>();
      for (int i = 0; i < THREADS; ++i) {
        boolean isWriter = i % READERS == 0;
        answers.add(executor.submit(() -> isWriter ? add(segment) : read(segment)));
      }
      int written = THREADS / READERS;
      for (Future<Long> each : answers) {
        assertTrue(each.get(60, TimeUnit.SECONDS) <= written + 1);
      }
      assertEquals(written, read(segment));
    } finally {
      executor.shutdown();
    }
  }
}
