package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.interweave.Interface;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.SegmentLostException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Segments behind iws:// URLs [MIP-2] [NET-5]: the real server with real certificates. */
@Timeout(60)
class TlsTest {
  private static final String ENDED = "20210101000000Z";

  private static Authority authority;
  private static Authority another;

  @TempDir private static Path folder;

  private final List<Client> clients = new ArrayList<>();

  @BeforeAll
  static void makeCertificates() throws Exception {
    authority = new Authority(folder.resolve("own"));
    another = new Authority(folder.resolve("another"));
  }

  @AfterEach
  void stop() {
    for (Client each : clients) each.close();
  }

  private Client client(TlsFiles files) {
    Client made = new Client("", files);
    clients.add(made);
    return made;
  }

  private static String secure(Server server, String path) {
    return server.url(path).replace("iw://", "iws://");
  }

  private void refuses(String url, TlsFiles files, Error code, String... words) {
    Client own = client(files);
    InterweaveException wrong = assertThrows(InterweaveException.class, () -> own.open(url));
    assertEquals(code, wrong.code(), wrong.getMessage());
    for (String each : words) {
      assertTrue(wrong.getMessage().contains(each), wrong.getMessage() + " lacks " + each);
    }
  }

  private static void put(Segment segment, int value) {
    segment.write(lock -> lock.allocate("int", 1, "n").set(value));
  }

  private static void change(Segment segment, int value) {
    segment.write(lock -> lock.value("n").set(value));
  }

  private static long get(Segment segment) {
    try (ReadLock lock = segment.read()) {
      return lock.value("n").integer();
    }
  }

  /** Many records both ways, more than any buffer holds. */
  @Test
  void encryptedAndPlainClientsOfOnePortShare() throws Exception {
    int count = 1 << 19;
    try (Server server = authority.serve()) {
      Segment own = client(authority.trusting()).open(secure(server, "/numbers"));
      Segment plain = client(null).open(server.url("/numbers"));
      Segment other = client(authority.trusting()).open(secure(server, "/numbers"));
      double[] sent = new double[count];
      for (int round = 1; round <= 2; ++round) {
        for (int i = 0; i < count; ++i) sent[i] = round * 0.5 + i;
        boolean isFirst = round == 1;
        own.write(
            lock -> {
              Value row =
                  isFirst ? lock.allocate(Types.DOUBLE, count, "row") : lock.value("row");
              row.set(sent);
            });
        for (Segment reader : List.of(plain, other)) {
          try (ReadLock lock = reader.read()) {
            assertTrue(Arrays.equals(sent, lock.value("row").doubles()));
          }
        }
      }
    }
  }

  @Test
  void aServerOfAnUnknownAuthorityIsDenied() throws Exception {
    try (Server server = authority.serve()) {
      String url = secure(server, "/s");
      refuses(url, another.trusting(), Error.DENIED, "not trusted", "unknown authority", "IW_CA");
      refuses(url, new TlsFiles("", "", ""), Error.DENIED, "not trusted", "IW_CA");
    }
  }

  /** The certificate names localhost and 127.0.0.1, which are not all names of this host. */
  @Test
  void aCertificateForAnotherAddressIsDenied() throws Exception {
    try (Server server = authority.serve();
        Between between = new Between(server)) {
      refuses(between.url("127.0.0.2", "/s"), authority.trusting(), Error.DENIED,
          "not trusted", "not for the host 127.0.0.2");
      for (String host : List.of("localhost", "127.0.0.1")) {
        client(authority.trusting()).open(between.url(host, "/s"));
      }
    }
  }

  @Test
  void aCertificateForAnotherNameIsDenied(@TempDir Path other) throws Exception {
    Authority own = new Authority(other);
    own.certify("server", "20990101000000Z", "subjectAltName=DNS:sim.lab.example,IP:127.0.0.1\n");
    try (Server server = own.serve()) {
      String url = secure(server, "/s");
      client(own.trusting()).open(url);
      refuses(url.replace("127.0.0.1", "localhost"), own.trusting(), Error.DENIED,
          "not for the host localhost");
    }
  }

  @Test
  void aFileThatCannotBeUsedIsNamed() throws Exception {
    Path empty = Files.writeString(folder.resolve("empty.pem"), "nothing\n");
    Path broken = Files.writeString(folder.resolve("broken.pem"),
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    Path older = Files.writeString(folder.resolve("older.key"),
        "-----BEGIN EC PRIVATE KEY-----\nSECRET\n-----END EC PRIVATE KEY-----\n");
    String ca = authority.file("ca.pem");
    String alice = authority.file("alice.pem");
    try (Server server = authority.serve()) {
      String url = secure(server, "/s");
      refuses(url, new TlsFiles(authority.file("nothing.pem"), "", ""), Error.DENIED,
          "nothing.pem of IW_CA or of the option ca", "the file does not exist");
      refuses(url, new TlsFiles(empty.toString(), "", ""), Error.DENIED, "IW_CA",
          "no certificate");
      refuses(url, new TlsFiles(broken.toString(), "", ""), Error.DENIED, "IW_CA",
          "cannot be read");
      refuses(url, new TlsFiles(ca, alice, ""), Error.DENIED, "IW_CERT and IW_KEY, or the options");
      refuses(url, new TlsFiles(ca, "", authority.file("alice.key")), Error.DENIED,
          "IW_CERT and IW_KEY, or the options");
      refuses(url, new TlsFiles(ca, empty.toString(), authority.file("alice.key")), Error.DENIED,
          "empty.pem of IW_CERT");
      refuses(url, new TlsFiles(ca, alice, authority.file("server.key")), Error.DENIED,
          "server.key of IW_KEY", "not the private key of", "alice.pem");
      refuses(url, new TlsFiles(ca, alice, alice), Error.DENIED, "option key", "PKCS#8");
      refuses(url, new TlsFiles(ca, alice, older.toString()), Error.DENIED,
          "older.key of IW_KEY or of the option key", "PKCS#8");
    }
  }

  @Test
  void aServerWithoutTlsIsUnreachableWithAHint() throws Exception {
    try (Server server = Server.start()) {
      refuses(secure(server, "/s"), authority.trusting(), Error.UNREACHABLE, "--tls-cert",
          "iw://");
    }
  }

  @Test
  void aServerTakesAClientByItsCertificate() throws Exception {
    try (Server server =
        authority.serve("--tls", "required", "--client-ca", authority.file("ca.pem"))) {
      String url = secure(server, "/s");
      refuses(url, authority.trusting(), Error.DENIED, "refuses this client", "IW_CERT");
      TlsFiles foreign =
          new TlsFiles(
              authority.file("ca.pem"), another.file("alice.pem"), another.file("alice.key"));
      refuses(url, foreign, Error.DENIED, "refuses this client");
      refuses(server.url("/s"), null, Error.DENIED, "encrypted connections only");
      Segment own = client(authority.being("alice")).open(url);
      put(own, 4);
      assertEquals(4, get(own));
    }
  }

  /** Others than those of `interweave cert`. */
  @Test
  void keysOfEachKindAreShown(@TempDir Path fresh) throws Exception {
    Authority own = new Authority(fresh);
    try (Server server = own.serve("--tls", "required", "--client-ca", own.file("ca.pem"))) {
      for (String kind : List.of("RSA", "ED25519")) {
        Authority.openssl("genpkey", "-algorithm", kind, "-out", own.file("alice.key"));
        own.certify("alice", "20990101000000Z", "extendedKeyUsage=clientAuth\n");
        client(own.being("alice")).open(secure(server, "/" + kind));
      }
    }
  }

  @Test
  void anExpiredCertificateIsDenied(@TempDir Path fresh) throws Exception {
    Authority own = new Authority(fresh);
    own.certify("alice", ENDED, "extendedKeyUsage=clientAuth\n");
    try (Server server = own.serve("--client-ca", own.file("ca.pem"))) {
      refuses(secure(server, "/s"), own.being("alice"), Error.DENIED, "refuses this client",
          "expired");
    }
    own.certify("server", ENDED, "subjectAltName=IP:127.0.0.1\n");
    try (Server server = own.serve()) {
      refuses(secure(server, "/s"), own.trusting(), Error.DENIED, "it has expired");
    }
  }

  /** [CONN-1, CONN-2]; the second certificate is read though the client stays. */
  @Test
  void aSegmentIsOpenedAgainAtARestartedServer(@TempDir Path place) throws Exception {
    Authority own = new Authority(place.resolve("certificates"));
    try (Server server = own.serve("--store", place.resolve("store").toString(), "--tls",
            "required", "--client-ca", own.file("ca.pem"))) {
      Segment written = client(own.being("alice")).open(secure(server, "/kept"));
      Segment read = client(own.being("alice")).open(secure(server, "/kept"));
      BlockingQueue<Long> heard = new LinkedBlockingQueue<>();
      read.onChange(Runnable::run, version -> heard.add(get(read)));
      put(written, 1);
      assertEquals(1, heard.poll(20, TimeUnit.SECONDS));
      server.kill();
      assertThrows(InterweaveException.class, () -> read.readNewest(Duration.ofMillis(100)));
      Server.run("cert", "client", own.file(""), "bob");
      for (String end : List.of("pem", "key")) {
        Files.move(Path.of(own.file("bob." + end)), Path.of(own.file("alice." + end)),
            StandardCopyOption.REPLACE_EXISTING);
      }
      server.restart();
      change(written, 2);
      assertEquals(2, heard.poll(20, TimeUnit.SECONDS));
      assertEquals(2, get(read));
    }
  }

  @Test
  void aCutOrSpoiltConnectionIsALostOne() throws Exception {
    try (Server server = authority.serve();
        Between between = new Between(server)) {
      Segment own = client(authority.trusting()).open(between.url("127.0.0.1", "/s"));
      put(own, 1);
      BlockingQueue<Interface.Connection> heard = new LinkedBlockingQueue<>();
      own.onConnection(Runnable::run, heard::add);
      for (boolean isSpoilt : new boolean[] {true, false}) {
        if (isSpoilt) between.spoil();
        else between.cut();
        Interface.Connection next = heard.poll(20, TimeUnit.SECONDS);
        if (next == Interface.Connection.CONNECTED) next = heard.poll(20, TimeUnit.SECONDS);
        assertEquals(Interface.Connection.DISCONNECTED, next);
        assertEquals(Interface.Connection.CONNECTED, heard.poll(20, TimeUnit.SECONDS));
        change(own, isSpoilt ? 2 : 3);
      }
      assertEquals(3, get(own));
    }
  }

  @Test
  void aLossWithinTlsIsALossOfTheSegmentToo() throws Exception {
    try (Server server = authority.serve()) {
      Segment own = client(authority.trusting()).open(secure(server, "/lost"));
      put(own, 1);
      server.kill();
      server.restart();
      assertThrows(SegmentLostException.class, own::read);
    }
  }

  /** A peer that takes connections and says nothing. */
  @Test
  void aSilentServerHoldsUpNobody() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 8, InetAddress.getLoopbackAddress());
        Server server = authority.serve()) {
      String url = "iws://127.0.0.1:" + silent.getLocalPort() + "/s";
      Client waiting = client(authority.trusting());
      CompletableFuture<Segment> opening = waiting.openAsync(url);
      try (Socket taken = silent.accept()) {
        assertEquals(0x16, taken.getInputStream().read());
        Segment own = client(authority.trusting()).open(secure(server, "/s"));
        put(own, 1);
        assertEquals(1, get(own));
        assertFalse(opening.isDone());
      }
      Throwable wrong = assertThrows(Exception.class, opening::join).getCause();
      assertEquals(Error.UNREACHABLE, ((InterweaveException) wrong).code());
      assertTrue(wrong.getMessage().contains("does not answer with TLS"), wrong.getMessage());
    }
  }

  @Test
  void threadsShareAConnection() throws Exception {
    try (Server server = authority.serve()) {
      Client own = client(authority.trusting());
      List<CompletableFuture<Void>> rounds = new ArrayList<>();
      for (int one = 0; one < 4; ++one) {
        int changed = one % 2 == 0 ? 100_000 : 1;
        String url = secure(server, "/" + one);
        rounds.add(CompletableFuture.runAsync(() -> countTo(own.open(url), 30, changed)));
      }
      for (CompletableFuture<Void> each : rounds) each.join();
    }
  }

  private static void countTo(Segment segment, int rounds, int changed) {
    segment.write(lock -> lock.allocate(Types.INT, 100_000, "row"));
    for (int round = 1; round <= rounds; ++round) {
      int value = round;
      segment.write(
          lock -> {
            int[] row = lock.value("row").ints();
            for (int i = 0; i < changed; ++i) row[i] = value;
            lock.value("row").set(row);
          });
    }
    try (ReadLock lock = segment.read()) {
      assertEquals(rounds, lock.value("row").ints()[changed - 1]);
    }
  }

  // ---- programs of their own, with an environment ----

  private static List<String> run(String url, String ca, String... options) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of(options));
    command.addAll(
        List.of("-cp", System.getProperty("java.class.path"), Opened.class.getName(), url));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().keySet().removeAll(List.of("IW_CA", "IW_CERT", "IW_KEY"));
    if (!ca.isEmpty()) builder.environment().put("IW_CA", ca);
    Process process = builder.start();
    try (BufferedReader said =
        new BufferedReader(new InputStreamReader(process.getInputStream()))) {
      return said.lines().toList();
    }
  }

  /** The other half of the test is that the program with TLS loads some. */
  @Test
  void aProgramWithoutTlsLoadsNoClassOfIt() throws Exception {
    String word = "javax.net.ssl.";
    try (Server server = authority.serve()) {
      List<String> plain = run(server.url("/s"), "", "-Xlog:class+load");
      assertTrue(plain.contains("opened"), plain::toString);
      assertEquals(List.of(), plain.stream().filter(line -> isOfTls(line, word)).toList());
      List<String> secure =
          run(secure(server, "/s"), authority.file("ca.pem"), "-Xlog:class+load");
      assertTrue(secure.contains("opened"), secure::toString);
      assertTrue(secure.stream().anyMatch(line -> isOfTls(line, word)));
    }
  }

  private static boolean isOfTls(String line, String word) {
    return line.contains(word) || line.contains("client.Encryption") || line.contains("TlsFiles");
  }

  @Test
  void theEnvironmentNamesTheFiles() throws Exception {
    try (Server server = authority.serve()) {
      String url = secure(server, "/s");
      assertEquals(List.of("opened"), run(url, authority.file("ca.pem")));
      assertEquals(List.of("DENIED"), run(url, ""));
      assertEquals(List.of("DENIED"), run(url, another.file("ca.pem")));
    }
  }

  /** Opens a segment. */
  static final class Opened {
    public static void main(String[] arguments) {
      try (Segment segment = Segment.open(arguments[0])) {
        segment.read().close();
        System.out.println("opened");
      } catch (InterweaveException wrong) {
        System.out.println(wrong.code());
      }
    }
  }

  // ---- a server of others, because ours changes its keys only after very many bytes ----

  private static Process openssl(String... options) throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of("stdbuf", "-oL", "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert",
                authority.file("server.pem"), "-key", authority.file("server.key")));
    command.addAll(List.of(options));
    return new ProcessBuilder(command).redirectErrorStream(true).start();
  }

  private static String lineWith(BufferedReader lines, String text) throws IOException {
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.contains(text)) return line;
    }
    throw new IOException("openssl ended without saying " + text);
  }

  private static int portOf(BufferedReader lines) throws IOException {
    String line = lineWith(lines, "ACCEPT");
    return Integer.parseInt(line.substring(line.lastIndexOf(':') + 1));
  }

  @Test
  void aServerWithoutTls13IsUnreachable() throws Exception {
    Process server = openssl("-tls1_2");
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(server.getInputStream()))) {
      refuses("iws://127.0.0.1:" + portOf(lines) + "/s", authority.trusting(), Error.UNREACHABLE,
          "does not answer with TLS");
    } finally {
      server.destroyForcibly();
    }
  }

  @Test
  void aServerMayChangeItsKeysAndAskForOurs() throws Exception {
    Process server = openssl("-tls1_3");
    try (BufferedReader lines =
            new BufferedReader(new InputStreamReader(server.getInputStream()));
        PrintStream commands = new PrintStream(server.getOutputStream(), true);
        SecureSocket own = new SecureSocket(portOf(lines), authority.trusting())) {
      own.handshake();
      for (int round = 0; round < 3; ++round) {
        commands.println("K");
        lineWith(lines, "SSL_do_handshake -> 1");
        commands.println("round " + round);
        own.awaitText("round " + round);
        own.say("answer " + round + "\n");
        lineWith(lines, "answer " + round);
      }
    } finally {
      server.destroyForcibly();
    }
  }
}
