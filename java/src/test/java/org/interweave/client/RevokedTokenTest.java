package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.interweave.Interface.Connection;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A token that the real server takes no more: the program is told at once, not at its deadline. */
@Timeout(60)
class RevokedTokenTest {
  /** Beyond the test's own. */
  private static final Duration LONG = Duration.ofMinutes(10);

  @TempDir private Path folder;

  private String tokens() {
    return folder.resolve("tokens").toString();
  }

  private String newToken() throws Exception {
    String said = Server.run("token", "new", "alice", "--tokens", tokens());
    return said.lines().filter(line -> line.startsWith("iw_")).findFirst().orElseThrow();
  }

  private void denied(Runnable call) {
    InterweaveException wrong = assertThrows(InterweaveException.class, call::run);
    assertEquals(Error.DENIED, wrong.code(), wrong.getMessage());
    assertTrue(wrong.getMessage().contains("token"), wrong.getMessage());
  }

  @Test
  void aTokenRevokedWhileTheClientIsDisconnectedIsDeniedAtOnce() throws Exception {
    String token = newToken();
    String store = folder.resolve("store").toString();
    try (Server server = Server.start("--store", store, "--tokens", tokens());
        Client own = new Client(token)) {
      Segment segment = own.open(server.url("/s"), OpenOptions.DEFAULT.timeout(LONG));
      segment.write(lock -> lock.allocate("int", 1, "n").set(1));
      server.kill();
      String before = Files.readString(Path.of(tokens()));
      Server.run("token", "revoke", "alice", "--tokens", tokens());
      server.restart();
      for (int round = 0; round < 2; ++round) {
        denied(() -> segment.readNewest(LONG).close());
        denied(() -> segment.write(lock -> { }));
      }
      // The next call asks anew.
      server.kill();
      Files.writeString(Path.of(tokens()), before);
      server.restart();
      segment.write(lock -> lock.value("n").set(2));
    }
  }

  @Test
  void aTokenRevokedWhileTheClientIsConnectedIsDeniedAtOnce() throws Exception {
    String token = newToken();
    try (Server server = Server.start("--store", "memory", "--tokens", tokens());
        Client own = new Client(token)) {
      Segment segment = own.open(server.url("/s"), OpenOptions.DEFAULT.timeout(LONG));
      BlockingQueue<Connection> heard = new LinkedBlockingQueue<>();
      segment.onConnection(Runnable::run, heard::add);
      Server.run("token", "revoke", "alice", "--tokens", tokens());
      assertEquals(Connection.DISCONNECTED, heard.take());
      denied(() -> segment.readNewest(LONG).close());
    }
  }
}
