package org.interweave.flight;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** What an unusual flight recorder does to the library. */
class FlightLooksTest {
  /** In a process of its own, because a broken recorder is not asked again. */
  @Test
  void aBrokenRecorderIsAskedOnce() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Broken.class.getName())
            .redirectErrorStream(true)
            .start();
    assertEquals("false", new String(process.getInputStream().readAllBytes()).strip());
    assertEquals(0, process.waitFor());
  }

  /** Would find a recorder the second time. */
  static final class Broken {
    public static void main(String[] arguments) {
      Flight.look(
          () -> {
            throw new NoClassDefFoundError("jdk/jfr/FlightRecorder");
          });
      Flight.look(() -> true);
      System.out.println(Flight.isOn());
    }
  }
}
