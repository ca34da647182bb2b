package org.interweave.vectors;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.interweave.InterweaveException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Each decoder with inputs that are made of the vectors and of what fuzzing of the other clients
 * found: a million in all, or as many as `interweave.fuzz` says. A decoder throws the library's
 * exception alone, and takes memory for the bytes that came, whatever they announce.
 */
class FuzzTest {
  private static final long SEED = 20261125;
  private static final long INPUTS = Long.getLong("interweave.fuzz", 1_000_000);
  /** For an exception with its stack, and what is made before the first byte is looked at. */
  private static final long ALLOWED = 16 << 10;
  /** Of objects that stand for a byte of the input. */
  private static final long ALLOWED_EACH = 200;

  private final com.sun.management.ThreadMXBean threads =
      (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();

  @ParameterizedTest
  @EnumSource(FuzzTarget.class)
  void inputsAreDecodedOrRefused(FuzzTarget target) throws IOException {
    List<byte[]> seeds = seeds(target);
    // Classes are loaded before memory is counted.
    for (byte[] seed : seeds) {
      FuzzTarget.prepare();
      decode(target, seed);
    }
    Mutation mutation = new Mutation(SEED, seeds);
    long inputs = INPUTS * target.share / FuzzTarget.SHARES;
    long refused = 0;
    for (long i = 0; i < inputs; ++i) {
      byte[] input = mutation.next();
      if (isRefused(target, input)) ++refused;
    }
    assertTrue(refused > inputs / 20 && refused < inputs, refused + " of " + inputs + " refused");
  }

  private boolean isRefused(FuzzTarget target, byte[] input) {
    FuzzTarget.prepare();
    long before = threads.getCurrentThreadAllocatedBytes();
    boolean isRefused = !decode(target, input);
    long taken = threads.getCurrentThreadAllocatedBytes() - before - target.own;
    long allowed = ALLOWED + ALLOWED_EACH * input.length;
    if (taken <= allowed) return isRefused;
    throw new AssertionError(
        target + " took " + taken + " bytes for " + HexFormat.of().formatHex(input));
  }

  private static boolean decode(FuzzTarget target, byte[] input) {
    try {
      target.decoder.decode(input);
      return true;
    } catch (InterweaveException expected) {
      return false;
    } catch (RuntimeException | StackOverflowError | OutOfMemoryError wrong) {
      throw new AssertionError(target + ": " + HexFormat.of().formatHex(input), wrong);
    }
  }

  private static List<byte[]> seeds(FuzzTarget target) throws IOException {
    List<byte[]> seeds = new ArrayList<>();
    for (Vector vector : Vector.of("good")) {
      if (target.kinds.contains(vector.text("kind"))) seeds.add(target.seed(vector));
    }
    Path corpora = Path.of(System.getProperty("interweave.root"), "fuzz", "corpora");
    try (Stream<Path> files = Files.list(corpora.resolve(target.corpus))) {
      for (Path file : files.sorted().toList()) seeds.add(Files.readAllBytes(file));
    }
    return seeds;
  }
}
