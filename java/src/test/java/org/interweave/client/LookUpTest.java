package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.interweave.InterweaveException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Looking up a host's name may take long, and holds up no other server's segments. */
@Timeout(60)
class LookUpTest {
  /** Java reads the names from a pipe, whose other end is the test's. */
  @Test
  void aLookUpHoldsUpNoOtherServer(@TempDir Path folder) throws Exception {
    Path names = folder.resolve("hosts");
    assertEquals(0, new ProcessBuilder("mkfifo", names.toString()).start().waitFor());
    try (Server server = Server.start()) {
      Process process =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-Djdk.net.hosts.file=" + names, "-cp", System.getProperty("java.class.path"),
                  Looking.class.getName(), server.url("/s"))
              .redirectErrorStream(true)
              .start();
      try (BufferedReader said =
          new BufferedReader(new InputStreamReader(process.getInputStream()))) {
        // Opens when the program looks the name up.
        try (OutputStream pipe = Files.newOutputStream(names)) {
          process.getOutputStream().write('\n');
          process.getOutputStream().flush();
          assertEquals("opened", said.readLine());
          pipe.write("127.0.0.1 another.example\n".getBytes());
        }
        assertEquals("UNREACHABLE", said.readLine());
      } finally {
        process.destroyForcibly();
      }
    }
  }

  /** Opens a segment of a server with a name, and then another. */
  static final class Looking {
    public static void main(String[] arguments) throws Exception {
      Client own = new Client();
      Thread looking =
          new Thread(
              () -> {
                try {
                  own.open("iw://slow.example/s");
                } catch (InterweaveException wrong) {
                  System.out.println(wrong.code());
                }
              });
      looking.start();
      System.in.read();
      own.open(arguments[0]).read().close();
      System.out.println("opened");
      looking.join();
      own.close();
    }
  }
}
