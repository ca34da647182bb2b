package org.interweave.vectors;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** Inputs made of seeds: bytes and numbers replaced, parts cut, doubled, and put together anew. */
final class Mutation {
  private static final int LONGEST = 4096;
  private static final int[] NUMBERS = {
    0, 1, -1, 0x7f, 0x80, 0xff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 1 << 20, 1 << 30
  };

  private final SplittableRandom random;
  private final List<byte[]> seeds;

  Mutation(long seed, List<byte[]> seeds) {
    random = new SplittableRandom(seed);
    this.seeds = seeds;
  }

  private byte[] seed() {
    byte[] found = seeds.get(random.nextInt(seeds.size()));
    return found.length <= LONGEST ? found.clone() : Arrays.copyOf(found, LONGEST);
  }

  byte[] next() {
    byte[] input = seed();
    for (int left = random.nextInt(4); left >= 0; --left) {
      input = input.length == 0 ? seed() : changed(input);
    }
    return input.length <= LONGEST ? input : Arrays.copyOf(input, LONGEST);
  }

  private byte[] changed(byte[] input) {
    int at = random.nextInt(input.length);
    switch (random.nextInt(8)) {
      case 0, 1 -> input[at] = (byte) random.nextInt(256);
      case 2 -> input[at] ^= (byte) (1 << random.nextInt(8));
      case 3, 4 -> number(input, at);
      case 5 -> {
        return Arrays.copyOf(input, at);
      }
      case 6 -> {
        return joined(input, at, input, random.nextInt(input.length));
      }
      default -> {
        byte[] other = seed();
        if (other.length > 0) return joined(input, at, other, random.nextInt(other.length));
      }
    }
    return input;
  }

  /** Big-endian as XDR's, or little-endian. */
  private void number(byte[] input, int at) {
    int number = NUMBERS[random.nextInt(NUMBERS.length)];
    boolean isBig = random.nextBoolean();
    int begin = isBig ? at / 4 * 4 : at;
    for (int i = 0; i < 4 && begin + i < input.length; ++i) {
      input[begin + i] = (byte) (number >>> 8 * (isBig ? 3 - i : i));
    }
  }

  /** The first bytes of one and the last of another. */
  private static byte[] joined(byte[] head, int headLength, byte[] tail, int from) {
    byte[] both = Arrays.copyOf(head, headLength + tail.length - from);
    System.arraycopy(tail, from, both, headLength, tail.length - from);
    return both;
  }
}
