package org.interweave.session;

import static org.interweave.wire.protocol.SessionCodec.MessageType.ABORT_WRITER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.ACQUIRE_READER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.CANCEL;
import static org.interweave.wire.protocol.SessionCodec.MessageType.CLOSE_SEGMENT;
import static org.interweave.wire.protocol.SessionCodec.MessageType.CREDIT;
import static org.interweave.wire.protocol.SessionCodec.MessageType.OPEN_SEGMENT;
import static org.interweave.wire.protocol.SessionCodec.MessageType.PING;
import static org.interweave.wire.protocol.SessionCodec.MessageType.PUSH;
import static org.interweave.wire.protocol.SessionCodec.MessageType.RELEASE_READER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.SUBSCRIBE;
import static org.interweave.wire.protocol.SessionCodec.MessageType.UNSUBSCRIBE;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.LockCodec.AcquireReader;
import org.interweave.wire.protocol.LockCodec.CoherenceModel;
import org.interweave.wire.protocol.NotifyCodec.Credit;
import org.interweave.wire.protocol.SessionCodec.MessageType;

/** Replays a trace: the trace leads, and each message of the client is compared with it. */
final class Replay {
  /** The client and the trace do not agree. */
  static final class Disagreement extends AssertionError {
    private static final long serialVersionUID = 1;

    Disagreement(String text) {
      super(text);
    }
  }

  /** A line whose message may come later, and its answer if that was heard. */
  private static final class Owed {
    final Trace.Line line;
    Trace.Line answer;

    Owed(Trace.Line line) {
      this.line = line;
    }
  }

  // The freedoms of spec/vectors/traces/README.md.
  private static final Set<MessageType> FREE = Set.of(PING, CANCEL, CREDIT);
  private static final Set<MessageType> MAY_COME_EARLIER =
      Set.of(
          ABORT_WRITER,
          RELEASE_READER,
          SUBSCRIBE,
          UNSUBSCRIBE,
          OPEN_SEGMENT,
          CLOSE_SEGMENT);
  /** The recorded client sends the same when it looks at its timers. */
  private static final Set<MessageType> SOON_FOLLOWED =
      Set.of(SUBSCRIBE, UNSUBSCRIBE, CLOSE_SEGMENT);
  private static final Set<MessageType> MAY_COME_LATER = Set.of(CLOSE_SEGMENT);

  private static final long NOTIFICATION_BIT = 0x80000000L;

  private final Trace trace;
  private final TracedClient client;
  /** Was sent, and not compared yet. */
  private final List<Message> waiting = new ArrayList<>();
  /** Of such messages: how many times the recorded client has looked at its timers since. */
  private final Map<Message, Integer> ticks = new IdentityHashMap<>();
  private final List<Owed> owed = new ArrayList<>();
  /** By line: the stream of the request that was compared with it. */
  private final Map<Integer, Long> streams = new HashMap<>();
  /** The last line that went in. */
  private int cause = 1;
  private long notifications;
  private long pushedBytes;
  private long creditedBytes;
  private int compared;
  /** Lines that ask for a Strict lock and are not answered. */
  private final Set<Integer> strictAsked = new HashSet<>();
  /** The session may have a Strict lock of this opening. Otherwise RELEASE_READER says nothing. */
  private boolean mayBeStrict;

  private Replay(Trace trace) {
    this.trace = trace;
    client = new TracedClient(trace);
  }

  /** Gives the number of messages that were compared. */
  static int of(Trace trace) {
    Replay replay = new Replay(trace);
    try {
      replay.run();
    } finally {
      replay.client.end();
    }
    return replay.compared;
  }

  private void run() {
    List<Trace.Line> lines = trace.lines();
    for (int i = 0; i < lines.size(); ++i) {
      Trace.Line line = lines.get(i);
      List<Trace.Line> piece = new ArrayList<>(List.of(line));
      while (line.is().equals("heard") && i + 1 < lines.size()) {
        Trace.Line next = lines.get(i + 1);
        if (!next.is().equals("heard") || next.at() != line.at()) break;
        piece.add(next);
        ++i;
      }
      take(line, piece);
    }
    nothingIsLeft();
    oneAbortMore();
  }

  private Disagreement disagreement(int line, String wanted, String came) {
    return new Disagreement(trace.name() + ":" + line + ": wanted " + wanted + "; came " + came);
  }

  private void take(Trace.Line line, List<Trace.Line> piece) {
    if (line.comesOut()) {
      client.timeIs(line.at());
      client.goOn();
    } else {
      nothingIsLeft();
      client.timeIs(line.at());
      cause = line.number();
    }
    switch (line.is()) {
      case "begins" -> {
        if (line.text("action").equals("CLOSE")) mayBeStrict = false;
        client.begins(line);
      }
      case "connected" -> {
        isOfAnotherConnection();
        client.connected();
      }
      case "disconnected" -> {
        isOfAnotherConnection();
        client.disconnected();
      }
      case "heard" -> heard(piece);
      case "bytes" -> client.heard(List.of());
      case "tick" -> {
        for (Message one : waiting) ticks.merge(one, 1, Integer::sum);
        client.tick();
      }
      case "sends" -> sends(line);
      case "hangs_up" -> hangsUp(line);
      case "done" -> done(line);
      default -> throw disagreement(line.number(), "a known event", line.is());
    }
    collect();
  }

  /** A client may end its lock by one ABORT_WRITER that the trace does not have. */
  private void oneAbortMore() {
    List<Message> aborts = new ArrayList<>();
    for (Message one : waiting) {
      if (MessageType.of(one.envelope().type()) == MessageType.ABORT_WRITER) aborts.add(one);
    }
    if (aborts.size() > 1) {
      throw disagreement(cause, "no further message", Trace.meaning(aborts.get(1)));
    }
  }

  private void isOfAnotherConnection() {
    oneAbortMore();
    waiting.clear();
    ticks.clear();
    owed.clear();
    streams.clear();
    pushedBytes = 0;
    creditedBytes = 0;
    if (!strictAsked.isEmpty()) mayBeStrict = true;
    strictAsked.clear();
  }

  // ---- what goes in ----

  private void heard(List<Trace.Line> piece) {
    List<Message> messages = new ArrayList<>();
    for (Trace.Line line : piece) {
      boolean wasStrict = line.has("to") && strictAsked.remove((int) line.number("to"));
      if (wasStrict && !line.text("message").equals("ERROR")) mayBeStrict = true;
      Long stream = streamOf(line);
      if (stream == null) continue;
      Message message = line.message(stream);
      if (message.is(PUSH)) pushedBytes += message.bulk().length;
      messages.add(message);
    }
    client.heard(messages);
  }

  /** Null: the client has not asked that. */
  private Long streamOf(Trace.Line line) {
    if (!line.has("to")) return NOTIFICATION_BIT + notifications++;
    int to = (int) line.number("to");
    if (to == 0) return 0L;
    for (Owed one : owed) if (one.line.number() == to) one.answer = line;
    return streams.get(to);
  }

  // ---- what comes out ----

  private void collect() {
    for (Message message : List.copyOf(client.sent)) {
      client.sent.remove(0);
      MessageType type = MessageType.of(message.envelope().type());
      if (type == CREDIT) credited(message);
      if (FREE.contains(type)) continue;
      if (MAY_COME_LATER.contains(type) && !owed.isEmpty()) paid(owed.remove(0), message);
      else waiting.add(message);
    }
  }

  private void credited(Message message) {
    creditedBytes += message.decode(Credit.CODEC).bytes();
    if (creditedBytes <= pushedBytes) return;
    throw disagreement(
        cause, "a credit of " + pushedBytes + " bytes at most", "one of " + creditedBytes);
  }

  /** A message that comes later than in the trace. */
  private void paid(Owed debt, Message message) {
    compare(debt.line, message);
    if (debt.answer != null) {
      client.heard(List.of(debt.answer.message(message.envelope().stream())));
    }
  }

  private void sends(Trace.Line line) {
    collect();
    Message wanted = line.message(0);
    MessageType type = MessageType.of(wanted.envelope().type());
    if (FREE.contains(type)) return;
    boolean isOptional = type == RELEASE_READER && !mayBeStrict;
    noteStrict(line, wanted);
    if (isOptional && waiting.stream().noneMatch(one -> one.is(type))) return;
    // One that came earlier may be of an earlier grant.
    String meaning = Trace.meaning(wanted);
    boolean isThere =
        MAY_COME_EARLIER.contains(type)
            && waiting.stream().anyMatch(one -> meaning.equals(Trace.meaning(one)));
    for (int i = 0; i < waiting.size(); ++i) {
      Message one = waiting.get(i);
      if (one.is(type) && (!isThere || meaning.equals(Trace.meaning(one)))) {
        compare(line, waiting.remove(i));
        return;
      }
      if (MAY_COME_EARLIER.contains(MessageType.of(one.envelope().type()))) continue;
      throw disagreement(line.number(), Trace.meaning(wanted), Trace.meaning(one));
    }
    if (!MAY_COME_LATER.contains(type)) {
      throw disagreement(line.number(), Trace.meaning(wanted), "nothing");
    }
    owed.add(new Owed(line));
  }

  private void noteStrict(Trace.Line line, Message wanted) {
    if (wanted.is(RELEASE_READER)) mayBeStrict = false;
    if (!wanted.is(ACQUIRE_READER)) return;
    CoherenceModel model = wanted.decode(AcquireReader.CODEC).model();
    if (model == CoherenceModel.STRICT) strictAsked.add(line.number());
  }

  private void compare(Trace.Line line, Message found) {
    String wanted = Trace.meaning(line.message(0));
    String came = Trace.meaning(found);
    if (!wanted.equals(came)) throw disagreement(line.number(), wanted, came);
    streams.put(line.number(), found.envelope().stream());
    ++compared;
  }

  private void hangsUp(Trace.Line line) {
    if (!client.givesUp()) {
      throw disagreement(line.number(), "the end of the connection", "nothing");
    }
    isOfAnotherConnection();
    client.disconnected();
  }

  private void done(Trace.Line line) {
    collect();
    String action = line.text("action");
    TracedProgram.Ended ended = client.program().ended();
    if (ended == null) throw disagreement(line.number(), "the end of " + action, "nothing");
    String wanted = action + " " + line.text("code");
    String came = action + " " + ended.code();
    if (Set.of("READ", "WRITE", "RELEASE").contains(action)) {
      wanted += " version " + line.members().get("version");
      came += " version " + List.of(
          Long.toUnsignedString(ended.version().incarnation()),
          Long.toUnsignedString(ended.version().number()),
          Long.toUnsignedString(ended.version().chain()));
    }
    if (action.equals("RELEASE")) {
      wanted += " " + line.text("outcome");
      came += " " + ended.outcome();
    }
    if (line.has("fence")) {
      wanted += " fence " + line.text("fence") + " resumed " + line.members().get("resumed");
      came += " fence " + ended.fence() + " resumed " + ended.isResumed();
    }
    if (!wanted.equals(came)) throw disagreement(line.number(), wanted, came);
  }

  /** All that came out for one event was in the trace. */
  private void nothingIsLeft() {
    collect();
    for (Message one : waiting) {
      MessageType type = MessageType.of(one.envelope().type());
      boolean isTooEarly = SOON_FOLLOWED.contains(type) && ticks.getOrDefault(one, 0) > 1;
      if (MAY_COME_EARLIER.contains(type) && !isTooEarly) continue;
      throw disagreement(cause, "no further message", Trace.meaning(one));
    }
  }
}
