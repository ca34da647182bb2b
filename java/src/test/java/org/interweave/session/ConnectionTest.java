package org.interweave.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.SessionCodec;
import org.interweave.wire.protocol.SessionCodec.MessageType;
import org.interweave.wire.protocol.SessionCodec.Welcome;
import org.junit.jupiter.api.Test;

/** What a connection makes of messages that come in several frames. */
class ConnectionTest implements Connection.Hearing<String> {
  private static final long SECOND = 1_000_000_000;
  private static final long NOTIFICATION = 0x80000001L;
  /** Lengths and envelope of a frame. */
  private static final int HEAD_BYTES = 24;

  private final Connection connection = new Connection(0);
  private final List<String> heard = new ArrayList<>();

  @Override
  public void answered(String request, Message answer, long sentAt) {
    if (answer.is(MessageType.WELCOME)) connection.welcomed(answer);
    heard.add(request + " " + answer.part());
  }

  @Override
  public void notified(Message notification) {
    heard.add(notification.typeName() + " " + notification.part());
  }

  @Override
  public void begins(String request, Message first) {
    heard.add((request == null ? first.typeName() : request) + " " + first.part());
  }

  private static byte[] bytes(Message message) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    message
        .frames()
        .forEach(p -> out.write(p.array(), p.arrayOffset() + p.position(), p.remaining()));
    return out.toByteArray();
  }

  private void receive(byte[] bytes, int begin, int end, long now) {
    connection.receive(bytes, begin, end, now, this);
  }

  private void greet() {
    long stream = connection.begin("hello", 0);
    Welcome welcome =
        new Welcome(2, new byte[16], false, 1000, 9000, 1 << 20, "", List.of());
    byte[] bytes = bytes(Message.of(MessageType.WELCOME, stream, Welcome.CODEC, welcome));
    receive(bytes, 0, bytes.length, 0);
    heard.clear();
  }

  /** [FRESH-3] The server may have begun other messages before it sends the frames that follow. */
  @Test
  void aMessageIsHeardWhenItsFirstFrameHasCome() {
    greet();
    long stream = connection.begin("question", 5);
    byte[] bulk = new byte[SessionCodec.MAX_CHUNK_BYTES + 1];
    byte[] bytes = bytes(Message.of(MessageType.READER_ACQUIRED, stream, new byte[0], bulk));
    int first = bytes.length - HEAD_BYTES - 1;
    receive(bytes, 0, first - 1, SECOND);
    assertEquals(0, connection.heard());
    assertEquals(List.of(), heard);
    receive(bytes, first - 1, first, 2 * SECOND);
    assertEquals(2 * SECOND, connection.heard());
    assertEquals(List.of("question FIRST"), heard);
    assertTrue(connection.isSilent(8 * SECOND));
    receive(bytes, first, bytes.length, 7 * SECOND);
    assertEquals(2 * SECOND, connection.heard());
    assertFalse(connection.isSilent(8 * SECOND), "bytes have come");
    assertEquals(List.of("question FIRST", "question REST"), heard);
  }

  /** [NOT-6] Messages between its frames may have been caused by it. */
  @Test
  void aPushIsToldOfBeforeWhatComesBetweenItsFrames() {
    greet();
    byte[] bulk = new byte[SessionCodec.MAX_CHUNK_BYTES + 1];
    byte[] push = bytes(Message.of(MessageType.PUSH, NOTIFICATION, new byte[4], bulk));
    byte[] heartbeat = bytes(Message.of(MessageType.HEARTBEAT, NOTIFICATION + 1));
    int first = push.length - HEAD_BYTES - 1;
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    all.write(push, 0, first);
    all.writeBytes(heartbeat);
    all.write(push, first, push.length - first);
    receive(all.toByteArray(), 0, all.size(), SECOND);
    assertEquals(List.of("PUSH FIRST", "HEARTBEAT WHOLE", "PUSH REST"), heard);
  }
}
