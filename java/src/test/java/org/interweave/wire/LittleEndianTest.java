package org.interweave.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class LittleEndianTest {
  private static final int ROOM = 24;

  private static void check() {
    byte[] bytes = new byte[ROOM];
    for (int at = 0; at < 8; ++at) {
      LittleEndian.putLong(bytes, at, 0x8877665544332211L);
      assertEquals(0x8877665544332211L, LittleEndian.getLong(bytes, at));
      assertEquals(0x44332211, LittleEndian.getInt(bytes, at));
      assertEquals((short) 0x8877, LittleEndian.getShort(bytes, at + 6));
      assertEquals(0x11, bytes[at]);
      LittleEndian.putInt(bytes, at, -2);
      LittleEndian.putShort(bytes, at + 4, (short) -3);
      assertEquals(0x8877fffdfffffffeL, LittleEndian.getLong(bytes, at));
    }
    byte[] from = new byte[ROOM];
    for (int i = 0; i < ROOM; ++i) from[i] = (byte) (i - 5);
    for (int count = 0; count < 12; ++count) {
      byte[] wanted = new byte[ROOM];
      byte[] copied = new byte[ROOM];
      System.arraycopy(from, 3, wanted, 7, count);
      LittleEndian.copy(from, 3, copied, 7, count);
      assertArrayEquals(wanted, copied, count + " bytes");
    }
  }

  @Test
  void numbersAreTheSameBeforeAndAfterMuchWasCarried() {
    check();
    LittleEndian.carried(1L << 40);
    check();
  }
}
