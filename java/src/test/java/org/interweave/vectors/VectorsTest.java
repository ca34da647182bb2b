package org.interweave.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.Stream;
import org.interweave.InterweaveException;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** All of spec/vectors: understood and written back, or refused with the error given. */
class VectorsTest {
  private static String title(Vector vector) {
    return vector.text("name") + " " + vector.text("rule");
  }

  @TestFactory
  Stream<DynamicTest> good() {
    List<Vector> vectors = Vector.of("good");
    assertTrue(vectors.size() > 100);
    return vectors.stream()
        .map(vector -> DynamicTest.dynamicTest("good " + title(vector), () -> understand(vector)));
  }

  private static void understand(Vector vector) {
    Decoders.Decoded decoded = Decoders.decode(vector);
    assertEquals(vector.meaning(), decoded.meaning());
    if (decoded.bytes() == null) return;
    assertEquals(Shown.hex(vector.bytes()), Shown.hex(decoded.bytes()));
  }

  @TestFactory
  Stream<DynamicTest> malformed() {
    List<Vector> vectors = Vector.of("malformed");
    assertTrue(vectors.size() > 100);
    return vectors.stream()
        .filter(vector -> !isServers(vector))
        .map(vector -> DynamicTest.dynamicTest("malformed " + title(vector), () -> refuse(vector)));
  }

  private static void refuse(Vector vector) {
    InterweaveException refused =
        assertThrows(InterweaveException.class, () -> Decoders.decode(vector));
    assertEquals(vector.text("error"), refused.code().name());
  }

  /** What only a server refuses: the diffs that writers send, and damage of its log. */
  private static boolean isServers(Vector vector) {
    return "release".equals(vector.text("role")) || vector.text("kind").equals("log-record");
  }
}
