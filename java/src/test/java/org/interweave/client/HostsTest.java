package org.interweave.client;

import static org.interweave.wire.protocol.SessionCodec.MessageType.ABORT_WRITER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.ACQUIRE_WRITER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.OPEN_SEGMENT;
import static org.interweave.wire.protocol.SessionCodec.MessageType.RELEASE_WRITER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.RESOLVE_RELEASE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.wire.Hosts;
import org.interweave.wire.protocol.ErrorCodec.ErrorCode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** URLs with several hosts of one space [SPACE-46, SPACE-47]. */
@Timeout(60)
class HostsTest {
  private static final long SECOND = 1_000_000_000;

  private final List<SpaceServer> servers = new ArrayList<>();
  private final Client client = new Client("the token");

  @AfterEach
  void stop() throws Exception {
    client.close();
    for (SpaceServer each : servers) each.close();
  }

  private SpaceServer server(int space) throws Exception {
    SpaceServer made = new SpaceServer(space);
    servers.add(made);
    return made;
  }

  private static String url(SpaceServer one, SpaceServer two) {
    return "iw://" + one.address() + "," + two.address() + "/x";
  }

  private InterweaveException refused(Error code, String url) {
    InterweaveException wrong =
        assertThrows(InterweaveException.class, () -> client.open(url));
    assertEquals(code, wrong.code(), wrong.getMessage());
    return wrong;
  }

  /** [SPACE-46] [MIP-7] */
  @Test
  void theFirstHostIsAskedAndEachListIsAServerOfItsOwn() throws Exception {
    SpaceServer one = server(1);
    SpaceServer two = server(1);
    Segment segment = client.open(url(one, two));
    assertEquals(url(one, two), segment.url());
    assertEquals(OPEN_SEGMENT, one.heard());
    assertEquals(0, two.hellosSoFar());
    assertNotSame(segment, client.open(url(two, one)));
    assertEquals(OPEN_SEGMENT, two.heard());
    assertNotSame(segment, client.open(one.url("/x")));
    assertEquals(OPEN_SEGMENT, one.heard());
  }

  /** [SPACE-46] */
  @Test
  void aHostThatCannotBeReachedOrStopsIsPassedOver() throws Exception {
    SpaceServer one = server(1);
    SpaceServer two = server(1);
    one.kill();
    client.open(url(one, two)).close();
    one.restart();
    one.welcomesNobody(ErrorCode.STOPPING);
    client.open(url(one, two)).close();
    client.remove(url(one, two));
    InterweaveException wrong =
        assertThrows(
            InterweaveException.class,
            () -> client.open("iw://no-such-host.invalid," + one.address() + "/x"));
    assertEquals(Error.UNREACHABLE, wrong.code());
    assertTrue(wrong.getMessage().contains("no-such-host.invalid"), wrong.getMessage());
  }

  /** [SPACE-46] */
  @Test
  void everyOtherRefusalIsFinal() throws Exception {
    SpaceServer one = server(1);
    SpaceServer two = server(1);
    one.welcomesNobody(ErrorCode.DENIED);
    refused(Error.DENIED, url(one, two));
    assertEquals(0, two.hellosSoFar());
  }

  /** [SPACE-46] */
  @Test
  void theErrorNamesEachHostWithWhatHappenedThere() throws Exception {
    SpaceServer one = server(1);
    SpaceServer two = server(1);
    one.kill();
    two.welcomesNobody(ErrorCode.STOPPING);
    String said = refused(Error.UNREACHABLE, url(one, two)).getMessage();
    assertTrue(said.contains("at iw://" + one.address()), said);
    assertTrue(said.contains("iw://" + two.address() + ": not now"), said);
    one.restart();
    one.welcomesNobody(ErrorCode.STOPPING);
    refused(Error.STOPPING, url(one, two));
  }

  /** [SPACE-46] */
  @Test
  void aHostThatIsThereKeepsItsClientAndTheNextOneComesAfterIt() throws Exception {
    SpaceServer one = server(1);
    SpaceServer two = server(1);
    Segment segment = client.open(url(one, two));
    assertEquals(OPEN_SEGMENT, one.heard());
    assertArrayEquals(new byte[16], one.hello().session());
    one.cut();
    assertEquals(OPEN_SEGMENT, one.heard());
    assertArrayEquals(one.session(1), one.hello().session(), "the session that it has");
    one.kill();
    assertEquals(OPEN_SEGMENT, two.heard());
    segment.write().abort();
    assertEquals(ACQUIRE_WRITER, two.heard());
    assertEquals(ABORT_WRITER, two.heard());
    assertArrayEquals(one.session(2), two.hello().session(), "the session of the first host");
    two.cut();
    assertEquals(OPEN_SEGMENT, two.heard());
  }

  /** [SPACE-47] [LOCK-9] */
  @Test
  void theNextHostIsAskedWhatBecameOfARelease() throws Exception {
    SpaceServer one = server(1);
    SpaceServer two = server(1);
    Segment segment = client.open(url(one, two));
    WriteLock lock = segment.write();
    lock.allocate("int", 1, "n").set(1);
    one.diesOfReleases();
    assertEquals(1, lock.release());
    assertEquals(
        List.of(OPEN_SEGMENT, ACQUIRE_WRITER, RELEASE_WRITER),
        List.of(one.heard(), one.heard(), one.heard()));
    assertEquals(List.of(OPEN_SEGMENT, RESOLVE_RELEASE), List.of(two.heard(), two.heard()));
    assertArrayEquals(one.session(1), two.resolved().session());
  }

  /** [SPACE-47] */
  @Test
  void aHostOfAnotherSpaceIsNotAsked() throws Exception {
    SpaceServer one = server(1);
    SpaceServer stranger = server(2);
    Segment segment = client.open(url(one, stranger));
    one.kill();
    InterweaveException wrong =
        assertThrows(
            InterweaveException.class, () -> segment.write(Duration.ofSeconds(2)));
    assertEquals(Error.UNREACHABLE, wrong.code());
    assertTrue(wrong.getMessage().contains("another space"), wrong.getMessage());
    assertTrue(wrong.getMessage().contains(stranger.address()), wrong.getMessage());
    assertEquals(0, stranger.heardSoFar());
    one.restart();
    segment.write().abort();
  }

  /** [SPACE-46] [CONN-1] */
  @Test
  void aRoundHasNoPauseAndRoundsHavePausesThatGrow() {
    Attempts attempts =
        new Attempts(Hosts.parse("a,b,c", false), new SocketAddress[3], 0);
    InterweaveException away = InterweaveException.of(Error.UNREACHABLE, "away");
    long now = 0;
    for (int pause : new int[] {50, 100, 200, 400, 800, 1600, 2000, 2000}) {
      for (String host : new String[] {"a", "b", "c"}) {
        assertTrue(attempts.isDue(now));
        assertEquals(host, attempts.host().server.host());
        assertEquals(host.equals("c"), attempts.failed(away, now));
      }
      assertFalse(attempts.isDue(now + pause * 1_000_000L - 1));
      now += pause * 1_000_000L;
    }
    attempts.failed(away, now);
    attempts.welcomed();
    assertEquals("b", attempts.host().server.host());
    attempts.lost(away, now, now + 3 * SECOND);
    assertEquals("b", attempts.host().server.host(), "it has the session");
    assertTrue(attempts.isDue(now + 3 * SECOND), "a host that lived long is asked at once");
    assertFalse(attempts.failed(away, now));
    assertFalse(attempts.failed(away, now));
    assertTrue(attempts.failed(away, now), "the host of before is the last of the round");
  }
}
