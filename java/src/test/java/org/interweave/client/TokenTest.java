package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.wire.protocol.FieldCodec.HeaderField;
import org.interweave.wire.protocol.SessionCodec.Hello;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The token is shown to the server, and to nobody else. */
@Timeout(60)
class TokenTest {
  private static final String TOKEN = "s3cret-t0ken";

  @Test
  void theTokenOfTheClientIsShown() throws Exception {
    try (SlowServer server = new SlowServer();
        Client own = new Client(TOKEN)) {
      own.open(server.url("/a"));
      assertEquals(TOKEN, server.hello().token());
    }
  }

  @Test
  void theTokenOfTheOptionsGoesBeforeTheClients() throws Exception {
    try (SlowServer server = new SlowServer();
        Client own = new Client("another")) {
      own.open(server.url("/a"), OpenOptions.DEFAULT.token(TOKEN).maxBytes(1 << 20));
      assertEquals(TOKEN, server.hello().token());
    }
  }

  /** Also on a connection that is made anew. */
  @Test
  void theTokenOfTheEnvironmentIsShownAndNotPrinted() throws Exception {
    try (SlowServer server = new SlowServer()) {
      ProcessBuilder builder =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-cp", System.getProperty("java.class.path"), Refused.class.getName(),
                  server.url("/a"))
              .redirectErrorStream(true);
      builder.environment().put("IW_TOKEN", TOKEN);
      Process process = builder.start();
      String said = new String(process.getInputStream().readAllBytes());
      Hello hello = server.hello();
      assertEquals(TOKEN, hello.token());
      assertFalse(hello.client().contains(TOKEN), hello.client());
      for (HeaderField each : hello.fields()) {
        assertFalse(new String(each.value()).contains(TOKEN), "field " + each.key());
      }
      assertTrue(said.contains("TIMED_OUT"), said);
      assertFalse(said.contains(TOKEN), said);
    }
  }

  /** [OWN-3] */
  @Test
  void theTokenOfTheUsersOwnServerIsShown(@TempDir Path runtime) throws Exception {
    Path folder =
        Files.createDirectory(
            runtime.resolve("interweave"),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    for (boolean isPrivate : new boolean[] {true, false}) {
      try (SlowServer server = new SlowServer()) {
        Path file = folder.resolve(URI.create(server.url("/")).getPort() + ".token");
        Files.writeString(file, TOKEN + "\n");
        Files.setPosixFilePermissions(
            file, PosixFilePermissions.fromString(isPrivate ? "rw-------" : "rw-r--r--"));
        ProcessBuilder builder =
            new ProcessBuilder(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-cp", System.getProperty("java.class.path"), Refused.class.getName(),
                    server.url("/a"))
                .redirectErrorStream(true);
        builder.environment().remove("IW_TOKEN");
        builder.environment().put("XDG_RUNTIME_DIR", runtime.toString());
        String said = new String(builder.start().getInputStream().readAllBytes());
        // A server that was killed may have left another one for that port elsewhere.
        assertEquals(isPrivate, TOKEN.equals(server.hello().token()));
        assertFalse(said.contains(TOKEN), said);
      }
    }
  }

  /** [OWN-1] [OWN-3] A server that nobody told whom to let in, and the one after it. */
  @Test
  void theUsersOwnServerLetsThisProgramIn(@TempDir Path store) throws Exception {
    try (Server server = Server.start("--store", store.toString(), "--own-token");
        Client own = new Client("")) {
      for (String host : new String[] {"127.0.0.1", "localhost"}) {
        Segment segment = own.open(server.url("/" + host).replace("127.0.0.1:", host + ":"));
        segment.write(lock -> lock.allocate("int", 1, "n").set(1));
        server.kill();
        server.restart();
        segment.write(lock -> lock.value("n").set(2));
      }
      try (Client other = new Client(TOKEN)) {
        InterweaveException wrong =
            assertThrows(
                InterweaveException.class, () -> other.open(server.url("/a")).read().close());
        assertEquals(Error.DENIED, wrong.code());
        assertTrue(wrong.getMessage().contains("IW_TOKEN"), wrong.getMessage());
      }
    }
  }

  /** Waits in vain, and prints what it has. */
  static final class Refused {
    public static void main(String[] arguments) {
      Client own = new Client();
      Segment segment = own.open(arguments[0]);
      try {
        segment.read(java.time.Duration.ofMillis(50));
      } catch (InterweaveException wrong) {
        System.out.println(wrong.code());
        wrong.printStackTrace();
      }
      System.out.println(own + " " + segment + " " + segment.stats() + " " + segment.link());
    }
  }

  @Test
  void aTokenThatNoServerCouldBeShownIsRefusedWithoutItsText() {
    String tooLong = TOKEN.repeat(400);
    String cut = TOKEN + "\0";
    for (Runnable each :
        List.<Runnable>of(
            () -> new Client(tooLong).close(), () -> OpenOptions.DEFAULT.token(tooLong),
            () -> new Client(cut).close(), () -> OpenOptions.DEFAULT.token(cut))) {
      InterweaveException wrong = assertThrows(InterweaveException.class, each::run);
      assertEquals(Error.BAD_ARGUMENT, wrong.code());
      StringWriter said = new StringWriter();
      wrong.printStackTrace(new PrintWriter(said));
      assertFalse(said.toString().contains(TOKEN));
    }
  }

  @Test
  void optionsAndClientsDoNotShowTheirToken() {
    assertFalse(OpenOptions.DEFAULT.token(TOKEN).toString().contains(TOKEN));
    try (Client own = new Client(TOKEN)) {
      assertFalse(own.toString().contains(TOKEN));
    }
  }
}
