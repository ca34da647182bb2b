package org.interweave.maven;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GeneratingTest {
  private static final FileTime LONG_AGO = FileTime.fromMillis(1_000_000);

  @TempDir Path folder;
  private Path output;

  @BeforeEach
  void name() {
    output = folder.resolve("target/generated");
  }

  /** `script` finds the folder to write into as $1. */
  private void generate(String script) throws IOException {
    // The shell takes --out as its own name.
    Generating.into(output).by(List.of("sh", "-c", script));
  }

  @Test
  void filesThatStayTheSameKeepTheirTimes() throws Exception {
    generate("mkdir $1/p; echo same >$1/p/A.java; echo first >$1/p/B.java");
    for (String each : List.of("p/A.java", "p/B.java")) {
      Files.setLastModifiedTime(output.resolve(each), LONG_AGO);
    }
    generate("mkdir $1/p; echo same >$1/p/A.java; echo second >$1/p/B.java");
    assertEquals(LONG_AGO, Files.getLastModifiedTime(output.resolve("p/A.java")));
    assertEquals("second\n", Files.readString(output.resolve("p/B.java")));
    assertTrue(
        Files.getLastModifiedTime(output.resolve("p/B.java")).compareTo(LONG_AGO) > 0);
  }

  @Test
  void filesThatAreNoLongerMadeGo() throws Exception {
    generate("touch $1/A.java $1/B.java");
    generate("touch $1/A.java");
    assertTrue(Files.exists(output.resolve("A.java")));
    assertFalse(Files.exists(output.resolve("B.java")));
  }

  @Test
  void anErrorHasTheCompilersWordsAndLeavesNothing() throws Exception {
    IOException wrong =
        assertThrows(IOException.class, () -> generate("touch $1/A.java; echo no good; exit 3"));
    assertEquals("sh ended with status 3:\nno good", wrong.getMessage());
    try (Stream<Path> left = Files.list(folder.resolve("target"))) {
      assertEquals(List.of(), left.toList());
    }
  }

  @Test
  void aMissingProgramIsNamed() {
    IOException wrong = assertThrows(
        IOException.class, () -> Generating.into(output).by(List.of("/missing/interweave")));
    assertTrue(
        wrong.getMessage().startsWith("the program '/missing/interweave' does not start; name it"),
        wrong.getMessage());
  }
}
