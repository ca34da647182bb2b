package org.interweave.client;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import org.interweave.wire.Address;

/** A socket that never blocks, and the bytes that wait to be sent. The link's lock guards it. */
final class Channel {
  /** How many pieces one system call takes. */
  private static final int MOST_PIECES = 16;
  private static final byte[] LOOPBACK = {127, 0, 0, 1};

  private final SocketChannel socket;
  private final SelectionKey key;
  /** Null: the connection is not encrypted. */
  private final Encryption encryption;
  private final Deque<ByteBuffer> unsent = new ArrayDeque<>();

  private Channel(SocketChannel socket, SelectionKey key, Encryption encryption) {
    this.socket = socket;
    this.key = key;
    this.encryption = encryption;
  }

  /** Where a server is; looks the host's name up, which may take long. */
  static SocketAddress resolve(Address server) throws IOException {
    if (server.socketFile() != null) return UnixDomainSocketAddress.of(server.socketFile());
    InetSocketAddress found = new InetSocketAddress(server.host(), server.port());
    if (found.isUnresolved()) throw new IOException("no host has the name " + server.host());
    return found;
  }

  /** Begins to connect. `encryption` is null if there is to be none. */
  static Channel connect(
      SocketAddress address, Selector selector, Link link, Encryption encryption)
      throws IOException {
    boolean isUnix = address instanceof UnixDomainSocketAddress;
    SocketChannel socket =
        isUnix ? SocketChannel.open(StandardProtocolFamily.UNIX) : SocketChannel.open();
    try {
      socket.configureBlocking(false);
      if (!isUnix) socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
      boolean isMade = socket.connect(address);
      int interest = isMade ? SelectionKey.OP_READ : SelectionKey.OP_CONNECT;
      return new Channel(socket, socket.register(selector, interest, link), encryption);
    } catch (IOException | RuntimeException wrong) {
      socket.close();
      throw wrong;
    }
  }

  SelectionKey key() {
    return key;
  }

  boolean isConnected() {
    return socket.isConnected();
  }

  /** Whether the other end is 127.0.0.1. */
  boolean isToLoopback() throws IOException {
    return socket.getRemoteAddress() instanceof InetSocketAddress peer
        && Arrays.equals(peer.getAddress().getAddress(), LOOPBACK);
  }

  void finishConnecting() throws IOException {
    socket.finishConnect();
    key.interestOps(SelectionKey.OP_READ);
  }

  void queue(List<ByteBuffer> pieces) {
    // Not addAll, which is a lambda in an ArrayDeque: the first one costs milliseconds.
    for (ByteBuffer piece : pieces) unsent.add(piece);
  }

  /** Before an encrypted connection is made, nothing but a hello waits, which nobody misses. */
  boolean hasUnsent() {
    if (encryption == null) return !unsent.isEmpty();
    return encryption.isReady() && (!unsent.isEmpty() || encryption.hasSealed());
  }

  /** Whether `read` may find something though the socket has nothing. */
  boolean isStalled() {
    return encryption != null && encryption.isStalled() && socket.isConnected();
  }

  /** Whether the server has begun to answer in the way that was asked for. */
  boolean isReady() {
    return encryption == null ? socket.isConnected() : encryption.isReady();
  }

  /** The number of bytes read, which may be 0; -1: the server has closed the connection. */
  int read(byte[] bytes) throws IOException {
    if (encryption != null) return encryption.read(socket, bytes);
    return socket.read(ByteBuffer.wrap(bytes));
  }

  /** Sends as much as the socket takes now. */
  void flush() throws IOException {
    if (!socket.isConnected()) return;
    if (encryption == null) {
      flushPlain();
      awaitWriting(!unsent.isEmpty());
      return;
    }
    encryption.flush(socket, unsent);
    if (encryption.isWorking()) key.interestOps(0);
    else awaitWriting(encryption.hasSealed());
  }

  private void awaitWriting(boolean isAwaited) {
    key.interestOps(SelectionKey.OP_READ | (isAwaited ? SelectionKey.OP_WRITE : 0));
  }

  private void flushPlain() throws IOException {
    while (!unsent.isEmpty()) {
      if (unsent.size() == 1) {
        socket.write(unsent.peek());
        if (unsent.peek().hasRemaining()) break;
        unsent.poll();
        continue;
      }
      ByteBuffer[] pieces = new ByteBuffer[Math.min(unsent.size(), MOST_PIECES)];
      int count = 0;
      for (ByteBuffer piece : unsent) {
        pieces[count++] = piece;
        if (count == pieces.length) break;
      }
      socket.write(pieces);
      while (!unsent.isEmpty() && !unsent.peek().hasRemaining()) unsent.poll();
      if (pieces[count - 1].hasRemaining()) break;
    }
  }

  void close() {
    if (encryption != null) encryption.end(socket);
    key.cancel();
    try {
      socket.close();
    } catch (IOException ignored) {
      // It is closed all the same; the connection was given up before.
    }
  }
}
