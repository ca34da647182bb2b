package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The options ca, cert, key and token of an opening [CRED-1], with the real server. */
@Timeout(60)
class CredentialsTest {
  @TempDir private Path folder;
  private Authority authority;

  @BeforeEach
  void makeCertificates() throws Exception {
    authority = new Authority(folder);
    Server.run("cert", "client", folder.toString(), "bob");
  }

  /** Alice may use what is below /alice, and bob what is below /bob. */
  private Server serve() throws IOException {
    Path rules =
        Files.writeString(
            folder.resolve("rules"),
            "allow cert:alice all /alice/**\nallow cert:bob all /bob/**\nend\n");
    return authority.serve("--tls", "required", "--client-ca", authority.file("ca.pem"), "--rules",
        rules.toString());
  }

  private static String secure(Server server, String path) {
    return server.url(path).replace("iw://", "iws://");
  }

  private OpenOptions being(String name) {
    return OpenOptions.DEFAULT
        .ca(authority.file("ca.pem"))
        .cert(authority.file(name + ".pem"))
        .key(authority.file(name + ".key"));
  }

  private static void refused(Error code, String words, Runnable call) {
    InterweaveException wrong = assertThrows(InterweaveException.class, call::run);
    assertEquals(code, wrong.code(), wrong.getMessage());
    assertTrue(wrong.getMessage().contains(words), wrong.getMessage());
  }

  /** [CRED-3] */
  @Test
  void aFileOfAuthoritiesThatHoldsNoneIsNamed() throws Exception {
    Path list =
        Files.writeString(
            folder.resolve("list.pem"),
            "-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n");
    try (Server server = serve(); Client own = new Client("")) {
      for (String file : new String[] {list.toString(), authority.file("alice.key")}) {
        OpenOptions options = OpenOptions.DEFAULT.ca(file);
        refused(
            Error.DENIED, file + " of IW_CA or of the option ca cannot be used: it holds no",
            () -> own.open(secure(server, "/s"), options));
      }
      for (String no : new String[] {"/secret\0more", "-----BEGIN PRIVATE KEY-----secret"}) {
        OpenOptions options = OpenOptions.DEFAULT.ca(no);
        InterweaveException wrong =
            assertThrows(
                InterweaveException.class, () -> own.open(secure(server, "/s"), options));
        assertEquals(Error.BAD_ARGUMENT, wrong.code(), wrong.getMessage());
        assertTrue(!wrong.getMessage().contains("secret"), wrong.getMessage());
      }
    }
  }

  private static void write(Segment segment) {
    segment.write(lock -> { });
  }

  @Test
  void optionsOfAnOpeningGoBeforeThoseOfTheClient() throws Exception {
    TlsFiles nowhere = new TlsFiles("/nowhere", "/nowhere", "/nowhere");
    try (Server server = serve();
        Client own = new Client("", nowhere)) {
      refused(Error.DENIED, "/nowhere of IW_CA or of the option ca",
          () -> own.open(secure(server, "/alice/s")));
      write(own.open(secure(server, "/alice/s"), being("alice")));
    }
  }

  @Test
  void theOptionsOfAClientAreForAllItsCalls() throws Exception {
    try (Server server = serve();
        Client own = new Client(being("alice"))) {
      String url = secure(server, "/alice/s");
      own.open(url).close();
      assertEquals(1, own.list(secure(server, "/")).size());
      own.remove(url);
    }
  }

  @Test
  void aCertificateOfTheOptionsDoesNotGoWithAKeyOfTheClient() throws Exception {
    try (Server server = serve();
        Client own = new Client(being("alice"))) {
      refused(Error.DENIED, "the options cert and key",
          () -> own.open(
              secure(server, "/alice/s"),
              OpenOptions.DEFAULT.cert(authority.file("alice.pem"))));
    }
  }

  @Test
  void anotherIdentityIsRefusedWhileASegmentIsOpenAndTakenAfterwards() throws Exception {
    try (Server server = serve();
        Client own = new Client("")) {
      Segment ofAlice = own.open(secure(server, "/alice/s"), being("alice"));
      refused(Error.BAD_ARGUMENT, "the option cert is another",
          () -> own.open(secure(server, "/bob/s"), being("bob")));
      refused(Error.BAD_ARGUMENT, "the option cert is another",
          () -> own.open(secure(server, "/alice/s"), being("bob")));
      refused(Error.BAD_ARGUMENT, "the option token is another",
          () -> own.open(secure(server, "/alice/s"), being("alice").token("iw_another")));
      own.open(secure(server, "/alice/s"), being("alice")).close();
      own.open(secure(server, "/alice/other")).close();
      ofAlice.close();
      for (int round = 0; round < 6; ++round) {
        String name = round % 2 == 0 ? "bob" : "alice";
        Segment segment = own.open(secure(server, "/" + name + "/s"), being(name));
        write(segment);
        segment.close();
      }
    }
  }
}
