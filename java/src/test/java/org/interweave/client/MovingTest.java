package org.interweave.client;

import static org.interweave.wire.protocol.SessionCodec.MessageType.ACQUIRE_READER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.ACQUIRE_WRITER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.OPEN_SEGMENT;
import static org.interweave.wire.protocol.SessionCodec.MessageType.RELEASE_WRITER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.RESOLVE_RELEASE;
import static org.interweave.wire.protocol.SessionCodec.MessageType.SUBSCRIBE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.interweave.Interface.Connection;
import org.interweave.wire.protocol.FieldCodec.FieldKey;
import org.interweave.wire.protocol.FieldCodec.HeaderField;
import org.interweave.wire.protocol.FieldCodec.MovingField;
import org.interweave.wire.protocol.SessionCodec.Hello;
import org.interweave.wire.protocol.SessionCodec.MessageType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Segments that move to another server while they are open [SPACE-20, SPACE-23]. */
@Timeout(60)
class MovingTest {
  private final List<SpaceServer> servers = new ArrayList<>();
  private final Client client = new Client("the token");

  @AfterEach
  void stop() throws Exception {
    client.close();
    for (SpaceServer each : servers) each.close();
  }

  private SpaceServer server() throws Exception {
    SpaceServer made = new SpaceServer(1);
    servers.add(made);
    return made;
  }

  private static void hears(SpaceServer server, MessageType... wanted) throws Exception {
    for (MessageType each : wanted) assertEquals(each, server.heard());
    assertEquals(0, server.heardSoFar());
  }

  @Test
  void otherSegmentsOfTheConnectionAreNotDisturbed() throws Exception {
    SpaceServer one = server();
    SpaceServer two = server();
    Segment moving = client.open(one.url("/moving"));
    Segment staying = client.open(one.url("/staying"));
    BlockingQueue<Connection> states = new LinkedBlockingQueue<>();
    moving.onConnection(Runnable::run, states::add);
    Hello hello = one.hello();
    byte[] follows = MovingField.CODEC.toBytes(new MovingField(true));
    HeaderField said =
        hello.fields().stream()
            .filter(field -> field.key() == FieldKey.FIELD_MOVING.number)
            .findFirst()
            .orElseThrow();
    assertArrayEquals(follows, said.value());
    one.moves("/moving", two);
    assertEquals(OPEN_SEGMENT, two.heard());
    moving.write().abort();
    assertEquals(ACQUIRE_WRITER, two.heard());
    assertEquals(one.url("/moving"), moving.url());
    staying.write().abort();
    assertEquals(0, one.hellosSoFar(), "the connection stayed");
    assertEquals(List.of(OPEN_SEGMENT, OPEN_SEGMENT, ACQUIRE_WRITER),
        List.of(one.heard(), one.heard(), one.heard()));
    assertEquals(0, states.size(), "no connection was lost");
    two.kill();
    assertEquals(Connection.DISCONNECTED, states.take());
  }

  @Test
  void aWriterThatWaitsIsGrantedTheLockThere() throws Exception {
    SpaceServer one = server();
    SpaceServer two = server();
    Segment segment = client.open(one.url("/x"));
    one.answersLater(ACQUIRE_WRITER);
    CompletableFuture<WriteLock> lock = segment.writeAsync();
    hears(one, OPEN_SEGMENT, ACQUIRE_WRITER);
    one.moves("/x", two);
    lock.get().abort();
    assertEquals(OPEN_SEGMENT, two.heard());
    assertEquals(ACQUIRE_WRITER, two.heard());
    assertEquals(0, one.heardSoFar());
  }

  /** They reach a server that has given the segment away. */
  @Test
  void requestsThatCrossAreAskedThere() throws Exception {
    SpaceServer one = server();
    SpaceServer two = server();
    Segment segment = client.open(one.url("/x"));
    one.movesUnsaid("/x", two);
    segment.read().close();
    hears(one, OPEN_SEGMENT, ACQUIRE_READER);
    hears(two, OPEN_SEGMENT, ACQUIRE_READER);
  }

  /** [SPACE-20] [NOT-1] */
  @Test
  void aCopyThatIsNotConfirmedAnyMoreIsAskedFor() throws Exception {
    SpaceServer one = server();
    SpaceServer two = server();
    Segment segment = client.open(one.url("/x"));
    segment.onChange(Runnable::run, version -> {});
    while (segment.stats().localReads() == 0) segment.read().close();
    long asked = segment.stats().asked();
    one.confirmsNoMore();
    client.open(one.url("/answered-after-that"));
    segment.read().close();
    assertEquals(asked + 1, segment.stats().asked());
    two.answersLater(SUBSCRIBE);
    one.moves("/x", two);
    assertEquals(OPEN_SEGMENT, two.heard());
    segment.read().close();
    assertEquals(asked + 2, segment.stats().asked());
  }

  /** [CONN-2] */
  @Test
  void aListenerIsToldOfVersionsThere() throws Exception {
    SpaceServer one = server();
    SpaceServer two = server();
    two.isWritten();
    Segment segment = client.open(one.url("/x"));
    BlockingQueue<Long> versions = new LinkedBlockingQueue<>();
    segment.onChange(Runnable::run, versions::add);
    hears(one, OPEN_SEGMENT, SUBSCRIBE);
    one.moves("/x", two);
    assertEquals(1, versions.take());
    hears(two, OPEN_SEGMENT, SUBSCRIBE);
  }

  @Test
  void answersOfTheServerOfBeforeAreNotTakenForThoseThere() throws Exception {
    SpaceServer one = server();
    SpaceServer two = server();
    Segment segment = client.open(one.url("/x"));
    one.answersLater(SUBSCRIBE);
    two.answersLater(SUBSCRIBE);
    segment.onChange(Runnable::run, version -> {});
    hears(one, OPEN_SEGMENT, SUBSCRIBE);
    one.moves("/x", two);
    hears(two, OPEN_SEGMENT, SUBSCRIBE);
    one.refuse("/x");
    client.open(one.url("/answered-after-that"));
    segment.read().close();
    hears(two, ACQUIRE_READER);
  }

  /** [LOCK-9] */
  @Test
  void theNewOwnerIsAskedWhatBecameOfARelease() throws Exception {
    SpaceServer one = server();
    SpaceServer two = server();
    Segment segment = client.open(one.url("/x"));
    WriteLock lock = segment.write();
    lock.allocate("int", 1, "n").set(1);
    CompletableFuture<Long> version = lock.releaseAsync();
    hears(one, OPEN_SEGMENT, ACQUIRE_WRITER, RELEASE_WRITER);
    one.moves("/x", two);
    one.refuse("/x");
    assertEquals(1, version.get());
    hears(two, OPEN_SEGMENT, RESOLVE_RELEASE);
    assertEquals(1, two.resolved().sequence());
  }
}
