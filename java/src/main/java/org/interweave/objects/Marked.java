package org.interweave.objects;

import java.util.Arrays;
import org.interweave.IW_Object;

/** Objects with marks, in the order of their first marks. Threads of one writer lock add them. */
final class Marked {
  private static final int FEW = 64;
  private static final IW_Object[] NONE = {};

  private IW_Object[] objects = NONE;
  private int count;

  synchronized void add(IW_Object object) {
    if (count == objects.length) objects = Arrays.copyOf(objects, Math.max(FEW, 2 * count));
    objects[count++] = object;
  }

  /** Takes all objects out. In the returned array null follows the last object. */
  synchronized IW_Object[] take() {
    IW_Object[] taken = objects;
    int there = count;
    objects = NONE;
    count = 0;
    return there == taken.length ? Arrays.copyOf(taken, there + 1) : taken;
  }

  /** Puts the objects of `taken` from `begin` on back, before those that were added since. */
  synchronized void back(IW_Object[] taken, int begin) {
    IW_Object[] since = take();
    for (int i = begin; taken[i] != null; ++i) add(taken[i]);
    for (int i = 0; since[i] != null; ++i) add(since[i]);
  }

  /** Uses the array that `take` returned again, if no object was added since. */
  synchronized void reuse(IW_Object[] taken) {
    if (count > 0) return;
    // Not the whole array, because it is as long as the most marks ever were.
    for (int i = 0; i < taken.length && taken[i] != null; ++i) taken[i] = null;
    objects = taken;
  }
}
