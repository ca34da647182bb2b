package org.interweave.client;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SNIServerName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import org.interweave.wire.Address;

/**
 * TLS 1.3 on a socket that never blocks [NET-5]. The library's thread drives it, with the link's
 * lock. Files are read, and certificates checked, on other threads, because both may take long;
 * while one of these works (`isWorking`) the engine is its alone.
 *
 * <p>No class of TLS is loaded before the first secure connection, because programs without one
 * would start later. So other classes name neither the engine nor its exceptions.
 */
final class Encryption {
  /** Four records. */
  private static final int BURST = 80 << 10;
  /** How many pieces become one record. */
  private static final int MOST_PIECES = 16;
  private static final int MOST_WORKERS = 2;
  private static final long IDLE_SECONDS = 10;
  private static final ByteBuffer[] NOTHING = {ByteBuffer.allocate(0)};
  private static final Deque<ByteBuffer> NONE_UNSENT = new ArrayDeque<>();

  private static final ThreadPoolExecutor WORKERS = workers();

  private final Address server;
  /** The name that the server's certificate must have. */
  private final String host;
  private final TlsFiles files;
  private final Library library;
  private final ByteBuffer received = ByteBuffer.allocate(BURST);
  /** Encrypted, and not sent yet. */
  private final ByteBuffer sealed = ByteBuffer.allocate(BURST).flip();
  private SSLEngine engine;
  private volatile boolean isWorking;
  /** Of the work; thrown when the engine is needed next. */
  private volatile RuntimeException unusable;
  /** Bytes may have come that wait for something else than the socket. */
  private volatile boolean isStalled;
  /** Came after bytes that were given away first. */
  private IOException late;
  private boolean isReady;
  private boolean isClosed;

  private Encryption(Address server, String host, TlsFiles files, Library library) {
    this.server = server;
    this.host = host;
    this.files = files;
    this.library = library;
  }

  private static ThreadPoolExecutor workers() {
    ThreadPoolExecutor made =
        new ThreadPoolExecutor(
            MOST_WORKERS, MOST_WORKERS, IDLE_SECONDS, TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(), new Worker());
    made.allowCoreThreadTimeOut(true);
    return made;
  }

  private static final class Worker implements ThreadFactory {
    @Override
    public Thread newThread(Runnable body) {
      Thread thread = new Thread(body, "interweave-tls");
      thread.setDaemon(true);
      return thread;
    }
  }

  /** Begins to read the files. `host`: the name that the server's certificate must have. */
  static Encryption begin(Address server, String host, TlsFiles files, Library library) {
    Encryption made = new Encryption(server, host, files, library);
    made.work();
    return made;
  }

  // ---- on another thread ----

  private void work() {
    isWorking = true;
    WORKERS.execute(new Work());
  }

  /** What would hold up the library's thread. */
  private final class Work implements Runnable {
    @Override
    public void run() {
      try {
        if (engine == null) engine = prepared();
        else for (Runnable each = task(); each != null; each = task()) each.run();
      } catch (RuntimeException wrong) {
        unusable = wrong;
      } catch (SSLException | Error wrong) {
        unusable = new IllegalStateException("TLS does not begin: " + wrong.getMessage(), wrong);
      } finally {
        isStalled = true;
        isWorking = false;
        library.wakeup();
      }
    }

    private Runnable task() {
      return engine.getDelegatedTask();
    }
  }

  private SSLEngine prepared() throws SSLException {
    SSLContext context = Credentials.context(server.text(), files);
    SSLEngine made = context.createSSLEngine(host, server.port());
    made.setUseClientMode(true);
    SSLParameters wished = made.getSSLParameters();
    wished.setProtocols(new String[] {"TLSv1.3"});
    wished.setApplicationProtocols(new String[] {"iw/2"});
    wished.setEndpointIdentificationAlgorithm("HTTPS");
    wished.setServerNames(names());
    made.setSSLParameters(wished);
    made.beginHandshake();
    return made;
  }

  /** Addresses are not named to the server. */
  private List<SNIServerName> names() {
    boolean isAddress = host.contains(":") || host.matches("[0-9.]+");
    if (isAddress) return List.of();
    try {
      return List.of(new SNIHostName(host));
    } catch (IllegalArgumentException wrong) {
      return List.of();  // as one with '_', which no certificate names
    }
  }

  // ---- the library's thread ----

  /** The socket is not to be waited for. */
  boolean isWorking() {
    return isWorking;
  }

  /** `read` is to be called, whatever the socket says. */
  boolean isStalled() {
    return isStalled && !isWorking;
  }

  /** Whether encrypted bytes wait for the socket. */
  boolean hasSealed() {
    return sealed.hasRemaining();
  }

  /** Whether the handshake is complete. */
  boolean isReady() {
    return isReady;
  }

  /**
   * Reads what has come. Returns the number of bytes in clear, which may be 0; -1: the server has
   * closed the connection, and said so.
   */
  int read(SocketChannel socket, byte[] into) throws IOException {
    if (isWorking) return 0;
    isStalled = false;
    check();
    ByteBuffer clear = ByteBuffer.wrap(into);
    try {
      if (late != null) throw late;
      boolean isEnd = socket.read(received) < 0;
      unseal(socket, clear);
      if (clear.position() > 0 || isWorking) return clear.position();
      if (isClosed) return -1;
      if (isEnd) throw new EOFException("the connection was cut");
      return 0;
    } catch (IOException wrong) {
      if (clear.position() == 0) throw told(wrong);
      late = wrong;
      isStalled = true;
      return clear.position();
    }
  }

  /** Encrypts and sends as much as the socket takes now. */
  void flush(SocketChannel socket, Deque<ByteBuffer> unsent) throws IOException {
    if (isWorking) return;
    check();
    try {
      sealAndSend(socket, unsent);
    } catch (IOException wrong) {
      throw told(lastWord(socket, wrong));
    }
  }

  /** A server that does not take this client says so, and may hang up before it is heard. */
  private IOException lastWord(SocketChannel socket, IOException wrong) {
    if (isWorking || wrong instanceof SSLException) return wrong;
    try {
      socket.read(received);
      unseal(socket, ByteBuffer.wrap(library.inputBytes()));
    } catch (SSLException said) {
      return said;
    } catch (IOException gone) {
      return wrong;
    }
    return wrong;
  }

  /** Says close_notify, or why TLS fails, if the socket takes it at once. */
  void end(SocketChannel socket) {
    if (isWorking || engine == null) return;
    try {
      engine.closeOutbound();
      if (send(socket)) sealAndSend(socket, NONE_UNSENT);
    } catch (IOException | RuntimeException gone) {
      // The connection is given up all the same.
    }
  }

  private IOException told(IOException wrong) {
    return TlsFailure.told(server.text(), host, isReady, wrong);
  }

  private void check() {
    if (unusable != null) throw unusable;
  }

  private void unseal(SocketChannel socket, ByteBuffer clear) throws IOException {
    received.flip();
    try {
      while (received.hasRemaining() && !isWorking && !isClosed) {
        if (wantsToSay()) sealAndSend(socket, NONE_UNSENT);
        if (isWorking) break;
        if (wantsToSay()) {
          isStalled = true;
          break;
        }
        SSLEngineResult result = engine.unwrap(received, clear);
        isClosed = result.getStatus() == Status.CLOSED;
        took(result);
        if (result.getStatus() == Status.BUFFER_UNDERFLOW) break;
      }
    } finally {
      received.compact();
    }
  }

  private boolean wantsToSay() {
    return engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP;
  }

  private void sealAndSend(SocketChannel socket, Deque<ByteBuffer> unsent) throws IOException {
    while (send(socket) && seal(unsent)) continue;
  }

  /** False: the socket takes no more now. */
  private boolean send(SocketChannel socket) throws IOException {
    if (sealed.hasRemaining()) socket.write(sealed);
    return !sealed.hasRemaining();
  }

  /** Fills `sealed`, which is empty; false: there is nothing to send. */
  private boolean seal(Deque<ByteBuffer> unsent) throws IOException {
    sealed.clear();
    try {
      while (!isWorking && sealRecord(unsent)) continue;
    } finally {
      sealed.flip();
    }
    return sealed.hasRemaining();
  }

  private boolean sealRecord(Deque<ByteBuffer> unsent) throws IOException {
    if (sealed.remaining() < engine.getSession().getPacketBufferSize()) return false;
    boolean isOwn = wantsToSay();
    if (!isOwn && (!isReady || unsent.isEmpty())) return false;
    SSLEngineResult result = engine.wrap(isOwn ? NOTHING : first(unsent), sealed);
    while (!unsent.isEmpty() && !unsent.peek().hasRemaining()) unsent.poll();
    took(result);
    if (!isOwn && result.getStatus() == Status.CLOSED) throw new EOFException("TLS has ended");
    return result.bytesProduced() > 0;
  }

  private static ByteBuffer[] first(Deque<ByteBuffer> unsent) {
    ByteBuffer[] pieces = new ByteBuffer[Math.min(unsent.size(), MOST_PIECES)];
    int count = 0;
    for (ByteBuffer piece : unsent) {
      pieces[count++] = piece;
      if (count == pieces.length) break;
    }
    return pieces;
  }

  private void took(SSLEngineResult result) {
    HandshakeStatus next = result.getHandshakeStatus();
    if (next == HandshakeStatus.FINISHED) isReady = true;
    else if (next == HandshakeStatus.NEED_TASK) work();
  }
}
