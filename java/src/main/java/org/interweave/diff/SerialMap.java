package org.interweave.diff;

import java.util.AbstractCollection;
import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Values by serial, in the order in which they were put. An entry takes about 12 bytes, where one
 * of LinkedHashMap takes 80: a segment may have millions of blocks.
 *
 * <p>Most serials come in ascending ranges. So the entry of a serial is looked for first where it
 * is if the serial lies in the range of the one before: without a hash, beside what was read last.
 */
final class SerialMap<V extends Numbered> extends AbstractCollection<V> {
  private static final int FIRST_CAPACITY = 16;
  /**
   * Not known to a peer, who could choose serials of one slot otherwise. SplittableRandom would
   * load six classes more before the first value.
   */
  private static final long SPREAD = ThreadLocalRandom.current().nextLong() | 1;

  /** By the order; null where the entry was removed. */
  private Object[] values = new Object[FIRST_CAPACITY];
  /** Entries, with those that were removed. */
  private int used;
  private int live;
  /** The largest serial that was ever put. */
  private long most = Long.MIN_VALUE;
  /** The index of the entry that was found last, less its serial: a guess, whatever it is. */
  private long shift;
  /** By the hash: one more than the entry's index; 0: free. At most half are taken. */
  private int[] slots = new int[2 * FIRST_CAPACITY];

  private int slotOf(long serial) {
    return (int) ((serial * SPREAD) >>> 33) & (slots.length - 1);
  }

  /** The index of the entry; -1: there is none. Several threads may call it at the same time. */
  private int find(long serial) {
    if (serial > most) return -1;
    long near = serial + shift;
    if (near >= 0 && near < used && values[(int) near] != null
        && at((int) near).serial() == serial) {
      return (int) near;
    }
    for (int at = slotOf(serial); slots[at] != 0; at = (at + 1) & (slots.length - 1)) {
      int index = slots[at] - 1;
      if (values[index] == null || at(index).serial() != serial) continue;
      shift = index - serial;
      return index;
    }
    return -1;
  }

  @SuppressWarnings("unchecked")
  private V at(int index) {
    return (V) values[index];
  }

  V get(long serial) {
    int index = find(serial);
    return index < 0 ? null : at(index);
  }

  boolean containsSerial(long serial) {
    return find(serial) >= 0;
  }

  /** Replaces the value of the same serial, or puts another entry behind the last. */
  void put(V value) {
    int known = find(value.serial());
    if (known >= 0) {
      values[known] = value;
      return;
    }
    if (used == values.length) grow();
    values[used] = value;
    most = Math.max(most, value.serial());
    ++live;
    enter(used++);
  }

  private void enter(int index) {
    int at = slotOf(at(index).serial());
    while (slots[at] != 0) at = (at + 1) & (slots.length - 1);
    slots[at] = index + 1;
  }

  /** Leaves removed entries out, and makes room if they are few. */
  private void grow() {
    int capacity = live > used / 2 ? 2 * used : used;
    Object[] oldValues = values;
    int before = used;
    values = new Object[capacity];
    if (slots.length < 2 * capacity) slots = new int[2 * capacity];
    else Arrays.fill(slots, 0);
    used = 0;
    for (int i = 0; i < before; ++i) {
      if (oldValues[i] == null) continue;
      values[used] = oldValues[i];
      enter(used++);
    }
  }

  /** The value that was there; null: there was none. */
  V take(long serial) {
    int index = find(serial);
    if (index < 0) return null;
    V value = at(index);
    values[index] = null;
    --live;
    return value;
  }

  @Override
  public int size() {
    return live;
  }

  @Override
  public Iterator<V> iterator() {
    return new Values();
  }

  private final class Values implements Iterator<V> {
    private int next;

    @Override
    public boolean hasNext() {
      while (next < used && values[next] == null) ++next;
      return next < used;
    }

    @Override
    public V next() {
      if (!hasNext()) throw new NoSuchElementException();
      return at(next++);
    }
  }
}
