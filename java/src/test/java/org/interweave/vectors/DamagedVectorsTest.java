package org.interweave.vectors;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.interweave.InterweaveException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever the bytes are, decoders throw no exception but the library's own. */
class DamagedVectorsTest {
  private static final long SEED = 20261124;
  private static final int ROUNDS = 300;
  private static final long MAX_BYTES = 1 << 20;

  @ParameterizedTest
  @ValueSource(strings = {"diff", "descriptor", "value", "control", "fields", "frame"})
  void damagedBytesAreRefusedWithTheLibrarysException(String kind) {
    List<Vector> vectors =
        Vector.of("good").stream().filter(vector -> vector.text("kind").equals(kind)).toList();
    Random random = new Random(SEED);
    int refused = 0;
    for (Vector vector : vectors) {
      for (int round = 0; round < ROUNDS; ++round) {
        byte[] damaged = damage(vector.bytes(), random);
        try {
          decode(vector, kind, damaged);
        } catch (InterweaveException expected) {
          ++refused;
        } catch (RuntimeException wrong) {
          String hex = HexFormat.of().formatHex(damaged);
          throw new AssertionError(vector.text("name") + ", seed " + SEED + ": " + hex, wrong);
        }
      }
    }
    assertTrue(refused > vectors.size(), refused + " were refused");
  }

  private static void decode(Vector vector, String kind, byte[] bytes) {
    if (kind.equals("diff")) {
      vector.copy(MAX_BYTES).apply(bytes);
      return;
    }
    Map<String, Object> members = new HashMap<>(vector.members());
    members.put("bytes", HexFormat.of().formatHex(bytes));
    Decoders.decode(new Vector(members));
  }

  /** Bytes replaced, and sometimes the end cut off. */
  private static byte[] damage(byte[] bytes, Random random) {
    int length = random.nextInt(4) == 0 ? random.nextInt(bytes.length + 1) : bytes.length;
    byte[] damaged = new byte[length];
    System.arraycopy(bytes, 0, damaged, 0, length);
    for (int i = random.nextInt(4); i > 0 && length > 0; --i) {
      damaged[random.nextInt(length)] = (byte) (random.nextBoolean() ? -1 : random.nextInt(256));
    }
    return damaged;
  }
}
