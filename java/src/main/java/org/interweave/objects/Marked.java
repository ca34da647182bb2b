package org.interweave.objects;

import java.util.ArrayList;
import java.util.List;
import org.interweave.IW_Object;

/** Objects with marks, in the order of their first marks. Threads of one writer lock add them. */
final class Marked {
  private List<IW_Object> objects = new ArrayList<>();

  synchronized void add(IW_Object object) {
    objects.add(object);
  }

  /** Takes all objects out. */
  synchronized List<IW_Object> take() {
    List<IW_Object> taken = objects;
    objects = new ArrayList<>();
    return taken;
  }

  /** Puts the objects of `taken` from `begin` on back, before those that were added since. */
  synchronized void back(List<IW_Object> taken, int begin) {
    objects.addAll(0, taken.subList(begin, taken.size()));
  }

  /** Uses the list that `take` returned again, if no object was added since. */
  synchronized void reuse(List<IW_Object> taken) {
    if (!objects.isEmpty()) return;
    taken.clear();
    objects = taken;
  }
}
