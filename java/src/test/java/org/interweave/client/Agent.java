package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** A C++ client, which answers each command with a line (native/abi/tests/agent_main.cc). */
final class Agent implements AutoCloseable {
  private static final String PROGRAM =
      System.getenv().getOrDefault("IW_TEST_AGENT", built("test_agent"));

  private final Process process;
  private final BufferedReader lines;

  private static String built(String name) {
    return Path.of(System.getProperty("interweave.root"), "build", "release", "native", "abi")
        .resolve(name)
        .toString();
  }

  /** Another program of the same folder. */
  static String sibling(String name) {
    return Path.of(PROGRAM).resolveSibling(name).toString();
  }

  Agent(String url) throws IOException {
    process =
        new ProcessBuilder(PROGRAM).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    lines =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    run("open " + url + " 10");
  }

  String ask(String command) throws IOException {
    OutputStream commands = process.getOutputStream();
    commands.write((command + "\n").getBytes(StandardCharsets.UTF_8));
    commands.flush();
    return lines.readLine();
  }

  /** Commands that must be answered ok. */
  void run(String... commands) throws IOException {
    for (String command : commands) assertEquals("ok", ask(command), command);
  }

  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }
}
