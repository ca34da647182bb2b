package org.interweave.objects;

import java.util.concurrent.locks.ReentrantLock;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;

/** What an object map knows of its client: the other segments, and the grant's serials. */
public interface Neighbours {
  /**
   * Guards the structure of the client's copies, and the maps of their objects. The holder waits
   * for nothing.
   */
  ReentrantLock gate();

  /** The objects of the segment that a slot's text names; null: it is not open. */
  ObjectMap at(String slot);

  /** The URL that a slot's text stands for. */
  String urlOf(String slot);

  /** The text by which pointers name the segment with that URL. */
  String slotOf(String url);

  /** Asks for further serials. Called without the gate, because it waits for the server. */
  void moreSerials();

  /** Of a copy that knows no other. */
  final class None implements Neighbours {
    private final ReentrantLock gate = new ReentrantLock();

    @Override
    public ReentrantLock gate() {
      return gate;
    }

    @Override
    public ObjectMap at(String slot) {
      return null;
    }

    @Override
    public String urlOf(String slot) {
      return slot;
    }

    @Override
    public String slotOf(String url) {
      return url;
    }

    @Override
    public void moreSerials() {
      throw InterweaveException.of(Error.INTERNAL, "the serials of blocks are used up");
    }
  }
}
