package org.interweave.diff;

import java.lang.ref.SoftReference;
import java.util.function.Predicate;

/**
 * Two things with large memory that were used. They serve again, because fresh memory costs several
 * times as much as the copy. The collector takes them when memory is short.
 */
final class SparePair<T> {
  private SoftReference<T> one = new SoftReference<>(null);
  private SoftReference<T> other = one;

  /** Takes the one that was kept last and is fit; null: neither is. */
  synchronized T take(Predicate<T> isFit) {
    T found = one.get();
    if (found != null && isFit.test(found)) {
      one = other;
    } else {
      found = other.get();
      if (found == null || !isFit.test(found)) return null;
    }
    other = new SoftReference<>(null);
    return found;
  }

  /** Keeps it, and the one that was kept before. Drops an older one. */
  synchronized void keep(T used) {
    other = one;
    one = new SoftReference<>(used);
  }
}
