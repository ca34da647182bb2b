package org.interweave.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.ErrorCodec.ErrorCode;
import org.interweave.wire.protocol.ErrorCodec.ErrorReply;
import org.interweave.wire.protocol.LockCodec.AbortWriter;
import org.interweave.wire.protocol.LockCodec.WriterAcquired;
import org.interweave.wire.protocol.LockCodec.WriterKept;
import org.interweave.wire.protocol.LockCodec.WriterReleased;
import org.interweave.wire.protocol.NotifyCodec.RecallWriter;
import org.interweave.wire.protocol.SegmentCodec.Durability;
import org.interweave.wire.protocol.SegmentCodec.SegmentOpened;
import org.interweave.wire.protocol.SegmentCodec.VersionStamp;
import org.interweave.wire.protocol.SessionCodec.MessageType;

/** Two clients with a Conversation each, a server as spec/coherence.md has it, and messages. */
final class KeptGrantWorld {
  /** What may happen next, for each of the two clients. */
  static final int STEPS = 12;

  private static final long SECOND = 1_000_000_000;
  private static final long NUMBER = 3;
  private static final long LEASE_MS = 30_000;

  /** A message to the server. `fence` and `base` are those of a release or an abort. */
  private record Asked(MessageType type, long fence, long base, long sentAt) {}

  /** A message to a client; `asked` is null for a notification. */
  private record Said(Asked asked, Message message) {}

  private enum Doing {
    NOTHING,
    WAITING,
    WRITING,
    RELEASING
  }

  private static final class Client {
    final Conversation talk = new Conversation("/s");
    final Deque<Asked> up = new ArrayDeque<>();
    final Deque<Said> down = new ArrayDeque<>();
    Doing doing = Doing.NOTHING;
    boolean isConnected;
    /** The fence of a committed release whose answer the client has not heard [LOCK-8]. */
    long committed;
    long committedVersion;
    int sections;
  }

  private final Client[] clients = {new Client(), new Client()};
  private boolean mayCut;
  private boolean maySleep = true;
  private long now = SECOND;
  private int resumed;

  // ---- the server ----
  private long version;
  private long fences;
  private Client holder;
  private boolean isKept;
  private boolean isOfConnection;
  private boolean isRecalled;
  private final Deque<Client> queue = new ArrayDeque<>();
  private final List<Asked> queued = new ArrayList<>();

  KeptGrantWorld(boolean mayCut) {
    this.mayCut = mayCut;
    for (Client each : clients) open(each);
  }

  private static VersionStamp stamp(long number) {
    return new VersionStamp(1, number, number * 31);
  }

  private void open(Client client) {
    client.isConnected = true;
    SegmentOpened body =
        new SegmentOpened(
            NUMBER, false, stamp(version), Durability.SYNCED, 0, 0, 0, List.of());
    client.talk.opened(Message.of(MessageType.SEGMENT_OPENED, 1, SegmentOpened.CODEC, body));
    carryOut(client);
    if (client.doing == Doing.WAITING) ask(client);
    if (client.doing == Doing.RELEASING) release(client);
  }

  int resumed() {
    return resumed;
  }

  /** The clients that want what they will not get. */
  List<Doing> waiting() {
    List<Doing> found = new ArrayList<>();
    for (Client each : clients) if (each.doing != Doing.NOTHING) found.add(each.doing);
    if (holder != null && !isKept) found.add(Doing.WRITING);
    return found;
  }

  // ---- steps ----

  boolean can(int step) {
    Client client = clients[step % 2];
    return switch (step / 2) {
      case 0 -> client.doing == Doing.NOTHING && client.sections < 3 && client.isConnected;
      case 1 -> client.doing == Doing.WRITING;
      case 2 -> !client.up.isEmpty();
      case 3 -> !client.down.isEmpty();
      case 4 -> client.isConnected ? mayCut : true;
      default -> step % 2 == 0 && maySleep;
    };
  }

  boolean take(int step) {
    if (!can(step)) return false;
    Client client = clients[step % 2];
    switch (step / 2) {
      case 0 -> want(client);
      case 1 -> end(client);
      case 2 -> serve(client, client.up.poll());
      case 3 -> hear(client, client.down.poll());
      case 4 -> {
        if (client.isConnected) cut(client);
        else open(client);
      }
      default -> sleep();
    }
    return true;
  }

  /** Delivers everything, ends all sections, and lets a second pass. */
  void finish() {
    boolean isMoving = true;
    while (isMoving) {
      isMoving = false;
      for (int step = 2; step < 10; ++step) {
        boolean isCut = step / 2 == 4 && clients[step % 2].isConnected;
        if (!isCut && take(step)) isMoving = true;
      }
    }
  }

  private void want(Client client) {
    ++client.sections;
    boolean isResumed = client.talk.resume(now);
    carryOut(client);
    if (isResumed) {
      ++resumed;
      begin(client);
    } else {
      client.doing = Doing.WAITING;
      ask(client);
    }
  }

  private void begin(Client client) {
    client.doing = Doing.WRITING;
    assertNotNull(client.talk.grant());
  }

  private void ask(Client client) {
    client.up.add(new Asked(MessageType.ACQUIRE_WRITER, 0, 0, now));
  }

  /** The second section of a client is aborted. */
  private void end(Client client) {
    if (client.sections == 2) {
      client.talk.writingEnded();
      client.doing = Doing.NOTHING;
      carryOut(client);
    } else {
      client.doing = Doing.RELEASING;
      if (client.isConnected) release(client);
    }
  }

  private void release(Client client) {
    WriterGrant grant = client.talk.grant();
    client.up.add(
        new Asked(MessageType.RELEASE_WRITER, grant.fence(), grant.newest().number(), now));
  }

  private void carryOut(Client client) {
    Conversation.Effect effect = client.talk.takeEffect();
    for (; effect != null; effect = client.talk.takeEffect()) {
      boolean isAbort = effect.type() == MessageType.ABORT_WRITER;
      long fence = isAbort ? AbortWriter.CODEC.fromBytes(effect.body()).fence() : 0;
      client.up.add(new Asked(effect.type(), fence, 0, now));
    }
  }

  private void cut(Client client) {
    mayCut = false;
    client.isConnected = false;
    client.up.clear();
    client.down.clear();
    client.talk.connectionLost();
    if (queue.remove(client)) queued.removeIf(one -> true);
    if (holder == client) isOfConnection = false;
    grantNext();
  }

  private void sleep() {
    maySleep = false;
    now += SECOND;
    for (Client each : clients) {
      each.talk.tick(now);
      carryOut(each);
    }
  }

  // ---- what a client hears ----

  private void hear(Client client, Said said) {
    if (said.asked == null) {
      client.talk.notified(said.message);
    } else {
      client.talk.heard(said.asked.type, said.message, false, said.asked.sentAt, now);
      if (said.asked.type == MessageType.ACQUIRE_WRITER) begin(client);
      if (said.asked.type == MessageType.RELEASE_WRITER) {
        client.talk.writingEnded();
        client.doing = Doing.NOTHING;
      }
    }
    carryOut(client);
  }

  private void say(Client to, Asked asked, Message message) {
    if (to.isConnected) to.down.add(new Said(asked, message));
  }

  // ---- what the server does ----

  private void serve(Client client, Asked asked) {
    switch (asked.type) {
      case ACQUIRE_WRITER -> {
        if (holder == client) holder = null; // The session cannot use that grant any more.
        queue.add(client);
        queued.add(asked);
        grantNext();
      }
      case ABORT_WRITER -> {
        if (holder == client && asked.fence == fences) holder = null;
        say(client, asked, Message.of(MessageType.DONE, 1));
        grantNext();
      }
      case RELEASE_WRITER -> released(client, asked);
      default -> throw new IllegalStateException("the server was sent " + asked.type);
    }
  }

  private void released(Client client, Asked asked) {
    if (client.committed == asked.fence && client.committedVersion == asked.base + 1) {
      answerRelease(client, asked, false, client.committedVersion);
      return;
    }
    if (holder != client || asked.fence != fences) {
      ErrorReply reply = new ErrorReply(ErrorCode.FENCED, "no", List.of());
      say(client, asked, Message.of(MessageType.ERROR, 1, ErrorReply.CODEC, reply));
      return;
    }
    assertEquals(version, asked.base, "a release would undo another one");
    ++version;
    client.committed = asked.fence;
    client.committedVersion = version;
    boolean stays = queue.isEmpty() && isOfConnection;
    answerRelease(client, asked, stays, version);
    isKept = stays;
    isRecalled = false;
    if (!stays) holder = null;
    grantNext();
  }

  private void answerRelease(Client client, Asked asked, boolean stays, long number) {
    List<VersionStamp> versions = List.of(stamp(number));
    say(
        client,
        asked,
        stays
            ? Message.of(MessageType.WRITER_KEPT, 1, WriterKept.CODEC, new WriterKept(versions))
            : Message.of(
                MessageType.WRITER_RELEASED,
                1,
                WriterReleased.CODEC,
                new WriterReleased(versions)));
  }

  /** [LOCK-15, LOCK-16] */
  private void grantNext() {
    if (queue.isEmpty()) return;
    if (holder != null && isKept && !isOfConnection) holder = null;
    if (holder != null) {
      if (isKept && !isRecalled) recall();
      return;
    }
    Client next = queue.poll();
    Asked asked = queued.remove(0);
    holder = next;
    isKept = false;
    isRecalled = false;
    isOfConnection = true;
    ++fences;
    WriterAcquired body =
        new WriterAcquired(stamp(version), false, fences, LEASE_MS, 60_000, 10, 5);
    say(next, asked, Message.of(MessageType.WRITER_ACQUIRED, 1, WriterAcquired.CODEC, body));
    grantNext();
  }

  private void recall() {
    isRecalled = true;
    RecallWriter body = new RecallWriter(NUMBER, fences);
    say(holder, null, Message.of(MessageType.RECALL_WRITER, 1, RecallWriter.CODEC, body));
  }

  // ---- for the walk ----

  /** All fields of a conversation and its grants; of the copy, the version. */
  private static String described(Object talk) {
    StringBuilder all = new StringBuilder();
    for (Field field : talk.getClass().getDeclaredFields()) {
      if (Modifier.isStatic(field.getModifiers())) continue;
      field.setAccessible(true);
      try {
        Object value = field.get(talk);
        if (value instanceof WriterGrant) all.append(described(value));
        else if (value instanceof CopyState copy) all.append(copy.have().number());
        else all.append(value);
      } catch (IllegalAccessException impossible) {
        throw new IllegalStateException(impossible);
      }
      all.append(',');
    }
    return all.toString();
  }

  /** What decides everything that may follow. */
  String state() {
    StringBuilder all = new StringBuilder();
    for (Client each : clients) {
      all.append(each.doing).append(each.isConnected).append(each.sections).append(each.committed);
      all.append('/').append(each.committedVersion).append(described(each.talk));
      for (Asked one : each.up) all.append(one);
      for (Said one : each.down) all.append(one.asked).append(one.message.typeName());
      all.append(queue.contains(each)).append(holder == each).append('|');
    }
    all.append(version).append('/').append(fences).append(isKept).append(isOfConnection);
    return all.append(isRecalled).append(mayCut).append(maySleep).append(now).toString();
  }
}
