package org.interweave.client;

import static org.interweave.wire.protocol.SessionCodec.MessageType.ACQUIRE_WRITER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.CLOSE_SEGMENT;
import static org.interweave.wire.protocol.SessionCodec.MessageType.OPEN_SEGMENT;
import static org.interweave.wire.protocol.SessionCodec.MessageType.RELEASE_WRITER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.REMOVE_SEGMENT;
import static org.interweave.wire.protocol.SessionCodec.MessageType.RESOLVE_RELEASE;
import static org.interweave.wire.protocol.SessionCodec.MessageType.SUBSCRIBE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import javax.net.ServerSocketFactory;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.wire.protocol.ErrorCodec.ErrorCode;
import org.interweave.wire.protocol.LockCodec.ResolveRelease;
import org.interweave.wire.protocol.SessionCodec.MessageType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Servers that send the client on to others (spec/space.md). */
@Timeout(60)
class SpaceTest {
  private final List<SpaceServer> servers = new ArrayList<>();
  private final Client client = new Client("the token");

  @AfterEach
  void stop() throws Exception {
    client.close();
    for (SpaceServer each : servers) each.close();
  }

  private SpaceServer server(int space) throws Exception {
    return server(space, ServerSocketFactory.getDefault());
  }

  private SpaceServer server(int space, ServerSocketFactory sockets) throws Exception {
    SpaceServer made = new SpaceServer(space, sockets);
    servers.add(made);
    return made;
  }

  private InterweaveException refused(Client by, String url) {
    InterweaveException wrong = assertThrows(InterweaveException.class, () -> by.open(url));
    assertEquals(Error.REDIRECTED, wrong.code(), wrong.getMessage());
    return wrong;
  }

  /** Nobody listens there. */
  private static final String OUT_OF_REACH = "127.0.0.1:1";

  /** [SPACE-48, SPACE-49] */
  @Test
  void theServerOfTheUrlPassesAClientOn() throws Exception {
    SpaceServer asked = server(1).relaysTo(OUT_OF_REACH);
    Segment segment = client.open(asked.url("/x"));
    assertEquals(asked.url("/x"), segment.url());
    assertEquals(List.of(OUT_OF_REACH), asked.relayed());
    asked.hello();
    assertEquals("the token", asked.hello().token());
    asked.cut();
    segment.write().abort();
    assertEquals(List.of(OUT_OF_REACH, OUT_OF_REACH), asked.relayed());
  }

  /** [SPACE-49] */
  @Test
  void aServerThatPassesNobodyOnIsNotAskedTo() throws Exception {
    SpaceServer asked = server(1).sendsTo(OUT_OF_REACH, "");
    isAway(OUT_OF_REACH, asked);
    assertEquals(List.of(), asked.relayed());
  }

  /** That is told of an owner that stays away until the opening's deadline. */
  private void isAway(String owner, SpaceServer asked) {
    OpenOptions shortly = OpenOptions.DEFAULT.timeout(Duration.ofSeconds(2));
    InterweaveException wrong =
        assertThrows(InterweaveException.class, () -> client.open(asked.url("/x"), shortly));
    assertEquals(Error.UNREACHABLE, wrong.code(), wrong.getMessage());
    String said = wrong.getMessage();
    assertTrue(
        said.contains(
            "the server iw://" + owner + ", to which this client was sent on, cannot be reached"),
        said);
    assertTrue(said.contains("`interweave status " + asked.url("") + "` says"), said);
  }

  /** [SPACE-55] */
  @Test
  void anOwnerThatStaysAwayIsNamedAtTheDeadline() throws Exception {
    SpaceServer owner = server(1);
    SpaceServer asked = server(1).sendsTo(owner);
    owner.kill();
    isAway(owner.address(), asked);
    assertTrue(asked.heardSoFar() > 1);
  }

  /** [SPACE-55] */
  @Test
  void anOwnerThatWasAskedIsNotCalledAway() throws Exception {
    SpaceServer slow = server(1);
    slow.ignoresOpenings();
    SpaceServer asked = server(1).sendsTo(OUT_OF_REACH, "");
    OpenOptions shortly = OpenOptions.DEFAULT.timeout(Duration.ofSeconds(2));
    CompletableFuture<Segment> opening = client.openAsync(asked.url("/x"), shortly);
    assertEquals(OPEN_SEGMENT, asked.heard());
    asked.sendsTo(slow);
    assertEquals(OPEN_SEGMENT, slow.heard());
    ExecutionException wrong = assertThrows(ExecutionException.class, opening::get);
    InterweaveException told = (InterweaveException) wrong.getCause();
    assertEquals(Error.TIMED_OUT, told.code(), told.getMessage());
  }

  /** [SPACE-55] */
  @Test
  void aSegmentIsAskedForUntilItIsTakenOver() throws Exception {
    SpaceServer owner = server(1);
    SpaceServer asked = server(1).sendsTo(owner);
    owner.kill();
    CompletableFuture<Segment> opening = client.openAsync(asked.url("/x"));
    for (int i = 0; i < 3; ++i) assertEquals(OPEN_SEGMENT, asked.heard());
    asked.owns();
    opening.get();
    asked.sendsTo(owner);
    CompletableFuture<Void> removal =
        CompletableFuture.runAsync(() -> client.remove(asked.url("/y")));
    for (int i = 0; i < 3; ) if (asked.heard() == REMOVE_SEGMENT) ++i;
    asked.owns();
    removal.get();
  }

  /** [SPACE-55] */
  @Test
  void anOwnerThatStopsOrDiesOfAnOpeningIsNotTheLast() throws Exception {
    SpaceServer owner = server(1);
    SpaceServer asked = server(1).sendsTo(owner);
    owner.welcomesNobody(ErrorCode.STOPPING);
    CompletableFuture<Segment> opening = client.openAsync(asked.url("/x"));
    for (int i = 0; i < 3; ++i) assertEquals(OPEN_SEGMENT, asked.heard());
    owner.welcomesNobody(null);
    opening.get();
    assertEquals(OPEN_SEGMENT, owner.heard());
    owner.diesOfOpenings();
    opening = client.openAsync(asked.url("/y"));
    assertEquals(OPEN_SEGMENT, owner.heard());
    asked.owns();
    opening.get();
  }

  /** [CONN-1] Until the lease of its earlier start is over, the server refuses it [SPACE-17]. */
  @Test
  void aListenerIsBackOnceTheRestartedServerServesTheSegment() throws Exception {
    SpaceServer server = server(1);
    client.open(server.url("/x")).onChange(Runnable::run, version -> {});
    assertEquals(OPEN_SEGMENT, server.heard());
    assertEquals(SUBSCRIBE, server.heard());
    server.opensNothing(ErrorCode.STOPPING);
    server.cut();
    assertEquals(OPEN_SEGMENT, server.heard());
    server.opensNothing(null);
    MessageType next = server.heard();
    while (next == OPEN_SEGMENT) next = server.heard();
    assertEquals(SUBSCRIBE, next);
  }

  /** [SPACE-55] As a process that was stopped: the system takes connections for it. */
  @Test
  void anOwnerThatSaysNothingLeavesTimeForAnother() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 8, InetAddress.getByName("127.0.0.1"))) {
      SpaceServer asked = server(1).sendsTo("127.0.0.1:" + silent.getLocalPort(), "");
      CompletableFuture<Segment> opening = client.openAsync(asked.url("/x"));
      try (Socket connection = silent.accept()) {
        assertTrue(connection.isConnected());
        asked.owns();
        opening.get();
      }
    }
  }

  /** [SPACE-55] */
  @Test
  void aServerOfTheUrlThatIsGoneIsNotWaitedFor() throws Exception {
    SpaceServer owner = server(1);
    SpaceServer asked = server(1).sendsTo(owner);
    owner.kill();
    CompletableFuture<Segment> opening = client.openAsync(asked.url("/x"));
    for (int i = 0; i < 2; ++i) assertEquals(OPEN_SEGMENT, asked.heard());
    asked.kill();
    ExecutionException wrong = assertThrows(ExecutionException.class, opening::get);
    String said = wrong.getCause().getMessage();
    assertTrue(said.contains(asked.address()) && !said.contains(owner.address()), said);
  }

  /** [SPACE-10, SPACE-11, SPACE-13] */
  @Test
  void segmentsAreOpenedWhereTheyAreAndKeepTheirUrls() throws Exception {
    SpaceServer owner = server(1);
    SpaceServer asked = server(1).sendsTo(owner);
    Segment first = client.open(asked.url("/first"));
    Segment second = client.open(asked.url("/second"));
    assertEquals(asked.url("/first"), first.url());
    assertSame(first, client.open(asked.url("/first")));
    assertSame(second, client.opened(asked.url("/second")));
    assertEquals("the token", owner.hello().token());
    assertEquals(0, owner.hellosSoFar(), "both share a connection");
    assertEquals(List.of(OPEN_SEGMENT, OPEN_SEGMENT), List.of(owner.heard(), owner.heard()));
    second.close();
    assertEquals(CLOSE_SEGMENT, owner.heard());
    assertEquals(OPEN_SEGMENT, asked.heard());
    assertEquals(OPEN_SEGMENT, asked.heard());
    assertEquals(0, asked.heardSoFar());
  }

  /** A session opens a path once [OPEN-2]: the server would take both for one. */
  @Test
  void twoUrlsOfOnePathHaveTwoConnectionsToTheOwner() throws Exception {
    SpaceServer owner = server(1);
    SpaceServer asked = server(1).sendsTo(owner);
    client.open(asked.url("/x"));
    client.open(owner.url("/x"));
    client.open(owner.url("/y"));
    owner.hello();
    owner.hello();
    assertEquals(0, owner.hellosSoFar());
  }

  /** [SPACE-10] */
  @Test
  void threeHopsAreFollowedAndNotFour() throws Exception {
    SpaceServer last = server(1);
    SpaceServer third = server(1);
    SpaceServer second = server(1).sendsTo(third);
    SpaceServer first = server(1).sendsTo(second);
    SpaceServer asked = server(1).sendsTo(first);
    client.open(asked.url("/x")).close();
    third.sendsTo(last);
    InterweaveException wrong = refused(client, asked.url("/x"));
    assertTrue(wrong.getMessage().contains(last.address()), wrong.getMessage());
    assertEquals(0, last.hellosSoFar());
    assertThrows(InterweaveException.class, () -> client.remove(asked.url("/x")));
    assertEquals(0, last.hellosSoFar());
  }

  /** [SPACE-9, SPACE-10] */
  @Test
  void aSegmentIsRemovedWhereItIs() throws Exception {
    SpaceServer owner = server(1);
    SpaceServer between = server(1).sendsTo(owner);
    SpaceServer asked = server(1).sendsTo(between);
    client.remove(asked.url("/x"));
    assertEquals(REMOVE_SEGMENT, owner.heard());
    assertEquals("the token", owner.hello().token());
  }

  /** [SPACE-35] */
  @Test
  void clientsOfASegmentOfAnotherServerAreNotKnown() throws Exception {
    List<SegmentInfo> listed = client.list(server(1).url("/"));
    assertEquals(List.of(-1L, 2L), listed.stream().map(SegmentInfo::clients).toList());
    assertEquals(1, listed.get(0).version());
  }

  /** [SPACE-12] */
  @Test
  void aServerOfAnotherSpaceIsNotAsked() throws Exception {
    SpaceServer stranger = server(2);
    SpaceServer asked = server(1).sendsTo(stranger);
    InterweaveException wrong = refused(client, asked.url("/x"));
    assertTrue(wrong.getMessage().contains(stranger.address()), wrong.getMessage());
    assertThrows(InterweaveException.class, () -> client.remove(asked.url("/x")));
    assertEquals(0, stranger.heardSoFar());
  }

  @Test
  void anAddressThatIsNoneIsTold() throws Exception {
    refused(client, server(1).sendsTo("no address", "").url("/x"));
  }

  /** [SPACE-14] */
  @Test
  void theOwnerIsAskedFirstAndThenTheServerOfTheUrl() throws Exception {
    SpaceServer owner = server(1);
    SpaceServer asked = server(1).sendsTo(owner);
    client.open(asked.url("/x"));
    assertEquals(OPEN_SEGMENT, asked.heard());
    assertEquals(OPEN_SEGMENT, owner.heard());
    owner.cut();
    assertEquals(OPEN_SEGMENT, owner.heard());
    assertEquals(0, asked.heardSoFar());
    SpaceServer next = server(1);
    asked.sendsTo(next);
    owner.kill();
    assertEquals(OPEN_SEGMENT, next.heard());
    asked.owns();
    next.kill();
    client.open(asked.url("/x")).write().abort();
    while (asked.heard() != ACQUIRE_WRITER) continue;
  }

  /** [SPACE-14] */
  @Test
  void theOwnerIsAskedAgainWhileTheServerOfTheUrlIsAway() throws Exception {
    SpaceServer owner = server(1);
    SpaceServer asked = server(1).sendsTo(owner);
    client.open(asked.url("/x"));
    assertEquals(OPEN_SEGMENT, owner.heard());
    asked.kill();
    owner.kill();
    Segment segment = client.opened(asked.url("/x"));
    assertThrows(
        InterweaveException.class, () -> segment.write(Duration.ofMillis(300)));
    owner.restart();
    assertEquals(OPEN_SEGMENT, owner.heard());
  }

  /** One that started anew sends clients to its own address, until its former claim ends. */
  @Test
  void aServerThatStartedAnewIsAskedUntilItHasTheSegment() throws Exception {
    SpaceServer owner = server(1);
    SpaceServer asked = server(1).sendsTo(owner);
    Segment segment = client.open(asked.url("/x"));
    owner.sendsTo(owner);
    owner.cut();
    CompletableFuture<WriteLock> lock = segment.writeAsync(Duration.ofSeconds(30));
    for (int i = 0; i < 10; ++i) assertEquals(OPEN_SEGMENT, owner.heard());
    owner.owns();
    lock.get().abort();
    owner.sendsTo(owner);
    owner.cut();
    assertThrows(InterweaveException.class, () -> segment.write(Duration.ofMillis(500)));
  }

  /** [SPACE-14, LOCK-9] */
  @Test
  void theNextOwnerIsAskedWhatBecameOfARelease() throws Exception {
    SpaceServer owner = server(1);
    SpaceServer asked = server(1).sendsTo(owner);
    Segment segment = client.open(asked.url("/x"));
    WriteLock lock = segment.write();
    lock.allocate("int", 1, "n").set(1);
    owner.diesOfReleases();
    asked.owns();
    assertEquals(1, lock.release());
    assertEquals(1, segment.version());
    assertEquals(
        List.of(OPEN_SEGMENT, ACQUIRE_WRITER, RELEASE_WRITER),
        List.of(owner.heard(), owner.heard(), owner.heard()));
    assertEquals(
        List.of(OPEN_SEGMENT, OPEN_SEGMENT, RESOLVE_RELEASE),
        List.of(asked.heard(), asked.heard(), asked.heard()));
    ResolveRelease question = asked.resolved();
    assertEquals(1, question.sequence());
    assertArrayEquals(owner.session(1), question.session(), "that of the owner");
  }

  private static ServerSocketFactory encrypted(Authority authority, String name)
      throws Exception {
    String store = authority.file(name + ".p12");
    Authority.openssl(
        "pkcs12", "-export", "-in", authority.file(name + ".pem"), "-inkey",
        authority.file(name + ".key"), "-passout", "pass:secret", "-out", store);
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(Path.of(store))) {
      keys.load(in, "secret".toCharArray());
    }
    KeyManagerFactory managers =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    managers.init(keys, "secret".toCharArray());
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(managers.getKeyManagers(), null, null);
    return context.getServerSocketFactory();
  }

  /** [SPACE-11] */
  @Test
  void theNextServersCertificateIsCheckedForItsTlsName(@TempDir Path folder) throws Exception {
    Authority authority = new Authority(folder);
    Server.run("cert", "client", folder.toString(), "owner");
    authority.certify("owner", "20990101000000Z", "subjectAltName=DNS:owner.test");
    SpaceServer owner = server(1, encrypted(authority, "owner"));
    SpaceServer asked =
        server(1, encrypted(authority, "server")).sendsTo(owner.address(), "owner.test");
    try (Client secure = new Client("the token", authority.trusting())) {
      String url = asked.url("/x").replace("iw:", "iws:");
      secure.open(url).close();
      assertEquals("the token", owner.hello().token());
      asked.sendsTo(owner);
      InterweaveException wrong =
          assertThrows(InterweaveException.class, () -> secure.open(url));
      assertEquals(Error.DENIED, wrong.code(), wrong.getMessage());
      assertEquals(0, owner.hellosSoFar(), "it was shown no token");
    }
  }
}
