package org.interweave.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The states and events that the traces of spec/vectors/traces have together. */
class TraceCoverageTest {
  private final Set<String> found = new HashSet<>();
  private final Map<Integer, String> unanswered = new HashMap<>();
  private final Set<String> released = new HashSet<>();
  private boolean isWriting;
  private boolean isStrict;
  private boolean isKept;
  private String model;
  private boolean isAsked;

  private void look(Trace trace) {
    unanswered.clear();
    released.clear();
    isWriting = isStrict = isKept = false;
    for (Trace.Line line : trace.lines()) look(line);
  }

  private void look(Trace.Line line) {
    switch (line.is()) {
      case "begins" -> begins(line);
      case "sends" -> sends(line);
      case "heard" -> heard(line);
      case "disconnected", "hangs_up" -> cut(line.is());
      case "done" -> done(line);
      default -> { }
    }
  }

  private void begins(Trace.Line line) {
    model = line.text("model");
    isAsked = false;
    if (Boolean.TRUE.equals(line.members().get("fresh"))) found.add("a fresh read");
    if (line.text("action").equals("CLOSE")) found.add("a close");
  }

  private void sends(Trace.Line line) {
    String message = line.text("message");
    unanswered.put(line.number(), message);
    found.add("sends " + message);
    if (message.equals("ACQUIRE_READER")) isAsked = true;
    boolean isRelease = message.equals("RELEASE_WRITER");
    if (isRelease && !released.add(line.text("body").substring(0, 16))) {
      found.add("a release is repeated, because its acknowledgement was lost");
    }
  }

  private void heard(Trace.Line line) {
    String message = line.text("message");
    if (line.has("to")) unanswered.remove((int) line.number("to"));
    found.add("hears " + message);
    if (message.equals("WRITER_KEPT")) isKept = true;
    if (message.equals("RECALL_WRITER")) {
      found.add(isWriting ? "a recall in a section" : "a recall of a kept grant");
    }
    if (message.equals("RELEASE_RESOLVED")) {
      found.add(line.text("body").startsWith("00000001") ? "was committed" : "was rolled back");
    }
  }

  private void cut(String how) {
    found.add(how);
    for (String message : unanswered.values()) found.add("a loss while " + message + " waits");
    if (isWriting) found.add("a loss while it writes");
    if (isStrict) found.add("a loss while it reads strictly");
    if (isKept && !isWriting) found.add("a loss while a grant is kept");
    unanswered.clear();
    isKept = false;
  }

  private void done(Trace.Line line) {
    String action = line.text("action");
    boolean isOk = line.text("code").equals("OK");
    if (!isOk) found.add("ends with " + line.text("code"));
    if (line.has("outcome")) found.add("a release is " + line.text("outcome"));
    if (Boolean.TRUE.equals(line.members().get("resumed"))) found.add("a section is resumed");
    switch (action) {
      case "READ" -> {
        if (isOk) found.add((isAsked ? "asks under " : "reads at once under ") + model);
        isStrict = isOk && "STRICT".equals(model);
      }
      case "END_READ" -> isStrict = false;
      case "WRITE" -> isWriting = isOk;
      case "RELEASE", "ABORT" -> isWriting = "HELD".equals(line.text("outcome"));
      default -> { }
    }
  }

  @Test
  void theTracesHaveAllOfThis() {
    for (Trace trace : Trace.all()) look(trace);
    Set<String> missing = new TreeSet<>(WANTED);
    missing.removeAll(found);
    assertEquals(Set.of(), missing);
  }

  private static final List<String> WANTED =
      List.of(
          "a close",
          "a fresh read",
          "asks under DELTA",
          "asks under DIFF",
          "asks under FULL",
          "asks under NULL_COHERENCE",
          "asks under STRICT",
          "asks under TEMPORAL",
          "reads at once under DELTA",
          "reads at once under FULL",
          "reads at once under NULL_COHERENCE",
          "reads at once under TEMPORAL",
          "sends RENEW_WRITER",
          "sends SUBSCRIBE",
          "sends UNSUBSCRIBE",
          "sends CREDIT",
          "sends CANCEL",
          "sends MORE_SERIALS",
          "hears SERIALS_GRANTED",
          "hears NOT_RECENT",
          "hears PUSH",
          "hears SEGMENT_GONE",
          "hears WRITER_LOST",
          "a recall in a section",
          "a recall of a kept grant",
          "a section is resumed",
          "a loss while a grant is kept",
          "a loss while it reads strictly",
          "a loss while it writes",
          "a loss while ACQUIRE_READER waits",
          "a loss while ACQUIRE_WRITER waits",
          "a loss while HELLO waits",
          "a loss while MORE_SERIALS waits",
          "a loss while OPEN_SEGMENT waits",
          "a loss while RELEASE_READER waits",
          "a loss while RELEASE_WRITER waits",
          "a loss while SUBSCRIBE waits",
          "a release is repeated, because its acknowledgement was lost",
          "was committed",
          "was rolled back",
          "a release is COMMITTED",
          "a release is ROLLED_BACK",
          "a release is UNSAID",
          "ends with DENIED",
          "ends with FENCED",
          "ends with REMOVED",
          "ends with SEGMENT_LOST",
          "ends with STOPPING",
          "ends with TIMED_OUT",
          "ends with UNREACHABLE",
          "hangs_up");
}
