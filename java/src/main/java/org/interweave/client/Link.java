package org.interweave.client;

import static org.interweave.wire.protocol.SessionCodec.MessageType.CANCEL;
import static org.interweave.wire.protocol.SessionCodec.MessageType.GOODBYE;
import static org.interweave.wire.protocol.SessionCodec.MessageType.HELLO;
import static org.interweave.wire.protocol.SessionCodec.MessageType.PING;

import java.io.File;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketAddress;
import java.nio.channels.SelectionKey;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.coherence.Freshness;
import org.interweave.flight.Flight;
import org.interweave.flight.ReconnectionEvent;
import org.interweave.session.Answers;
import org.interweave.session.Connection;
import org.interweave.session.Introduction;
import org.interweave.wire.Address;
import org.interweave.wire.Hosts;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.FieldCodec.RedirectField;
import org.interweave.wire.protocol.SessionCodec.Cancel;
import org.interweave.wire.protocol.SessionCodec.MessageType;
import org.interweave.wire.protocol.SessionCodec.Welcome;
import org.interweave.wire.protocol.XdrReader;

/**
 * The connection to one server, shared by all segments that a client has open there. The link makes
 * it, keeps it alive, and makes it again after a loss. A connection is never repaired: a new one
 * replaces it, and resumes the session if its lease lives [SES-2].
 *
 * <p>`lock` guards the link and the exchanges of its segments. Threads of the program put messages
 * into `channel`'s queue; the library's thread sends them and takes answers in, in their order.
 */
final class Link implements Connection.Hearing<Call> {
  private static final long MILLISECOND = 1_000_000;
  private static final long CONNECTING = 10_000 * MILLISECOND;
  private static final long FLUSHING = 1_000 * MILLISECOND;
  private static final byte[] NO_SESSION = new byte[16];

  final ReentrantLock lock;
  /** The connection was made or lost, or an attempt failed. */
  private final Condition changed;
  private final Links links;
  private final Library library;
  private final Attempts attempts;
  /** The name that the server's certificate must have; "": that of the server's host. */
  private final String tlsName;
  private boolean isLookingUp;
  private final String shown;
  private final boolean isSecure;
  /** A secret. */
  private final String token;
  /** The token that the connection shows until it is welcome; null if it shows none. */
  private OwnToken.Found shownOwn;
  private boolean isToLoopback;
  /** Null: those that the environment names. */
  private final TlsFiles files;
  private final Introduction introduction;
  /** Calls that need the link without a segment. */
  int borrowers;
  /** URLs name it; otherwise servers alone have sent segments here. */
  boolean isNamed;
  private final Set<Exchange> exchanges = new LinkedHashSet<>();
  private final Map<Long, Exchange> byNumber = new HashMap<>();
  /** By path: closed, and the server has not answered their openings yet. */
  private final Map<String, Exchange> leaving = new HashMap<>();
  /** A secret: nothing that is printed may show it. */
  private byte[] session = NO_SESSION;
  private long sequence;
  private byte[] space;

  /** Null while there is none; not welcome yet where `isLive` is false. */
  private Connection connection;
  private Channel channel;
  private boolean isLive;
  private boolean isClosed;
  private long beganAt;
  /** Since the last loss, if it is recorded. */
  private ReconnectionEvent reconnecting;

  Link(
      Links links, Hosts server, String tlsName, SocketAddress[] addresses, Introduction own,
      String token, TlsFiles files) {
    this.links = links;
    lock = links.lock;
    changed = lock.newCondition();
    library = Library.get();
    attempts = new Attempts(server, addresses, Clock.now());
    isSecure = server.secure();
    this.tlsName = tlsName;
    this.shown = server.text();
    this.introduction = own;
    this.token = token;
    this.files = files;
  }

  void begin() {
    library.add(this);
  }

  Links links() {
    return links;
  }

  boolean isSecure() {
    return isSecure;
  }

  /** Of each host, or null where it is not known yet. */
  SocketAddress[] addresses() {
    return attempts.addresses();
  }

  /** One that has not begun, with the same credentials [SPACE-11]. */
  Link another(Hosts to, String name, SocketAddress[] at) {
    return new Link(links, to, name, at, introduction, token, files);
  }

  /** If this link cannot reach its server, the hosts of that link relay its connections. */
  void isRelayedBy(Link home, RedirectField to) {
    attempts.addRelays(home.attempts, to);
  }

  boolean isTo(Hosts other) {
    return shown.equals(other.text());
  }

  /** Whether it is to the same server, with the same credentials. */
  boolean isLike(Link other) {
    return !isClosed
        && shown.equals(other.shown)
        && tlsName.equals(other.tlsName)
        && token.equals(other.token)
        && Objects.equals(files, other.files);
  }

  /** Whether servers are shown that here, too [SPACE-62]. Null: no files are given. */
  boolean shows(String shownToken, TlsFiles given) {
    TlsFiles others = TlsFiles.ofEnvironment();
    TlsFiles shownFiles = given == null ? others : given.or(others);
    return token.equals(shownToken) && files().equals(shownFiles);
  }

  /** BAD_ARGUMENT if an opening gives credentials that this connection does not have [CRED-1]. */
  void checkSame(String shownToken, TlsFiles given) {
    String other = given == null ? null : given.another(files());
    if (shownToken != null && !shownToken.equals(token)) other = "token";
    if (other == null) return;
    throw InterweaveException.of(
        Error.BAD_ARGUMENT,
        "the option " + other + " is another than that of this client's connection to " + shown
            + ", which all its segments of the server share; close them first, or use another"
            + " Client");
  }

  // ---- for threads of the program, which hold the lock ----

  void add(Exchange exchange) {
    exchanges.add(exchange);
  }

  void remove(Exchange exchange) {
    exchanges.remove(exchange);
    byNumber.remove(exchange.number(), exchange);
    leaving.remove(exchange.path(), exchange);
  }

  void leaves(String path, Exchange exchange) {
    leaving.put(path, exchange);
  }

  /** Whether another exchange has the path open here, or is to open it. */
  boolean has(String path, Exchange own) {
    for (Exchange each : exchanges) {
      if (each != own && each.path().equals(path) && !each.isLeaving()) return true;
    }
    return false;
  }

  /** What the server serves with others; null: it does not say. */
  byte[] space() {
    return space;
  }

  /** Whether the server is of the space, so that one of it may send a client here [SPACE-12]. */
  boolean isOf(byte[] other) {
    return other != null && Arrays.equals(space, other);
  }

  InterweaveException inOtherSpace() {
    return InterweaveException.of(
        Error.REDIRECTED,
        "a server sent this client on to " + shown + ", which serves another space; ask its"
            + " operator");
  }

  /** The owner to which this link's server sent the client on is away [SPACE-55]. */
  InterweaveException ownerAway(Link owner, InterweaveException why) {
    return InterweaveException.of(
        why.code(),
        "the server " + owner.shown + ", to which this client was sent on, cannot be reached: "
            + why.getMessage() + "; `interweave status " + shown + "` says whether it lives");
  }

  /** The exchange that CLOSE_SEGMENT will end before the path can be opened again; null: none. */
  Exchange leaving(String path) {
    return leaving.get(path);
  }

  /** The server does not call anything that number any more. */
  void forget(long number, Exchange exchange) {
    byNumber.remove(number, exchange);
  }

  /** The server calls it `number` now, and `before` no more. */
  void isAt(long before, long number, Exchange exchange) {
    byNumber.remove(before, exchange);
    byNumber.put(number, exchange);
  }

  boolean isLive() {
    return isLive;
  }

  /** The connection at hand; null if there is none that is welcome. */
  Connection live() {
    return isLive ? connection : null;
  }

  byte[] session() {
    return session;
  }

  /** Releases of a session count up [LOCK-8]. */
  long nextSequence() {
    return ++sequence;
  }

  /** When the server was last heard. */
  long heard() {
    return connection == null ? Freshness.NEVER : connection.heard();
  }

  long heartbeat() {
    return isLive ? connection.heartbeat() : 0;
  }

  /**
   * Waits for a live connection. `failsAtOnce`: not longer than one attempt at each host takes. A
   * refusal that time does not change is told after one attempt in any case; the next call makes
   * another. Null: the exchange `by` has changed to another link.
   */
  Connection connected(
      Exchange by, long deadline, boolean failsAtOnce, boolean isInterruptible) {
    long before = attempts.count();
    if (!isLive) {
      InterweaveException failure = attempts.failure();
      if (failure != null && !mayPass(failure)) attempts.hurry(Clock.now());
      library.wakeup();
    }
    while (!isLive) {
      if (isClosed) throw InterweaveException.of(Error.NOT_OPEN, "the client was closed");
      InterweaveException failure = attempts.failure();
      boolean isTold = failure != null && (failsAtOnce || !mayPass(failure));
      if (isTold && attempts.count() > before) throw failure;
      boolean isInTime = await(changed, deadline, isInterruptible);
      if (by != null && by.link() != this) return null;
      if (!isInTime) {
        failure = attempts.failure();
        throw failure != null ? failure : lost("no new connection before the deadline");
      }
    }
    return connection;
  }

  static boolean mayPass(InterweaveException wrong) {
    Error code = wrong.code();
    return code == Error.UNREACHABLE || code == Error.STOPPING || code == Error.NO_MEMORY;
  }

  /** Waits for a signal; false: the deadline has passed. CANCELLED if the thread is interrupted. */
  boolean await(Condition condition, long deadline, boolean isInterruptible) {
    boolean wasInterrupted = false;
    try {
      long left = deadline - Clock.now();
      if (left <= 0) return false;
      if (isInterruptible) {
        condition.awaitNanos(left);
        return true;
      }
      wasInterrupted = Thread.interrupted();
      condition.await(Math.min(left, CONNECTING), TimeUnit.NANOSECONDS);
      return true;
    } catch (InterruptedException interrupted) {
      wasInterrupted = true;
      if (isInterruptible) {
        throw InterweaveException.of(Error.CANCELLED, "the thread that waited was interrupted");
      }
      return true;
    } finally {
      if (wasInterrupted) Thread.currentThread().interrupt();
    }
  }

  /** Sends a request on the live connection. */
  Call send(MessageType type, Exchange owner, byte[] body, byte[] bulk, boolean isAwaited) {
    Call call = new Call(type, owner, isAwaited ? lock.newCondition() : null);
    call.isLate = !isAwaited;
    call.stream = connection.begin(call, Clock.now());
    queue(Message.of(type, call.stream, body, bulk));
    return call;
  }

  /** Sends a message that has no answer. */
  void tell(MessageType type, byte[] body) {
    if (isLive) queue(Message.of(type, connection.tell(Clock.now()), body, NO_BYTES));
  }

  private static final byte[] NO_BYTES = new byte[0];

  private void queue(Message message) {
    channel.queue(message.frames());
    library.wakeup();
  }

  /**
   * Waits for the answer. At the deadline or when the thread is interrupted the call is given up,
   * and one that `waitsForOthers` ends by CANCEL. UNREACHABLE if the connection is lost before.
   */
  Message await(Call call, long deadline, boolean waitsForOthers, boolean isInterruptible) {
    boolean isGivenUp = true;
    try {
      while (!call.isDone()) {
        if (!await(call.done, deadline, isInterruptible)) {
          throw InterweaveException.of(
              Error.TIMED_OUT, shown + ": the server did not answer in time");
        }
      }
      isGivenUp = false;
    } finally {
      if (isGivenUp) {
        call.isLate = true;
        if (waitsForOthers) tell(CANCEL, Cancel.CODEC.toBytes(new Cancel(call.stream)));
      }
    }
    if (call.failure != null) throw call.failure;
    return call.answer;
  }

  /** Sends GOODBYE, which ends the session at once. */
  void close() {
    lock.lock();
    try {
      closeSoon();
      long deadline = Clock.now() + FLUSHING;
      while (channel != null && channel.hasUnsent() && await(changed, deadline, false)) continue;
      library.wakeup();
    } finally {
      lock.unlock();
    }
  }

  /** As `close`, but waits for nothing. */
  void closeSoon() {
    tell(GOODBYE, NO_BYTES);
    isClosed = true;
    changed.signalAll();
    library.wakeup();
  }

  /** An exchange has changed to another link. */
  void left() {
    changed.signalAll();
    if (links.drops(this)) closeSoon();
  }

  private InterweaveException told(InterweaveException why) {
    if (why == null) return lost("the client was closed");
    return why.code() == Error.UNREACHABLE ? why : lost(why.getMessage());
  }

  private InterweaveException lost(String why) {
    return InterweaveException.of(
        Error.UNREACHABLE, "the connection to " + attempts.host().shown + " is lost: " + why);
  }

  /** What was never reached is told apart, because most often no server runs there. */
  private InterweaveException failed(IOException why) {
    if (channel != null && channel.isConnected()) return lost(why.getMessage());
    Attempts.Host host = attempts.host();
    String socketFile = host.server.socketFile();
    boolean isNobodyThere =
        socketFile == null ? why instanceof ConnectException : !new File(socketFile).exists();
    String advice = isNobodyThere ? "; is one running there? (interweave serve)" : "";
    return InterweaveException.of(
        Error.UNREACHABLE,
        "cannot reach a server at " + host.shown + ": " + why.getMessage() + advice);
  }

  /** The library's thread then makes another connection. */
  private static InterweaveException broken(RuntimeException wrong) {
    if (wrong instanceof InterweaveException known) return known;
    InterweaveException told =
        InterweaveException.of(Error.INTERNAL, "please report this: " + wrong);
    told.initCause(wrong);
    return told;
  }

  // ---- the library's thread ----

  /** The selector says that the channel can do something. */
  void ready(SelectionKey key) {
    lock.lock();
    try {
      if (channel == null || channel.key() != key) return;
      if (key.isConnectable()) {
        channel.finishConnecting();
        greet();
      }
      if (key.isReadable()) receive();
      if (channel != null) channel.flush();
    } catch (IOException wrong) {
      lose(failed(wrong));
    } catch (RuntimeException wrong) {
      lose(broken(wrong));
    } finally {
      lock.unlock();
    }
  }

  private void receive() throws IOException {
    byte[] bytes = library.inputBytes();
    int count = channel.read(bytes);
    if (count < 0) lose("the server closed it");
    else if (count > 0) connection.receive(bytes, 0, count, Clock.now(), this);
  }

  /** Sends what waits, and looks at the timers. */
  void attend() {
    lock.lock();
    try {
      long now = Clock.now();
      if (isClosed && (channel == null || !channel.hasUnsent())) {
        lose((InterweaveException) null);
        library.remove(this);
      } else if (channel == null) {
        if (!isClosed && attempts.isDue(now)) connect(now);
      } else {
        attendChannel(now);
      }
    } catch (IOException wrong) {
      lose(failed(wrong));
    } catch (RuntimeException wrong) {
      lose(broken(wrong));
    } finally {
      lock.unlock();
    }
  }

  private void attendChannel(long now) throws IOException {
    if (channel.isStalled()) receive();
    if (channel == null) return;
    channel.flush();
    if (!channel.hasUnsent()) changed.signalAll();
    if (isLive) tick(now);
    else if (now - beganAt > attempts.patience(isNamed)) lose("no " + awaited() + " in time");
  }

  private String awaited() {
    if (channel.isReady()) return "welcome";
    return isSecure ? "answer of TLS" : "connection";
  }

  private void tick(long now) {
    if (connection.isSilent(now)) {
      lose("the server has fallen silent");
      return;
    }
    for (Exchange exchange : List.copyOf(exchanges)) exchange.tick(now);
    if (connection.isPingDue(now)) send(PING, null, NO_BYTES, NO_BYTES, false);
  }

  private void connect(long now) {
    if (isLookingUp) return;
    beganAt = now;
    connection = new Connection(now);
    Attempts.Host host = attempts.host();
    if (host.address == null) {
      isLookingUp = true;
      Library.start(new LookingUp(host), "interweave-names");
      return;
    }
    try {
      channel = Channel.connect(host.address, library.selector(), this, encryption());
      if (channel.isConnected()) greet();
    } catch (IOException wrong) {
      lose(failed(wrong));
    } catch (UnsupportedOperationException wrong) {
      lose(wrong.getMessage());
    }
  }

  /** It may take long. */
  private final class LookingUp implements Runnable {
    private final Attempts.Host host;

    LookingUp(Attempts.Host host) {
      this.host = host;
    }

    @Override
    public void run() {
      SocketAddress found = null;
      IOException failed = null;
      try {
        found = Channel.resolve(host.server);
      } catch (IOException wrong) {
        failed = wrong;
      }
      lock.lock();
      try {
        isLookingUp = false;
        host.address = found;
        if (failed != null) lose(failed(failed));
        library.wakeup();
      } finally {
        lock.unlock();
      }
    }
  }

  private Encryption encryption() {
    if (!isSecure) return null;
    Attempts.Host host = attempts.host();
    String name = tlsName.isEmpty() || host.relay != null ? host.server.host() : tlsName;
    return Encryption.begin(host.server, name, files(), library);
  }

  /** As they are now. */
  private TlsFiles files() {
    TlsFiles others = TlsFiles.ofEnvironment();
    return files == null ? others : files.or(others);
  }

  private void greet() throws IOException {
    isToLoopback = token.isEmpty() && channel.isToLoopback();
    shownOwn = isToLoopback ? attempts.host().ownToken.find(true) : null;
    String shownToken = shownOwn == null ? token : shownOwn.text();
    RedirectField relay = attempts.host().relay;
    byte[] hello = Connection.hello(session, shownToken, introduction, relay);
    Call call = new Call(HELLO, null, null);
    call.stream = connection.begin(call, Clock.now());
    channel.queue(Message.of(HELLO, call.stream, hello, NO_BYTES).frames());
    channel.flush();
  }

  @Override
  public void answered(Call call, Message answer, long sentAt) {
    if (call.type == HELLO) {
      welcomed(answer);
      return;
    }
    if (call.owner != null) call.owner.answered(call, answer, sentAt);
    call.answered(answer, sentAt);
  }

  private void welcomed(Message answer) {
    byte[] given;
    try {
      Welcome said = connection.welcomed(answer);
      checkSpace(Answers.space(said));
      given = said.session();
    } catch (InterweaveException wrong) {
      if (wrong.code() != Error.DENIED) throw wrong;
      if (shownOwn == null) throw attempts.host().ownToken.explained(wrong, isToLoopback);
      showAnother();
      return;
    }
    if (!Arrays.equals(given, session)) sequence = 0;
    session = given;
    isLive = true;
    attempts.welcomed();
    if (reconnecting != null) reconnecting.ended(shown, attempts.count());
    reconnecting = null;
    for (Exchange exchange : List.copyOf(exchanges)) exchange.connectionMade();
    changed.signalAll();
  }

  /** All hosts of a URL serve the space of the first one that welcomed the client [SPACE-47]. */
  private void checkSpace(byte[] found) {
    boolean isFirst = Arrays.equals(session, NO_SESSION);
    if (attempts.hasOthers() && !isFirst && !isOf(found)) {
      throw InterweaveException.of(
          Error.UNREACHABLE,
          attempts.host().shown + " serves another space than the host that this client asked"
              + " before; ask its operator");
    }
    space = found;
  }

  /** The server does not take the token of a file: it is not shown again [OWN-6]. */
  private void showAnother() {
    attempts.host().ownToken.refused(shownOwn);
    channel.close();
    channel = null;
    connection = null;
    attempts.hurry(Clock.now());
    library.wakeup();
  }

  @Override
  public void notified(Message message) {
    Exchange exchange = segmentOf(message);
    if (exchange != null) exchange.notified(message);
  }

  @Override
  public void begins(Call call, Message first) {
    Exchange exchange = call == null ? segmentOf(first) : call.owner;
    if (exchange != null) exchange.begins(call, first);
  }

  /** Messages about a segment begin with its number on this connection. */
  private Exchange segmentOf(Message message) {
    if (message.body().length < 4) return null;
    return byNumber.get(new XdrReader(message.body()).u32());
  }

  /** The library's thread cannot continue. */
  void failed(Throwable why) {
    lock.lock();
    try {
      isClosed = true;
      lose("the library's thread has ended: " + why.getMessage());
    } finally {
      lock.unlock();
    }
  }

  private void lose(String why) {
    lose(lost(why));
  }

  /** `why` is null if the client was closed: an exception that nobody sees would load classes. */
  private void lose(InterweaveException why) {
    if (connection == null) return;
    long now = Clock.now();
    if (channel != null) channel.close();
    List<Object> unanswered = new ArrayList<>(connection.unanswered());
    boolean wasLive = isLive;
    channel = null;
    connection = null;
    isLive = false;
    byNumber.clear();
    leaving.clear();
    InterweaveException told = null;
    for (Object each : unanswered) {
      Call call = (Call) each;
      if (call.done == null) continue;
      if (told == null) told = told(why);
      call.failed(told);
    }
    boolean isRoundOver = true;
    if (wasLive) attempts.lost(why, beganAt, now);
    else if (why != null) isRoundOver = attempts.failed(why, now);
    if (!isRoundOver) library.wakeup();
    if (wasLive && Flight.isOn()) reconnecting = ReconnectionEvent.begun(attempts.count());
    for (Exchange exchange : List.copyOf(exchanges)) {
      if (wasLive) exchange.connectionLost();
      else if (!isClosed && isRoundOver) exchange.unreachable(attempts.failure());
    }
    changed.signalAll();
  }
}
