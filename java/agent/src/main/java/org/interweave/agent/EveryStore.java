package org.interweave.agent;

import java.util.HashMap;
import java.util.Map;

/**
 * For a measurement, as the paper made it: every store into a field of an object is marked, be the
 * object shared or not.
 */
final class EveryStore implements Stores {
  private final Ancestry ancestry;
  private final Map<String, Integer> orders = new HashMap<>();

  EveryStore(Ancestry ancestry) {
    this.ancestry = ancestry;
  }

  /** Methods of that name carry values from memory, or mark by themselves. */
  @Override
  public boolean areIn(String method) {
    return !method.startsWith("iw_");
  }

  @Override
  public int order(String owner, String field) {
    String key = owner + '.' + field;
    Integer known = orders.get(key);
    if (known != null) return known;
    int found = ancestry.field(owner, field).order();
    if (found == Ancestry.NOT_SHARED) found = ancestry.position(owner, field);
    orders.put(key, found);
    return found;
  }
}
