package org.interweave.client;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import org.interweave.wire.Address;

/** Drives an Encryption as the library's thread does, for text instead of frames. */
final class SecureSocket implements AutoCloseable {
  private final SocketChannel socket;
  private final Encryption encryption;
  private final Deque<ByteBuffer> unsent = new ArrayDeque<>();
  private final StringBuilder heard = new StringBuilder();

  SecureSocket(int port, TlsFiles files) throws IOException {
    socket = SocketChannel.open(new InetSocketAddress("127.0.0.1", port));
    socket.configureBlocking(false);
    encryption =
        Encryption.begin(
            Address.parse("127.0.0.1:" + port, true), "127.0.0.1", files, Library.get());
  }

  private void drive() throws IOException {
    byte[] bytes = new byte[256 << 10];
    int count = encryption.read(socket, bytes);
    if (count < 0) throw new IOException("it has ended");
    heard.append(new String(bytes, 0, count, StandardCharsets.UTF_8));
    encryption.flush(socket, unsent);
    Thread.onSpinWait();
  }

  void handshake() throws IOException {
    while (!encryption.isReady()) drive();
  }

  void awaitText(String text) throws IOException {
    while (heard.indexOf(text) < 0) drive();
  }

  void say(String text) throws IOException {
    unsent.add(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
    while (!unsent.isEmpty() || encryption.hasSealed()) drive();
  }

  @Override
  public void close() throws IOException {
    encryption.end(socket);
    socket.close();
  }
}
