package org.interweave.client;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.interweave.wire.FrameDecoder;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.SegmentCodec.Durability;
import org.interweave.wire.protocol.SegmentCodec.OpenSegment;
import org.interweave.wire.protocol.SegmentCodec.SegmentOpened;
import org.interweave.wire.protocol.SegmentCodec.VersionStamp;
import org.interweave.wire.protocol.SessionCodec;
import org.interweave.wire.protocol.SessionCodec.Hello;
import org.interweave.wire.protocol.SessionCodec.MessageType;
import org.interweave.wire.protocol.SessionCodec.Welcome;

/**
 * A server for one client, which opens every segment at once but those whose path begins with
 * `/slow`: these openings are answered when the test says so.
 */
final class SlowServer implements AutoCloseable {
  private static final long FOR_EVER_MS = 3_600_000;

  private final ServerSocket listening;
  private final FrameDecoder frames = new FrameDecoder(0);
  private final BlockingQueue<MessageType> heard = new LinkedBlockingQueue<>();
  private final BlockingQueue<Hello> hellos = new LinkedBlockingQueue<>();
  private final List<Message> unanswered = new ArrayList<>();
  private Socket peer;
  private long opened;
  private boolean isSlow = true;

  SlowServer() throws IOException {
    listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    Thread serving = new Thread(this::serve, "slow server");
    serving.setDaemon(true);
    serving.start();
  }

  String url(String path) {
    return "iw://127.0.0.1:" + listening.getLocalPort() + path;
  }

  /** The next opening or closing that came; waits for one. */
  MessageType heard() throws InterruptedException {
    return heard.take();
  }

  /** How the client has introduced itself; waits for it. */
  Hello hello() throws InterruptedException {
    return hellos.take();
  }

  /** Opens what waits, and is slow no more. */
  synchronized void hurry() throws IOException {
    isSlow = false;
    for (Message each : unanswered) answerOpening(each);
    unanswered.clear();
  }

  private void serve() {
    byte[] bytes = new byte[4096];
    try {
      peer = listening.accept();
      while (true) {
        int count = peer.getInputStream().read(bytes);
        if (count < 0) return;
        List<Message> whole = new ArrayList<>();
        frames.push(bytes, 0, count, whole);
        for (Message each : whole) take(each);
      }
    } catch (IOException closed) {
      heard.clear();
    }
  }

  private synchronized void take(Message message) throws IOException {
    if (message.is(MessageType.HELLO)) {
      hellos.add(message.decode(Hello.CODEC));
      Welcome welcome =
          new Welcome(
              SessionCodec.PROTOCOL_VERSION_MAX, new byte[16], false, FOR_EVER_MS, FOR_EVER_MS,
              1 << 20, "slow", List.of());
      answer(Message.of(MessageType.WELCOME, streamOf(message), Welcome.CODEC, welcome));
    } else if (message.is(MessageType.OPEN_SEGMENT)) {
      heard.add(MessageType.OPEN_SEGMENT);
      boolean waits = isSlow && message.decode(OpenSegment.CODEC).path().startsWith("/slow");
      if (waits) unanswered.add(message);
      else answerOpening(message);
    } else if (message.is(MessageType.CLOSE_SEGMENT)) {
      heard.add(MessageType.CLOSE_SEGMENT);
      answer(Message.of(MessageType.DONE, streamOf(message)));
    }
  }

  private static long streamOf(Message message) {
    return message.envelope().stream();
  }

  private void answerOpening(Message asked) throws IOException {
    SegmentOpened body =
        new SegmentOpened(
            ++opened, false, new VersionStamp(1, 0, 0), Durability.SYNCED, 0, 0, 0, List.of());
    answer(Message.of(MessageType.SEGMENT_OPENED, streamOf(asked), SegmentOpened.CODEC, body));
  }

  private void answer(Message message) throws IOException {
    OutputStream out = peer.getOutputStream();
    for (ByteBuffer each : message.frames()) out.write(each.array(), 0, each.limit());
    out.flush();
  }

  @Override
  public void close() throws IOException {
    listening.close();
    if (peer != null) peer.close();
  }
}
