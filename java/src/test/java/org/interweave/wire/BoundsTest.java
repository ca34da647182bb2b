package org.interweave.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.wire.protocol.SessionCodec.Envelope;
import org.interweave.wire.protocol.XdrCodec;
import org.interweave.wire.protocol.XdrException;
import org.interweave.wire.protocol.XdrReader;
import org.interweave.wire.protocol.XdrWriter;
import org.junit.jupiter.api.Test;

/** Memory is bounded by the bytes that came, not by those announced. */
class BoundsTest {
  private static final int ANNOUNCED = 1 << 30;
  private static final long ALLOWED = 1 << 20;

  private static long allocated() {
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    return threads.getCurrentThreadAllocatedBytes();
  }

  private static byte[] frame(int control, int chunk, long bulkBytes) {
    XdrWriter w = new XdrWriter();
    w.u32(control);
    w.u32(chunk);
    Envelope.CODEC.encode(w, new Envelope(32, 1, bulkBytes));
    return w.finish();
  }

  @Test
  void aMessageThatAnnouncesAGigabyteTakesNoMemoryForIt() {
    byte[] frame = frame(16, 1000, ANNOUNCED);
    List<Message> whole = new ArrayList<>();
    FrameDecoder decoder = new FrameDecoder(1L << 40);
    long before = allocated();
    decoder.push(frame, 0, frame.length, whole);
    assertTrue(allocated() - before < ALLOWED);
    assertEquals(List.of(), whole);
  }

  @Test
  void aCountThatTheBytesCannotHoldTakesNoMemory() {
    XdrWriter w = new XdrWriter();
    w.u32(ANNOUNCED);
    byte[] bytes = w.finish();
    XdrCodec<List<Long>> numbers = XdrCodec.list(0xffffffffL, 4, XdrCodec.U32);
    long before = allocated();
    assertThrows(XdrException.class, () -> new XdrReader(bytes).list(1L << 31, 4, XdrCodec.U32));
    assertThrows(XdrException.class, () -> numbers.fromBytes(bytes));
    assertThrows(XdrException.class, () -> new XdrReader(bytes).opaque(0xffffffffL));
    assertTrue(allocated() - before < ALLOWED);
  }

  @Test
  void aMessageBeyondTheBoundIsRefusedByItsFirstFrame() {
    byte[] frame = frame(16, 0, 1001);
    FrameDecoder decoder = new FrameDecoder(1000);
    InterweaveException refused =
        assertThrows(
            InterweaveException.class,
            () -> decoder.push(frame, 0, frame.length, new ArrayList<>()));
    assertEquals(Error.TOO_LARGE, refused.code());
  }

  @Test
  void recursionEndsAtADepth() {
    XdrReader r = new XdrReader(new byte[0]);
    for (int depth = 0; depth < XdrReader.MAX_DEPTH; ++depth) r.enter();
    assertThrows(XdrException.class, r::enter);
  }

  @Test
  void aVarintOfSixtyFourBitsComesBackAndALongerOneIsRefused() {
    for (long value : new long[] {0, 127, 128, Long.MAX_VALUE, Long.MIN_VALUE, -1}) {
      ByteWriter out = new ByteWriter();
      out.varint(value);
      assertEquals(value, new Cursor(out.finish()).varint64());
    }
    byte[] tooLong = {-1, -1, -1, -1, -1, -1, -1, -1, -1, 2};
    InterweaveException refused =
        assertThrows(InterweaveException.class, () -> new Cursor(tooLong).varint64());
    assertEquals(Error.MALFORMED, refused.code());
  }
}
