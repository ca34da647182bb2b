package org.interweave.client;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Predicate;
import javax.net.ServerSocketFactory;
import org.interweave.session.HeaderFields;
import org.interweave.wire.FrameDecoder;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.ErrorCodec.ErrorCode;
import org.interweave.wire.protocol.ErrorCodec.ErrorReply;
import org.interweave.wire.protocol.FieldCodec.FieldKey;
import org.interweave.wire.protocol.FieldCodec.HeaderField;
import org.interweave.wire.protocol.FieldCodec.IdField;
import org.interweave.wire.protocol.FieldCodec.RedirectField;
import org.interweave.wire.protocol.LockCodec.ReaderAcquired;
import org.interweave.wire.protocol.LockCodec.ReleaseResolved;
import org.interweave.wire.protocol.LockCodec.ReleaseWriter;
import org.interweave.wire.protocol.LockCodec.ResolveRelease;
import org.interweave.wire.protocol.LockCodec.WriterAcquired;
import org.interweave.wire.protocol.MovingCodec.SegmentMoved;
import org.interweave.wire.protocol.NotifyCodec.NotRecent;
import org.interweave.wire.protocol.NotifyCodec.Subscribed;
import org.interweave.wire.protocol.SegmentCodec;
import org.interweave.wire.protocol.SegmentCodec.Durability;
import org.interweave.wire.protocol.SegmentCodec.OpenSegment;
import org.interweave.wire.protocol.SegmentCodec.SegmentInfo;
import org.interweave.wire.protocol.SegmentCodec.SegmentList;
import org.interweave.wire.protocol.SegmentCodec.SegmentOpened;
import org.interweave.wire.protocol.SegmentCodec.VersionStamp;
import org.interweave.wire.protocol.SessionCodec;
import org.interweave.wire.protocol.SessionCodec.Hello;
import org.interweave.wire.protocol.SessionCodec.ListMembers;
import org.interweave.wire.protocol.SessionCodec.MemberInfo;
import org.interweave.wire.protocol.SessionCodec.MemberList;
import org.interweave.wire.protocol.SessionCodec.MemberState;
import org.interweave.wire.protocol.SessionCodec.MessageType;
import org.interweave.wire.protocol.SessionCodec.StoreState;
import org.interweave.wire.protocol.SessionCodec.Welcome;
import org.interweave.wire.protocol.XdrReader;

/**
 * A server of a space as clients see it: it owns every segment, or sends clients on. It grants
 * writer locks, commits no release, and says of every release that version 1 came of it. Its
 * segments can move to another server [SPACE-20, SPACE-23].
 */
final class SpaceServer implements AutoCloseable {
  private static final long FOR_EVER_MS = 3_600_000;
  private static final VersionStamp BEFORE = new VersionStamp(1, 0, 0);
  private static final VersionStamp AFTER = new VersionStamp(1, 1, 0);
  private static final long FIRST_NOTIFICATION = 0x80000000L;
  private static final Set<MessageType> UNHEARD =
      EnumSet.of(MessageType.HELLO, MessageType.GOODBYE, MessageType.LIST_MEMBERS);

  /** A request that is not answered yet. */
  private record Waiting(Socket client, MessageType type, long stream, String path) {}

  /** An opening of a segment, whose number no other opening has. */
  private record Opened(Socket client, String path) {}

  private final byte[] space;
  private final ServerSocketFactory sockets;
  private final int port;
  private final BlockingQueue<MessageType> heard = new LinkedBlockingQueue<>();
  private final BlockingQueue<Hello> hellos = new LinkedBlockingQueue<>();
  private final BlockingQueue<ResolveRelease> resolved = new LinkedBlockingQueue<>();
  private final List<Socket> open = new ArrayList<>();
  /** The connections that were to be passed on, and where to. */
  private final Map<Socket, String> relayed = new HashMap<>();
  private ServerSocket listening;
  private RedirectField owner;
  private int sessions;
  private long opened;
  private boolean diesOfReleases;
  private boolean diesOfOpenings;
  private boolean ignoresOpenings;
  private ErrorCode welcomesNobody;
  private ErrorCode opensNothing;
  private final Set<MessageType> later = EnumSet.of(MessageType.RELEASE_WRITER);
  private VersionStamp newest = BEFORE;
  private final Map<Long, Opened> openings = new HashMap<>();
  private final List<Waiting> waiting = new ArrayList<>();
  /** By path: where the segments are that have moved. */
  private final Map<String, RedirectField> moved = new HashMap<>();
  private long notifications = FIRST_NOTIFICATION;
  /** Those of whom it knows that they share its store; none: it has its store alone. */
  private List<SpaceServer> members = List.of();
  private int lists;

  /** On a port that stays the same. */
  SpaceServer(int space) throws IOException {
    this(space, ServerSocketFactory.getDefault());
  }

  SpaceServer(int space, ServerSocketFactory sockets) throws IOException {
    this.space = new byte[16];
    this.space[0] = (byte) space;
    this.sockets = sockets;
    port = Server.freePort();
    begin();
  }

  private void begin() throws IOException {
    listening = sockets.createServerSocket(port, 8, InetAddress.getByName(host()));
    start(this::acceptAll);
  }

  /**
   * Of the many loopback addresses one that is this process's own: other programs cannot take the
   * port there while the server is down. Certificates have the usual address alone.
   */
  private String host() {
    long own = ProcessHandle.current().pid();
    boolean isPlain = sockets == ServerSocketFactory.getDefault();
    return isPlain ? "127.9." + (own >> 8 & 0xff) + "." + (own & 0xff) : "127.0.0.1";
  }

  private static void start(Runnable body) {
    Thread thread = new Thread(body, "space server");
    thread.setDaemon(true);
    thread.start();
  }

  String url(String path) {
    return "iw://" + address() + path;
  }

  String address() {
    return host() + ":" + port;
  }

  /** From now on it lists itself and these. */
  synchronized SpaceServer sharesWith(SpaceServer... others) {
    List<SpaceServer> all = new ArrayList<>(List.of(others));
    all.add(this);
    all.sort(Comparator.comparingInt(each -> each.port));
    members = all;
    return this;
  }

  /** How often it was asked for members. */
  synchronized int listsSoFar() {
    return lists;
  }

  synchronized void serves(int otherSpace) {
    space[0] = (byte) otherSpace;
  }

  /** Sends clients on from now on. */
  SpaceServer sendsTo(SpaceServer other) {
    return sendsTo(other.address(), "");
  }

  synchronized SpaceServer sendsTo(String address, String tlsName) {
    owner = new RedirectField(address, tlsName, false);
    return this;
  }

  /** It passes clients on from now on, and answers them itself as that server would. */
  synchronized SpaceServer relaysTo(String address) {
    owner = new RedirectField(address, "", true);
    return this;
  }

  /** Where connections were to be passed on to. */
  synchronized List<String> relayed() {
    return List.copyOf(relayed.values());
  }

  synchronized void owns() {
    owner = null;
  }

  /** Answers HELLO with that error from now on; null: with a welcome. */
  synchronized void welcomesNobody(ErrorCode because) {
    welcomesNobody = because;
  }

  /** Answers openings with that error from now on; null: as it does otherwise. */
  synchronized void opensNothing(ErrorCode because) {
    opensNothing = because;
  }

  /** The first release ends it, unanswered. */
  synchronized void diesOfReleases() {
    diesOfReleases = true;
  }

  /** The next opening ends it, unanswered. */
  synchronized void diesOfOpenings() {
    diesOfOpenings = true;
  }

  /** Openings are not answered from now on. */
  synchronized void ignoresOpenings() {
    ignoresOpenings = true;
  }

  /** Requests of that type wait: for locks, subscriptions or releases. */
  synchronized void answersLater(MessageType type) {
    later.add(type);
  }

  /** Segments are of version 1 from now on. */
  synchronized void isWritten() {
    newest = AFTER;
  }

  /** No copy of its segments is confirmed any more [SPACE-20]. */
  synchronized void confirmsNoMore() throws IOException {
    for (Map.Entry<Long, Opened> each : openings.entrySet()) {
      NotRecent body = new NotRecent(each.getKey(), newest);
      Socket client = each.getValue().client();
      answer(client, Message.of(
          MessageType.NOT_RECENT, notifications++, NotRecent.CODEC, body));
    }
  }

  /** As `moves`, but the client learns it by the answers to its requests alone. */
  synchronized void movesUnsaid(String path, SpaceServer to) {
    moved.put(path, new RedirectField(to.address(), "", false));
  }

  /** The segment is at another server from now on. Writers that wait are told so first. */
  synchronized void moves(String path, SpaceServer to) throws IOException {
    movesUnsaid(path, to);
    refuse(path, type -> type == MessageType.ACQUIRE_WRITER);
    for (Map.Entry<Long, Opened> each : openings.entrySet()) {
      if (!each.getValue().path().equals(path)) continue;
      SegmentMoved body = new SegmentMoved(each.getKey(), to.address(), "");
      Socket client = each.getValue().client();
      answer(client, Message.of(
          MessageType.SEGMENT_MOVED, notifications++, SegmentMoved.CODEC, body));
    }
  }

  /** Answers all requests about a segment that has moved which wait. */
  synchronized void refuse(String path) throws IOException {
    refuse(path, type -> true);
  }

  private void refuse(String path, Predicate<MessageType> isMeant) throws IOException {
    for (Waiting each : List.copyOf(waiting)) {
      if (!each.path().equals(path) || !isMeant.test(each.type())) continue;
      waiting.remove(each);
      answer(each.client(), sentOn(each.stream(), moved.get(path)));
    }
  }

  /** The next message about segments or releases that came; waits for one. */
  MessageType heard() throws InterruptedException {
    return heard.take();
  }

  int heardSoFar() {
    return heard.size();
  }

  Hello hello() throws InterruptedException {
    return hellos.take();
  }

  /** How often a client has introduced itself, but for those that `hello` gave. */
  int hellosSoFar() {
    return hellos.size();
  }

  ResolveRelease resolved() throws InterruptedException {
    return resolved.take();
  }

  /** Ends all connections, and takes no other. */
  synchronized void kill() throws IOException {
    listening.close();
    cut();
  }

  /** Ends all connections. */
  synchronized void cut() throws IOException {
    for (Socket each : open) each.close();
    open.clear();
  }

  /** Without the sessions that it had. */
  synchronized void restart() throws IOException {
    begin();
  }

  private void acceptAll() {
    ServerSocket at = listening;
    try {
      while (true) {
        Socket client = at.accept();
        synchronized (this) {
          // It may have come while the server was killed.
          if (at.isClosed()) client.close();
          else open.add(client);
        }
        start(() -> serve(client));
      }
    } catch (IOException closed) {
      // It was killed, or the test has ended.
    }
  }

  private void serve(Socket client) {
    FrameDecoder frames = new FrameDecoder(0);
    frames.bound(1 << 20);
    byte[] bytes = new byte[4096];
    try (client) {
      while (true) {
        int count = client.getInputStream().read(bytes);
        if (count < 0) return;
        List<Message> whole = new ArrayList<>();
        frames.push(bytes, 0, count, whole);
        for (Message each : whole) take(client, each);
      }
    } catch (IOException closed) {
      // As above.
    }
  }

  private synchronized void take(Socket client, Message message) throws IOException {
    // It may have been read while the connection was cut.
    if (client.isClosed()) return;
    MessageType type = MessageType.of(message.envelope().type());
    if (!UNHEARD.contains(type)) heard.add(type);
    long stream = message.envelope().stream();
    switch (type) {
      case HELLO -> {
        noteWish(client, message);
        answer(client, welcome(message));
      }
      case OPEN_SEGMENT -> {
        if (diesOfOpenings) kill();
        else if (!ignoresOpenings) answer(client, opening(client, message));
      }
      case LIST_SEGMENTS -> answer(client, list(stream));
      case LIST_MEMBERS -> answer(client, members(message));
      case REMOVE_SEGMENT ->
          answer(
              client,
              owner == null ? Message.of(MessageType.DONE, stream) : sentOn(stream, owner));
      case RELEASE_WRITER -> {
        if (diesOfReleases) kill();
        else takeLater(client, type, message);
      }
      case ACQUIRE_READER, ACQUIRE_WRITER, SUBSCRIBE, RESOLVE_RELEASE ->
          takeLater(client, type, message);
      default -> answer(client, Message.of(MessageType.DONE, stream));
    }
  }

  /** A request about a segment that is open, unless the segment has moved. */
  private void takeLater(Socket client, MessageType type, Message message) throws IOException {
    long stream = message.envelope().stream();
    String path = openings.get(numberIn(type, message)).path();
    if (moved.containsKey(path)) answer(client, sentOn(stream, moved.get(path)));
    else if (later.contains(type)) waiting.add(new Waiting(client, type, stream, path));
    else answer(client, answered(type, message));
  }

  private static long numberIn(MessageType type, Message message) {
    if (type != MessageType.RELEASE_WRITER) return new XdrReader(message.body()).u32();
    return message.decode(ReleaseWriter.CODEC).parts().get(0).segment();
  }

  private Message answered(MessageType type, Message message) {
    long stream = message.envelope().stream();
    return switch (type) {
      case ACQUIRE_READER ->
          Message.of(
              MessageType.READER_ACQUIRED, stream, ReaderAcquired.CODEC,
              new ReaderAcquired(newest, false));
      case ACQUIRE_WRITER ->
          Message.of(
              MessageType.WRITER_ACQUIRED, stream, WriterAcquired.CODEC,
              new WriterAcquired(newest, false, 7, FOR_EVER_MS, FOR_EVER_MS, 1, 64));
      case SUBSCRIBE ->
          Message.of(MessageType.SUBSCRIBED, stream, Subscribed.CODEC, new Subscribed(newest));
      default -> {
        resolved.add(message.decode(ResolveRelease.CODEC));
        yield Message.of(
            MessageType.RELEASE_RESOLVED, stream, ReleaseResolved.CODEC,
            new ReleaseResolved(true, AFTER));
      }
    };
  }

  /** That of the client that was welcomed as the `count`th; it tells the server's port. */
  byte[] session(int count) {
    byte[] session = new byte[16];
    session[0] = (byte) count;
    session[1] = (byte) port;
    session[2] = (byte) (port >> 8);
    return session;
  }

  private Message welcome(Message hello) {
    hellos.add(hello.decode(Hello.CODEC));
    if (welcomesNobody != null) return notNow(hello.envelope().stream(), welcomesNobody);
    byte[] id = IdField.CODEC.toBytes(new IdField(space));
    List<HeaderField> fields = List.of(new HeaderField(FieldKey.FIELD_SPACE_ID.number, id));
    Welcome welcome =
        new Welcome(
            SessionCodec.PROTOCOL_VERSION_MAX, session(++sessions), false, FOR_EVER_MS,
            FOR_EVER_MS, 1 << 20, "space", fields);
    return Message.of(
        MessageType.WELCOME, hello.envelope().stream(), Welcome.CODEC, welcome);
  }

  /** The client may ask to be passed on [SPACE-48]. */
  private void noteWish(Socket client, Message hello) {
    List<HeaderField> fields = hello.decode(Hello.CODEC).fields();
    RedirectField to =
        HeaderFields.find(fields, FieldKey.FIELD_REDIRECT, RedirectField.CODEC);
    if (to != null && to.relay()) relayed.put(client, to.address());
  }

  private Message opening(Socket client, Message message) {
    long stream = message.envelope().stream();
    String path = message.decode(OpenSegment.CODEC).path();
    if (opensNothing != null) return notNow(stream, opensNothing);
    if (owner != null && !relayed.containsKey(client)) return sentOn(stream, owner);
    if (moved.containsKey(path)) return sentOn(stream, moved.get(path));
    openings.put(++opened, new Opened(client, path));
    SegmentOpened body =
        new SegmentOpened(opened, false, newest, Durability.SYNCED, 0, 0, 0, List.of());
    return Message.of(MessageType.SEGMENT_OPENED, stream, SegmentOpened.CODEC, body);
  }

  /** One row an answer, so that a client has to ask again. The numbers are the ports. */
  private Message members(Message message) {
    ++lists;
    long after = message.decode(ListMembers.CODEC).after();
    List<MemberInfo> rows = new ArrayList<>();
    for (SpaceServer each : members) {
      if (each.port <= after) continue;
      rows.add(
          new MemberInfo(
              each.port, each.address(), "", 1000, MemberState.STANDING, each == this, 0, 0));
    }
    StoreState store = new StoreState("", "", 0, 0, false, "");
    boolean hasMore = rows.size() > 1;
    MemberList body =
        new MemberList(
            !members.isEmpty(), false, hasMore ? rows.subList(0, 1) : rows, hasMore, 0, 0, store);
    long stream = message.envelope().stream();
    return Message.of(MessageType.MEMBER_LIST, stream, MemberList.CODEC, body);
  }

  /** A segment of another server of the space [SPACE-35], and then one of its own. */
  private static Message list(long stream) {
    SegmentInfo elsewhere =
        new SegmentInfo(
            "/elsewhere", AFTER, Durability.SYNCED, 0, 0, 0, SegmentCodec.NOT_KNOWN, 0, false, 0);
    SegmentInfo here =
        new SegmentInfo("/here", AFTER, Durability.SYNCED, 1, 4, 0, 2, 0, false, 0);
    return Message.of(
        MessageType.SEGMENT_LIST, stream, SegmentList.CODEC,
        new SegmentList(List.of(elsewhere, here), false));
  }

  private static Message notNow(long stream, ErrorCode because) {
    ErrorReply reply = new ErrorReply(because, "not now", List.of());
    return Message.of(MessageType.ERROR, stream, ErrorReply.CODEC, reply);
  }

  private static Message sentOn(long stream, RedirectField where) {
    byte[] to = RedirectField.CODEC.toBytes(where);
    List<HeaderField> fields = List.of(new HeaderField(FieldKey.FIELD_REDIRECT.number, to));
    ErrorReply reply =
        new ErrorReply(ErrorCode.REDIRECTED, "it is at " + where.address(), fields);
    return Message.of(MessageType.ERROR, stream, ErrorReply.CODEC, reply);
  }

  private static void answer(Socket client, Message message) throws IOException {
    OutputStream out = client.getOutputStream();
    for (ByteBuffer each : message.frames()) out.write(each.array(), 0, each.limit());
    out.flush();
  }

  @Override
  public void close() throws IOException {
    kill();
  }
}
