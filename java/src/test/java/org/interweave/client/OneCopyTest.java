package org.interweave.client;

import static org.interweave.wire.protocol.SessionCodec.MessageType.OPEN_SEGMENT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A client has one copy of a segment, by whatever URL it is opened [SPACE-60..65]. */
@Timeout(60)
class OneCopyTest {
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

  private SpaceServer[] pair() throws Exception {
    SpaceServer one = server(1);
    SpaceServer two = server(1).sharesWith(one);
    return new SpaceServer[] {one.sharesWith(two), two};
  }

  /** [SPACE-61] [SPACE-65] */
  @Test
  void twoUrlsOfOneSegmentAreOneCopyWithTheFirstName() throws Exception {
    SpaceServer[] pair = pair();
    String there = pair[1].url("/x");
    Segment segment = client.open(pair[0].url("/x"));
    assertSame(segment, client.open(there));
    assertEquals(pair[0].url("/x"), segment.url());
    assertEquals(0, pair[1].heardSoFar());
    // From now on nobody is asked.
    int asked = pair[1].listsSoFar();
    assertSame(segment, client.open(there));
    assertSame(segment, client.opened(there));
    assertEquals(asked, pair[1].listsSoFar());
    // [OPEN-1]
    for (int opened = 0; opened < 3; ++opened) segment.close();
    assertEquals(
        Error.NOT_OPEN, assertThrows(InterweaveException.class, segment::close).code());
    assertEquals(there, client.open(there).url());
  }

  /** [SPACE-61] */
  @Test
  void listsOfTheSameHostsInOtherOrderAreOneCopy() throws Exception {
    SpaceServer[] pair = pair();
    String addresses = pair[0].address() + "," + pair[1].address();
    Segment segment = client.open("iw://" + addresses + "/x");
    assertSame(
        segment, client.open("iw://" + pair[1].address() + "," + pair[0].address() + "/x"));
    assertSame(segment, client.open(pair[1].url("/x")));
    assertEquals(0, pair[1].heardSoFar());
  }

  /** [SPACE-61] */
  @Test
  void threadsThatOpenTwoNamesAtOnceGetOneCopy() throws Exception {
    for (int round = 0; round < 10; ++round) {
      SpaceServer[] pair = pair();
      CompletableFuture<Segment> other = client.openAsync(pair[1].url("/x"));
      Segment segment = client.open(pair[0].url("/x"));
      assertSame(segment, other.get());
    }
  }

  /** [SPACE-60] A restored store has the space id of the first one; so has a copied database. */
  @Test
  void anEqualSpaceIdAloneMakesNoNames() throws Exception {
    SpaceServer alone = server(1);
    SpaceServer restored = server(1);
    SpaceServer member = server(1).sharesWith();
    SpaceServer copied = server(1).sharesWith(member);
    Segment first = client.open(alone.url("/x"));
    assertNotSame(first, client.open(restored.url("/x")));
    Segment second = client.open(member.url("/y"));
    assertNotSame(second, client.open(copied.url("/y")));
  }

  /** [SPACE-60] */
  @Test
  void aServerOfAnotherSpaceIsNotAskedForMembers() throws Exception {
    SpaceServer one = server(1);
    SpaceServer other = server(2).sharesWith(one);
    one.sharesWith(other);
    assertNotSame(client.open(one.url("/x")), client.open(other.url("/x")));
    assertEquals(0, other.listsSoFar());
  }

  /** [SPACE-62] */
  @Test
  void anotherTokenHasACopyOfItsOwn() throws Exception {
    SpaceServer[] pair = pair();
    Segment segment = client.open(pair[0].url("/x"));
    OpenOptions another = OpenOptions.DEFAULT.token("another token");
    assertNotSame(segment, client.open(pair[1].url("/x"), another));
    assertEquals("another token", pair[1].hello().token());
    assertEquals(OPEN_SEGMENT, pair[1].heard());
  }

  /** [SPACE-63] */
  @Test
  void theCopyIsReachedThroughTheServersOfAllItsNames() throws Exception {
    SpaceServer[] pair = pair();
    Segment segment = client.open(pair[0].url("/x"));
    assertSame(segment, client.open(pair[1].url("/x")));
    pair[0].kill();
    segment.readNewest().close();
    assertEquals(OPEN_SEGMENT, pair[1].heard());
    assertEquals(pair[0].url("/x"), segment.url());
    pair[0].restart();
    pair[1].kill();
    segment.readNewest().close();
  }

  /** [SPACE-63] */
  @Test
  void aServerThatServesAnotherSpaceNowIsNotAsked() throws Exception {
    SpaceServer[] pair = pair();
    Segment segment = client.open(pair[0].url("/x"));
    assertSame(segment, client.open(pair[1].url("/x")));
    pair[1].serves(2);
    pair[1].cut();
    pair[0].kill();
    InterweaveException wrong =
        assertThrows(
            InterweaveException.class,
            () -> segment.write(Duration.ofSeconds(2)).close());
    assertTrue(Link.mayPass(wrong) || wrong.code() == Error.TIMED_OUT, wrong.getMessage());
    assertEquals(0, pair[1].heardSoFar());
  }

  /** [SPACE-65] */
  @Test
  void aServerThatDoesNotAnswerLeavesTwoCopies() throws Exception {
    SpaceServer[] pair = pair();
    Segment first = client.open(pair[0].url("/x"));
    pair[0].kill();
    Segment second = client.open(pair[1].url("/x"));
    assertNotSame(first, second);
    assertSame(second, client.open(pair[1].url("/x")));
  }
}
