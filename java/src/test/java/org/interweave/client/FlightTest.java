package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.interweave.flight.Flight;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Java's flight recorder sees locks, diffs and reconnections; a Java without it works. */
@Timeout(60)
class FlightTest {
  private static final List<String> EVENTS =
      List.of("Lock", "DiffApply", "DiffCollect", "Reconnection");

  private static List<RecordedEvent> named(List<RecordedEvent> all, String name, String segment) {
    List<RecordedEvent> found = new ArrayList<>();
    for (RecordedEvent each : all) {
      boolean isIt = each.getEventType().getName().equals("org.interweave." + name);
      if (isIt && (segment == null || each.getString("segment").equals(segment))) found.add(each);
    }
    return found;
  }

  /** Two versions, of which the reader gets the second after the server's restart. */
  private static void run(Server server, Client writer, Client reader) throws Exception {
    Segment own = writer.open(server.url("/s"));
    Segment other = reader.open(server.url("/s"));
    while (!Flight.isOn()) Thread.onSpinWait();
    own.write(lock -> lock.allocate("int", 1, "n").set(1));
    other.read().close();
    other.read().close();
    server.kill();
    server.restart();
    own.write(lock -> lock.value("n").set(2));
    other.readNewest().close();
  }

  @Test
  void aRecordingHasLocksDiffsAndReconnections(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("it.jfr");
    String url;
    try (Recording recording = new Recording();
        Server server = Server.start("--store", folder.resolve("store").toString());
        Client writer = new Client();
        Client reader = new Client()) {
      for (String each : EVENTS) recording.enable("org.interweave." + each).withoutThreshold();
      recording.start();
      run(server, writer, reader);
      recording.stop();
      recording.dump(file);
      url = server.url("/s");
    }
    List<RecordedEvent> all = RecordingFile.readAllEvents(file);
    List<RecordedEvent> locks = named(all, "Lock", url);
    assertEquals(5, locks.size());
    assertEquals(2, locks.stream().filter(each -> each.getBoolean("isWriter")).count());
    assertEquals(3, locks.stream().filter(each -> each.getLong("version") == 1).count());
    assertTrue(locks.stream().anyMatch(each -> each.getStackTrace() != null));
    List<RecordedEvent> applied = named(all, "DiffApply", url);
    assertEquals(2, applied.get(applied.size() - 1).getLong("version"));
    List<RecordedEvent> collected = named(all, "DiffCollect", url);
    assertEquals(2, collected.size());
    for (RecordedEvent each : collected) assertTrue(each.getLong("bytes") > 0);
    List<RecordedEvent> again = named(all, "Reconnection", null);
    assertEquals(2, again.size());
    for (RecordedEvent each : again) {
      assertTrue(each.getLong("attempts") > 0);
      assertTrue(url.contains(each.getString("server")), each.toString());
    }
  }

  @Test
  void aJavaWithoutTheRecorderWorks() throws Exception {
    try (Server server = Server.start()) {
      Process process =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "--limit-modules",
                  "java.base",
                  "-cp",
                  System.getProperty("java.class.path"),
                  Plain.class.getName(),
                  server.url("/plain"))
              .redirectErrorStream(true)
              .start();
      assertEquals("5 false", new String(process.getInputStream().readAllBytes()).strip());
      assertEquals(0, process.waitFor());
    }
  }

  /** Stores and reads. */
  static final class Plain {
    public static void main(String[] arguments) {
      try (Segment segment = Segment.open(arguments[0])) {
        segment.write(lock -> lock.allocate("int", 1, "n").set(5));
        try (ReadLock lock = segment.read()) {
          System.out.println(lock.value("n").integer() + " " + Flight.isOn());
        }
      }
    }
  }
}
