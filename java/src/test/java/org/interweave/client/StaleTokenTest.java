package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.interweave.InterweaveException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The tokens of this user's own servers, also of those that have ended [OWN-3, OWN-6]. */
@Timeout(60)
class StaleTokenTest {
  private static final String STALE = "iw_" + "0".repeat(12) + "_" + "1".repeat(64);

  @TempDir private Path runtime;
  @TempDir private Path papers;
  private Authority authority;

  @BeforeEach
  void makeCertificates() throws Exception {
    authority = new Authority(papers);
  }

  private Server ruledBy(String line) throws IOException {
    Path rules = Files.writeString(papers.resolve("rules"), line + "\nend\n");
    return authority.serve("--rules", rules.toString());
  }

  /** As a server leaves it that is killed. */
  private Path leave(Server server) throws IOException {
    Path folder =
        Files.createDirectory(
            runtime.resolve("interweave"),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    int port = URI.create(server.url("/")).getPort();
    Path file = Files.writeString(folder.resolve(port + ".token"), STALE + "\n");
    return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
  }

  /** The output of a program that opens the URL in an environment of its own. */
  private String opening(String url) throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp", System.getProperty("java.class.path"), Opening.class.getName(), url)
            .redirectErrorStream(true);
    builder.environment().remove("IW_TOKEN");
    builder.environment().put("IW_CA", authority.file("ca.pem"));
    builder.environment().put("XDG_RUNTIME_DIR", runtime.toString());
    return new String(builder.start().getInputStream().readAllBytes()).strip();
  }

  /** Opens a segment, and says what came of that. */
  static final class Opening {
    public static void main(String[] arguments) {
      try (Client own = new Client()) {
        own.open(arguments[0]).write(lock -> { });
        System.out.println("opened");
      } catch (InterweaveException wrong) {
        System.out.println(wrong.code() + " " + wrong.getMessage());
      }
    }
  }

  private static String secure(Server server) {
    return server.url("/s").replace("iw://127.0.0.1", "iws://localhost");
  }

  @Test
  void overTlsTheTokenOfTheUsersOwnServerIsShown() throws Exception {
    try (Server server = authority.serve("--own-token"); Client own = new Client("")) {
      OpenOptions trusting = OpenOptions.DEFAULT.ca(authority.file("ca.pem"));
      own.open(secure(server), trusting).write(lock -> { });
    }
  }

  @Test
  void aTokenThatAnotherServerHasLeftKeepsNobodyOut() throws Exception {
    try (Server server = ruledBy("allow anyone all /**")) {
      Path file = leave(server);
      assertEquals("opened", opening(server.url("/s")));
      assertEquals("opened", opening(secure(server)));
      assertTrue(Files.exists(file));
    }
  }

  @Test
  void aRefusalNamesTheFileAndNotItsToken() throws Exception {
    try (Server server = ruledBy("allow alice all /**")) {
      Path file = leave(server);
      String said = opening(server.url("/s"));
      assertTrue(said.startsWith("DENIED"), said);
      assertTrue(said.contains("the token of " + file + ","), said);
      assertTrue(said.contains("remove the file"), said);
      assertFalse(said.contains(STALE), said);
    }
  }
}
