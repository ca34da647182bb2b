package org.interweave.client;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;

/** Stands between clients and a server on all addresses of this host, and can spoil what passes. */
final class Between implements AutoCloseable {
  private final ServerSocket listening;
  private final InetSocketAddress server;
  private final List<Socket> open = new ArrayList<>();
  private volatile boolean isSpoiling;

  Between(Server behind) throws IOException {
    URI url = URI.create(behind.url("/"));
    server = new InetSocketAddress(url.getHost(), url.getPort());
    listening = new ServerSocket(0, 8, InetAddress.getByName("0.0.0.0"));
    start(this::acceptAll);
  }

  /** A path at the server, by way of this. */
  String url(String host, String path) {
    return "iws://" + host + ":" + listening.getLocalPort() + path;
  }

  private static void start(Runnable body) {
    Thread thread = new Thread(body, "between");
    thread.setDaemon(true);
    thread.start();
  }

  private void acceptAll() {
    try {
      while (true) {
        Socket client = listening.accept();
        Socket behind = new Socket(server.getAddress(), server.getPort());
        synchronized (this) {
          open.add(client);
          open.add(behind);
        }
        start(() -> carry(client, behind, false));
        start(() -> carry(behind, client, true));
      }
    } catch (IOException closed) {
      // It is the test's end.
    }
  }

  private void carry(Socket from, Socket to, boolean isOfServer) {
    byte[] bytes = new byte[4096];
    try (from; to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      for (int count = in.read(bytes); count >= 0; count = in.read(bytes)) {
        if (isOfServer && isSpoiling && count > 0) {
          bytes[count - 1] ^= 1;
          isSpoiling = false;
        }
        out.write(bytes, 0, count);
      }
    } catch (IOException ended) {
      // Both ends are closed.
    }
  }

  /** Changes a bit of what the server says next. */
  void spoil() {
    isSpoiling = true;
  }

  /** Ends all connections without a word of TLS. */
  synchronized void cut() throws IOException {
    for (Socket each : open) each.close();
    open.clear();
  }

  @Override
  public void close() throws IOException {
    listening.close();
    cut();
  }
}
