package org.interweave.client;

import java.util.concurrent.locks.ReentrantLock;
import org.interweave.InterweaveException;
import org.interweave.diff.Changes;
import org.interweave.objects.Neighbours;
import org.interweave.objects.NoSerials;
import org.interweave.objects.ObjectMap;

/**
 * The objects of one segment, which take part in its writer sections and updates. There is no map
 * before the program asks for the first object.
 */
final class SegmentObjects implements Neighbours {
  private final Segment segment;
  private final Client client;
  private volatile ObjectMap map;
  /** Of the section under way; null: there is none. */
  private volatile Changes changes;
  /** The section has just begun, and the program has stored nothing. */
  private volatile boolean isFresh;
  /** The client's news that were looked at. */
  private long seen;
  /** The client's closings that were looked at. */
  private volatile long seenClosings;

  SegmentObjects(Segment segment, Client client) {
    this.segment = segment;
    this.client = client;
  }

  /** For the holder of a lock, or of the gate. */
  ObjectMap map() {
    ObjectMap known = map;
    if (known != null) return known;
    client.gate.lock();
    try {
      if (map != null) return map;
      map = new ObjectMap(segment.copy(), segment.url(), this);
      return map;
    } finally {
      client.gate.unlock();
    }
  }

  /** Null: no object was asked for. */
  ObjectMap known() {
    return map;
  }

  // ---- locks ----

  /** A section begins, or (null) ends. With the link's lock, so without waiting for the gate. */
  void granted(Changes section) {
    isFresh = section != null;
    changes = section;
  }

  /** Without the link's lock. */
  void flush() {
    ObjectMap known = map;
    while (known != null) {
      try {
        known.flush();
        return;
      } catch (NoSerials few) {
        segment.moreSerials();
      }
    }
  }

  /**
   * Before the section is undone: whether objects have what no release could take, or what needs
   * further serials. The server is not asked for serials that nobody will use.
   */
  boolean haveChanges() {
    ObjectMap known = map;
    if (known == null) return false;
    try {
      known.flush();
      return false;
    } catch (NoSerials | InterweaveException unfit) {
      return true;
    }
  }

  /** The thread that is alone has applied a diff; with the gate. */
  void refresh() {
    if (map != null) map.refresh();
    client.tellNews();
  }

  /** Changes were undone; with the gate. */
  void reload() {
    if (map != null) map.reload();
  }

  /**
   * A lock was taken: pointers into segments that were not open may lead somewhere by now, and
   * those into segments that were closed lead nowhere, or to objects of another opening.
   */
  void entered() {
    ObjectMap known = map;
    boolean isFirst = isFresh;
    if (isFirst) isFresh = false;
    if (known == null) return;
    if (!known.isDangling() && seenClosings == client.closings()) return;
    client.gate.lock();
    try {
      boolean mayLoad = changes == null || isFirst;
      if (mayLoad) look(known);
    } finally {
      client.gate.unlock();
    }
  }

  private void look(ObjectMap known) {
    long news = client.news();
    long closings = client.closings();
    if (seenClosings != closings) known.lookAbroad();
    else if (seen != news) known.lookAgain();
    seen = news;
    seenClosings = closings;
  }

  void close() {
    if (map != null) map.close();
  }

  // ---- what the map asks ----

  @Override
  public ReentrantLock gate() {
    return client.gate;
  }

  @Override
  public Changes section() {
    return changes;
  }

  @Override
  public ObjectMap at(String slot) {
    Segment found = client.opened(segment.urlOf(slot));
    return found == null ? null : found.objects().map();
  }

  @Override
  public String urlOf(String slot) {
    return segment.urlOf(slot);
  }

  @Override
  public String slotOf(String url) {
    return segment.slotTextOf(url);
  }

  @Override
  public void warn(String text) {
    Library.get().call(
        new Runnable() {
          @Override
          public void run() {
            System.getLogger("org.interweave").log(System.Logger.Level.WARNING, text);
          }
        });
  }

  @Override
  public void moreSerials() {
    segment.moreSerials();
  }
}
