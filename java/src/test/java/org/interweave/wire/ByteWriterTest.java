package org.interweave.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class ByteWriterTest {
  private static final int LONG = 5000;

  private static byte[] row(int of) {
    byte[] row = new byte[LONG];
    Arrays.fill(row, (byte) of);
    return row;
  }

  /** Lent bytes keep their place when another writer takes them over. */
  @Test
  void lentBytesLieInTheirPlace() {
    ByteArrayOutputStream wanted = new ByteArrayOutputStream();
    ByteWriter part = new ByteWriter();
    for (int i = 1; i <= 3; ++i) {
      part.put(i);
      part.lend(row(10 * i), 7, LONG - 7);
      part.lend(new byte[] {90, 91, 92}, 1, 2);
      wanted.write(i);
      wanted.write(row(10 * i), 7, LONG - 7);
      wanted.write(new byte[] {91, 92}, 0, 2);
    }
    assertEquals(wanted.size(), part.length());
    assertArrayEquals(wanted.toByteArray(), part.finish());
    ByteWriter whole = new ByteWriter();
    whole.put(part);
    whole.lend(part);
    wanted.write(wanted.toByteArray(), 0, wanted.size());
    assertArrayEquals(wanted.toByteArray(), whole.finish());
    whole.clear();
    whole.put(5);
    assertArrayEquals(new byte[] {5}, whole.finish());
  }
}
