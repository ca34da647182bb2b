package org.interweave.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/** The real server as a child process. Nothing waits by time: it says when it listens. */
final class Server implements AutoCloseable {
  static final String PROGRAM =
      System.getenv()
          .getOrDefault(
              "IW_TEST_SERVER",
              Path.of(System.getProperty("interweave.root"), "target", "release", "interweave")
                  .toString());

  private final List<String> options;
  private final String listen;
  private Process process;

  private Server(String listen, List<String> options) throws IOException {
    this.listen = listen;
    this.options = options;
    begin();
  }

  /** On a port that stays free while the server is started again. */
  static Server start(String... options) throws IOException {
    List<String> all = options.length == 0 ? List.of("--store", "memory") : List.of(options);
    return new Server("127.0.0.1:" + freePort(), all);
  }

  /** On a Unix socket. */
  static Server onSocket(Path file) throws IOException {
    return new Server("unix:" + file, List.of("--store", "memory"));
  }

  /** Below the ports that Linux gives to a program that asks for any. */
  static int freePort() throws IOException {
    Random random = new Random();
    while (true) {
      int port = 20_000 + random.nextInt(12_000);
      try (ServerSocket probe = new ServerSocket()) {
        probe.setReuseAddress(true);
        probe.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        return port;
      } catch (BindException taken) {
        continue;
      }
    }
  }

  private void begin() throws IOException {
    List<String> command =
        new ArrayList<>(List.of(PROGRAM, "serve", "--listen", listen, "--http", "none"));
    // Tests come through other ports, too, at which no token of the server's own is found.
    boolean saysWho =
        Stream.of("--tokens", "--rules", "--own-token").anyMatch(options::contains);
    if (!saysWho) command.add("--insecure");
    command.addAll(options);
    process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    BufferedReader said =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    String line = said.readLine();
    if (line == null || !line.startsWith("listening ")) {
      throw new IOException(PROGRAM + " serve does not start: " + line);
    }
  }

  /** The URL of a path at this server. */
  String url(String path) {
    return listen.startsWith("unix:") ? listen + ":" + path : "iw://" + listen + path;
  }

  /** kill -9 */
  void kill() {
    process.destroyForcibly().onExit().join();
  }

  /** On the same address. */
  void restart() throws IOException {
    begin();
  }

  /** Runs a command of the `interweave` program, and returns what it prints. */
  static String run(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(PROGRAM));
    command.addAll(List.of(arguments));
    Process child = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (child.waitFor() != 0) throw new IOException(command + ": " + output);
    return output.strip();
  }

  @Override
  public void close() {
    kill();
  }
}
