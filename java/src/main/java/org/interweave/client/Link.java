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
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.coherence.Freshness;
import org.interweave.flight.Flight;
import org.interweave.flight.ReconnectionEvent;
import org.interweave.session.Connection;
import org.interweave.session.Introduction;
import org.interweave.wire.Address;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.SessionCodec.Cancel;
import org.interweave.wire.protocol.SessionCodec.MessageType;
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
  private static final long FIRST_PAUSE = 50 * MILLISECOND;
  private static final long LONGEST_PAUSE = 2_000 * MILLISECOND;
  private static final long CONNECTING = 10_000 * MILLISECOND;
  private static final long FLUSHING = 1_000 * MILLISECOND;

  final ReentrantLock lock = new ReentrantLock();
  /** The connection was made or lost, or an attempt failed. */
  private final Condition changed = lock.newCondition();
  private final Library library;
  private final SocketAddress address;
  private final Address server;
  private final String shown;
  /** A secret. */
  private final String token;
  private final OwnToken ownToken;
  /** The token that the connection shows until it is welcome; null if it shows none. */
  private OwnToken.Found shownOwn;
  private boolean isToLoopback;
  /** Null: those that the environment names. */
  private final TlsFiles files;
  private final Introduction introduction;
  /** Calls that need the link without a segment; the client guards it. */
  int borrowers;
  private final Set<Exchange> exchanges = new LinkedHashSet<>();
  private final Map<Long, Exchange> byNumber = new HashMap<>();
  /** By path: closed, and the server has not answered their openings yet. */
  private final Map<String, Exchange> leaving = new HashMap<>();
  /** A secret: nothing that is printed may show it. */
  private byte[] session = new byte[16];
  private long sequence;

  /** Null while there is none; not welcome yet where `isLive` is false. */
  private Connection connection;
  private Channel channel;
  private boolean isLive;
  private boolean isClosed;
  private long beganAt;
  private InterweaveException failure;
  private long attempts;
  /** Since the last loss, if it is recorded. */
  private ReconnectionEvent reconnecting;
  /** When to try to connect; the pause before the attempt after that. */
  private long nextAttempt;
  private long pause;

  Link(
      Library library, SocketAddress address, Address server, Introduction own, String token,
      TlsFiles files) {
    this.library = library;
    this.address = address;
    this.server = server;
    this.shown = server.text();
    this.introduction = own;
    this.token = token;
    this.ownToken = new OwnToken(server);
    this.files = files;
    nextAttempt = Clock.now();
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

  /** The exchange that CLOSE_SEGMENT will end before the path can be opened again; null: none. */
  Exchange leaving(String path) {
    return leaving.get(path);
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
   * Waits for a live connection. `failsAtOnce`: not longer than one attempt takes. A refusal that
   * time does not change is told after one attempt in any case; the next call makes another.
   */
  Connection connected(long deadline, boolean failsAtOnce, boolean isInterruptible) {
    long before = attempts;
    if (!isLive) {
      if (failure != null && !mayPass(failure)) nextAttempt = Math.min(nextAttempt, Clock.now());
      library.wakeup();
    }
    while (!isLive) {
      if (isClosed) throw InterweaveException.of(Error.NOT_OPEN, "the client was closed");
      boolean isTold = failure != null && (failsAtOnce || !mayPass(failure));
      if (isTold && attempts > before) throw failure;
      if (!await(changed, deadline, isInterruptible)) {
        throw failure != null ? failure : lost("no new connection before the deadline");
      }
    }
    return connection;
  }

  private static boolean mayPass(InterweaveException wrong) {
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
      tell(GOODBYE, NO_BYTES);
      isClosed = true;
      changed.signalAll();
      library.wakeup();
      long deadline = Clock.now() + FLUSHING;
      while (channel != null && channel.hasUnsent() && await(changed, deadline, false)) continue;
      library.wakeup();
    } finally {
      lock.unlock();
    }
  }

  private InterweaveException told(InterweaveException why) {
    if (why == null) return lost("the client was closed");
    return why.code() == Error.UNREACHABLE ? why : lost(why.getMessage());
  }

  private InterweaveException lost(String why) {
    return InterweaveException.of(
        Error.UNREACHABLE, "the connection to " + shown + " is lost: " + why);
  }

  /** What was never reached is told apart, because most often no server runs there. */
  private InterweaveException failed(IOException why) {
    if (channel != null && channel.isConnected()) return lost(why.getMessage());
    boolean isNobodyThere =
        server.socketFile() == null
            ? why instanceof ConnectException
            : !new File(server.socketFile()).exists();
    String advice = isNobodyThere ? "; is one running there? (interweave serve)" : "";
    return InterweaveException.of(
        Error.UNREACHABLE, "cannot reach a server at " + shown + ": " + why.getMessage() + advice);
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
        if (!isClosed && now >= nextAttempt) connect(now);
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
    else if (now - beganAt > CONNECTING) lose("no " + awaited() + " in time");
  }

  private String awaited() {
    if (channel.isReady()) return "welcome";
    return server.secure() ? "answer of TLS" : "connection";
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
    beganAt = now;
    connection = new Connection(now);
    try {
      channel = Channel.connect(address, library.selector(), this, encryption());
      if (channel.isConnected()) greet();
    } catch (IOException wrong) {
      lose(failed(wrong));
    } catch (UnsupportedOperationException wrong) {
      lose(wrong.getMessage());
    }
  }

  private Encryption encryption() {
    if (!server.secure()) return null;
    return Encryption.begin(server, files(), library);
  }

  /** As they are now. */
  private TlsFiles files() {
    TlsFiles others = TlsFiles.ofEnvironment();
    return files == null ? others : files.or(others);
  }

  private void greet() throws IOException {
    isToLoopback = token.isEmpty() && channel.isToLoopback();
    shownOwn = isToLoopback ? ownToken.find(true) : null;
    String shownToken = shownOwn == null ? token : shownOwn.text();
    byte[] hello = Connection.hello(session, shownToken, introduction);
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
      given = connection.welcomed(answer).session();
    } catch (InterweaveException wrong) {
      if (wrong.code() != Error.DENIED) throw wrong;
      if (shownOwn == null) throw ownToken.explained(wrong, isToLoopback);
      showAnother();
      return;
    }
    if (!Arrays.equals(given, session)) {
      sequence = 0;
      for (Exchange exchange : exchanges) exchange.conversation.sessionEnded();
    }
    session = given;
    isLive = true;
    failure = null;
    ++attempts;
    if (reconnecting != null) reconnecting.ended(shown, attempts);
    reconnecting = null;
    for (Exchange exchange : List.copyOf(exchanges)) exchange.connectionMade();
    changed.signalAll();
  }

  /** The server does not take the token of a file: it is not shown again [OWN-6]. */
  private void showAnother() {
    ownToken.refused(shownOwn);
    channel.close();
    channel = null;
    connection = null;
    nextAttempt = Clock.now();
    library.wakeup();
  }

  @Override
  public void notified(Message message) {
    // Messages about a segment begin with its number on this connection.
    if (message.body().length < 4) return;
    Exchange exchange = byNumber.get(new XdrReader(message.body()).u32());
    if (exchange != null) exchange.notified(message);
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
    // The pause stays long for a server that takes every connection and drops it.
    if (isLive && now - beganAt > LONGEST_PAUSE) pause = 0;
    nextAttempt = now + pause;
    pause = Math.min(Math.max(2 * pause, FIRST_PAUSE), LONGEST_PAUSE);
    if (channel != null) channel.close();
    List<Object> unanswered = new ArrayList<>(connection.unanswered());
    boolean wasLive = isLive;
    channel = null;
    connection = null;
    isLive = false;
    failure = why;
    ++attempts;
    if (wasLive && Flight.isOn()) reconnecting = ReconnectionEvent.begun(attempts);
    byNumber.clear();
    leaving.clear();
    InterweaveException told = null;
    for (Object each : unanswered) {
      Call call = (Call) each;
      if (call.done == null) continue;
      if (told == null) told = told(why);
      call.failed(told);
    }
    if (wasLive) for (Exchange exchange : List.copyOf(exchanges)) exchange.connectionLost();
    changed.signalAll();
  }
}
