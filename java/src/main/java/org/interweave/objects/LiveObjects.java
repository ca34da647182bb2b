package org.interweave.objects;

import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import org.interweave.IW_Object;

/**
 * A set of objects that forgets those of freed blocks: at the latest when it would be twice as
 * large as what lived the last time, so that an addition costs a constant time on average.
 */
final class LiveObjects {
  private static final int FEW = 64;

  private final Set<IW_Object> all = Collections.newSetFromMap(new IdentityHashMap<>());
  private int most = FEW;

  /** False: it was there. */
  boolean add(IW_Object object) {
    if (!all.add(object)) return false;
    if (all.size() > most) {
      forgetFreed();
      most = Math.max(FEW, 2 * all.size());
    }
    return true;
  }

  void clear() {
    all.clear();
    most = FEW;
  }

  boolean isEmpty() {
    return all.isEmpty();
  }

  /** Those that live now. */
  Collection<IW_Object> live() {
    forgetFreed();
    return Collections.unmodifiableSet(all);
  }

  private void forgetFreed() {
    all.removeIf(LiveObjects::isFreed);
  }

  /** An object that is being constructed has no place yet. */
  static boolean isFreed(IW_Object object) {
    return object.iw_place() instanceof Place place && !place.mapped().isLive();
  }
}
