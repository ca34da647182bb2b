package org.interweave.client;

import static org.interweave.client.SegmentTest.fails;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.objects.shapes.node;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Lists and removes the segments of a real server. */
@Timeout(60)
class DirectoryTest {
  private Server server;
  private final Client client = new Client();

  @BeforeEach
  void start() throws Exception {
    server = Server.start();
  }

  @AfterEach
  void stop() {
    client.close();
    server.close();
  }

  private List<String> urls(String prefix) {
    List<String> urls = new ArrayList<>();
    for (SegmentInfo each : client.list(server.url(prefix))) urls.add(each.url());
    return urls;
  }

  @Test
  void segmentsAreListed() {
    assertEquals(List.of(), client.list(server.url("/")));
    Segment one = client.open(server.url("/a/one"));
    one.write(lock -> new node(one, "n"));
    client.open(server.url("/a/two"));
    client.open(server.url("/b")).close();
    assertEquals(
        List.of(server.url("/a/one"), server.url("/a/two"), server.url("/b")), urls("/"));
    assertEquals(List.of(server.url("/a/one"), server.url("/a/two")), urls("/a/"));
    SegmentInfo info = client.list(server.url("/a/one")).get(0);
    assertEquals(1, info.version());
    assertEquals(1, info.blocks());
    assertEquals(1, info.clients());
  }

  @Test
  void aRemovedSegmentIsLostToThoseWhoHaveIt() throws Exception {
    Segment segment = client.open(server.url("/gone"));
    node[] made = new node[1];
    segment.write(lock -> made[0] = new node(segment, "n"));
    try (Client other = new Client()) {
      other.remove(server.url("/gone"));
      fails(Error.NO_SEGMENT, () -> other.remove(server.url("/gone")));
      assertEquals(List.of(), other.list(server.url("/")));
    }
    fails(Error.REMOVED, segment::write);
    Segment again = client.open(server.url("/gone"));
    assertEquals(0, again.version());
    // [GONE-1] [GONE-2]: the old one stays removed, and what it had stays readable.
    again.write(lock -> lock.allocate("int", 1, "n").set(1));
    fails(Error.REMOVED, segment::read);
    assertEquals(1, segment.version());
    segment.close();
    assertEquals(1, again.version());
  }

  /** [GONE-1] */
  @Test
  void aListenerIsCalledForARemoval() throws Exception {
    Segment segment = client.open(server.url("/heard"));
    segment.write(lock -> lock.allocate("int", 1, "n").set(1));
    BlockingQueue<Long> heard = new LinkedBlockingQueue<>();
    segment.onChange(Runnable::run, heard::add);
    try (Client other = new Client()) {
      other.remove(server.url("/heard"));
    }
    assertEquals(1, heard.take());
    fails(Error.REMOVED, segment::read);
  }

  @Test
  void aHeldWriterLockOfARemovedSegmentIsRolledBack() throws Exception {
    Segment segment = client.open(server.url("/held"));
    WriteLock lock = segment.write();
    lock.allocate("int", 1, "n").set(1);
    try (Client other = new Client()) {
      other.remove(server.url("/held"));
    }
    fails(Error.REMOVED, lock::release);
  }

  @Test
  void anAbsentServerIsUnreachable() throws Exception {
    String url = server.url("/");
    server.kill();
    fails(Error.UNREACHABLE, () -> client.list(url));
  }

  @Test
  void anErrorSaysHowAnAbsentServerIsStarted(@TempDir Path folder) throws Exception {
    server.kill();
    for (String url : List.of(server.url("/"), "unix:FILE:" + folder.resolve("none:/"))) {
      InterweaveException told =
          assertThrows(InterweaveException.class, () -> client.list(url), url);
      assertEquals(Error.UNREACHABLE, told.code());
      assertTrue(told.getMessage().endsWith("is one running there? (interweave serve)"), url);
    }
  }
}
