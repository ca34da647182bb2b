package org.interweave.maven;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * One run of the compiler. A file whose text stays the same keeps its time, so that Maven compiles
 * no class again without need.
 */
final class Generating {
  private final Path output;

  private Generating(Path output) {
    this.output = output;
  }

  static Generating into(Path output) {
    return new Generating(output);
  }

  void by(List<String> command) throws IOException {
    Files.createDirectories(output.getParent());
    Path fresh = Files.createTempDirectory(output.getParent(), "interweave");
    try {
      run(command, fresh);
      for (Path each : Trees.files(output, "")) {
        if (!Files.exists(fresh.resolve(output.relativize(each)))) Files.delete(each);
      }
      for (Path each : Trees.files(fresh, "")) {
        take(each, output.resolve(fresh.relativize(each)));
      }
    } finally {
      Trees.delete(fresh);
    }
  }

  private static void take(Path made, Path to) throws IOException {
    if (Files.exists(to) && Files.mismatch(made, to) < 0) return;
    Files.createDirectories(to.getParent());
    Files.write(to, Files.readAllBytes(made));
  }

  private static void run(List<String> command, Path fresh) throws IOException {
    List<String> words = new ArrayList<>(command);
    words.add("--out");
    words.add(fresh.toString());
    Path said = Files.createTempFile(fresh.getParent(), "interweave", ".log");
    try {
      int status = waitFor(start(words, said.toFile()));
      if (status == 0) return;
      String text = Files.readString(said, StandardCharsets.UTF_8).strip();
      throw new IOException(words.get(0) + " ended with status " + status + ":\n" + text);
    } finally {
      Files.delete(said);
    }
  }

  private static Process start(List<String> words, File said) throws IOException {
    try {
      return new ProcessBuilder(words).redirectErrorStream(true).redirectOutput(said).start();
    } catch (IOException wrong) {
      throw new IOException(
          "the program '" + words.get(0) + "' does not start; name it by <program> or"
              + " -Dinterweave.program: " + wrong.getMessage(),
          wrong);
    }
  }

  private static int waitFor(Process process) throws IOException {
    try {
      return process.waitFor();
    } catch (InterruptedException stopped) {
      process.destroy();
      Thread.currentThread().interrupt();
      throw new IOException("the build was interrupted", stopped);
    }
  }
}
