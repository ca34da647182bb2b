package org.interweave.client;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * By which URLs the open segments of a client are found [SPACE-61]: each by its first name, with
 * which the program opened it, and by others of the same segment. The client's lock guards what
 * changes them; `find` and `all` need none.
 */
final class Names {
  private final Map<String, Opening> first = new ConcurrentHashMap<>();
  private final Map<String, Opening> others = new ConcurrentHashMap<>();
  private final Map<String, List<Opening>> byPath = new HashMap<>();

  /** Null: no segment has the name. */
  Opening find(String url) {
    Opening found = first.get(url);
    return found != null ? found : others.get(url);
  }

  Collection<Opening> all() {
    return first.values();
  }

  List<Opening> withPath(String path) {
    return byPath.getOrDefault(path, List.of());
  }

  void join(Opening opening) {
    first.put(opening.url, opening);
    String path = opening.exchange.path();
    List<Opening> alike = byPath.get(path);
    if (alike == null) byPath.put(path, alike = new ArrayList<>(1));
    alike.add(opening);
  }

  /** The segment has that name as well. */
  void add(String url, Opening opening) {
    others.put(url, opening);
  }

  /** It is found by no name any more. False: it was not. */
  boolean leave(Opening opening) {
    if (!first.remove(opening.url, opening)) return false;
    String path = opening.exchange.path();
    List<Opening> alike = byPath.get(path);
    alike.remove(opening);
    if (alike.isEmpty()) byPath.remove(path);
    for (Iterator<Opening> at = others.values().iterator(); at.hasNext(); ) {
      if (at.next() == opening) at.remove();
    }
    return true;
  }
}
