package org.interweave.agent;

import java.lang.reflect.Array;

/**
 * For the measurement in which every object counts as shared: the modification words of arrays. An
 * array has no field for its word, so the word is in a table, at a place that the array's identity
 * gives. Arrays may have the same place: the words tell nothing, and cost what they cost.
 */
public final class ArrayWords {
  private static final int PARTS_LOG = 5;
  private static final int[] WORDS = new int[1 << 12];

  private ArrayWords() {}

  /**
   * Marks the part of an array that a store changes. Rewritten code calls it before the store.
   *
   * @param array null, or too short for the index: the store will throw
   * @param index of the element
   */
  public static void stored(int[] array, int index) {
    if (array != null) mark(array, array.length, index);
  }

  /** The same. */
  public static void stored(long[] array, int index) {
    if (array != null) mark(array, array.length, index);
  }

  /** The same. */
  public static void stored(float[] array, int index) {
    if (array != null) mark(array, array.length, index);
  }

  /** The same. */
  public static void stored(double[] array, int index) {
    if (array != null) mark(array, array.length, index);
  }

  /** The same. */
  public static void stored(short[] array, int index) {
    if (array != null) mark(array, array.length, index);
  }

  /** The same. */
  public static void stored(char[] array, int index) {
    if (array != null) mark(array, array.length, index);
  }

  /** The same. */
  public static void stored(Object[] array, int index) {
    if (array != null) mark(array, array.length, index);
  }

  /** The same of bytes or booleans, for which class files have one instruction. */
  public static void stored(Object array, int index) {
    if (array != null) mark(array, Array.getLength(array), index);
  }

  private static void mark(Object array, int length, int index) {
    int shift = Math.max(0, Integer.SIZE - PARTS_LOG - Integer.numberOfLeadingZeros(length - 1));
    int part = 1 << (index >>> shift);
    int place = System.identityHashCode(array) & (WORDS.length - 1);
    if ((WORDS[place] & part) == 0) WORDS[place] |= part;
  }

  /**
   * How many marks are in the table.
   *
   * @return the bits of all words
   */
  public static int marks() {
    int marks = 0;
    for (int each : WORDS) marks += Integer.bitCount(each);
    return marks;
  }
}
