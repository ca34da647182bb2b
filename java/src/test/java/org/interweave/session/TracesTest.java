package org.interweave.session;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The traces of spec/vectors/traces: the engine in C++ and this one agree message by message. */
class TracesTest {
  private static final Trace SECTION =
      Trace.all().stream()
          .filter(trace -> trace.name().equals("first_section.jsonl"))
          .findFirst()
          .orElseThrow();

  @TestFactory
  Stream<DynamicTest> theTracesAreReplayed() {
    List<Trace> traces = Trace.all();
    assertFalse(traces.isEmpty());
    return traces.stream()
        .map(trace -> DynamicTest.dynamicTest(trace.name(), () -> replay(trace)));
  }

  private static void replay(Trace trace) {
    assertTrue(Replay.of(trace) > 0, "no message was compared");
  }

  // ---- a doctored trace is refused ----

  private static Trace.Line sends(String message) {
    return SECTION.lines().stream()
        .filter(line -> line.is().equals("sends") && line.text("message").equals(message))
        .findFirst()
        .orElseThrow();
  }

  private static Trace with(Trace.Line changed) {
    List<Trace.Line> lines = new ArrayList<>(SECTION.lines());
    lines.set(changed.number() - 2, changed);
    return new Trace("doctored", SECTION.head(), lines);
  }

  private static void refused(Trace.Line changed, String... says) {
    Replay.Disagreement refused =
        assertThrows(Replay.Disagreement.class, () -> Replay.of(with(changed)));
    for (String each : says) assertTrue(refused.getMessage().contains(each), refused.getMessage());
  }

  @Test
  void aMessageThatMeansSomethingElseIsADisagreement() {
    Trace.Line line = sends("RELEASE_WRITER");
    Map<String, Object> members = new HashMap<>(line.members());
    // The sequence is the first member.
    members.put("body", "0000000000000007" + line.text("body").substring(16));
    Trace.Line changed = new Trace.Line(line.number(), members);
    refused(changed, "doctored:" + line.number() + ":", "wanted", "sequence=7", "sequence=1");
  }

  @Test
  void aMessageThatTheTraceDoesNotHaveIsADisagreement() {
    Trace.Line line = sends("ACQUIRE_WRITER");
    Map<String, Object> nothing = Map.of("at", line.at(), "is", "bytes");
    refused(new Trace.Line(line.number(), nothing), "no further message", "ACQUIRE_WRITER");
  }

  @Test
  void aMessageThatDoesNotComeIsADisagreement() {
    Trace.Line line = sends("RELEASE_WRITER");
    Trace.Line heard =
        SECTION.lines().stream()
            .filter(each -> each.has("to") && each.number("to") == line.number())
            .findFirst()
            .orElseThrow();
    refused(new Trace.Line(heard.number(), line.members()), "came nothing");
  }

  @Test
  void anActionThatEndsOtherwiseIsADisagreement() {
    Trace.Line done =
        SECTION.lines().stream()
            .filter(each -> each.is().equals("done") && each.has("outcome"))
            .findFirst()
            .orElseThrow();
    Map<String, Object> members = new HashMap<>(done.members());
    members.put("outcome", "ROLLED_BACK");
    refused(new Trace.Line(done.number(), members), "ROLLED_BACK", "COMMITTED");
  }
}
