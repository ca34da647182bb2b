package org.interweave.objects;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.diff.Changes;

/** What an object map knows of its client: the section under way, and the other segments. */
public interface Neighbours {
  /**
   * Guards the structure of the client's copies, and the maps of their objects. The holder waits
   * for nothing.
   */
  ReentrantLock gate();

  /** The changes of the writer's section under way; null: there is none. */
  Changes section();

  /** The objects of the segment that a slot's text names; null: it is not open. */
  ObjectMap at(String slot);

  /** The URL that a slot's text stands for. */
  String urlOf(String slot);

  /** The text by which pointers name the segment with that URL. */
  String slotOf(String url);

  /** Gives the program's log a warning, later and without the gate: its handler may take locks. */
  void warn(String text);

  /** Asks for further serials. Called without the gate, because it waits for the server. */
  void moreSerials();

  /** Of a copy that knows no other. */
  final class None implements Neighbours {
    private final ReentrantLock gate = new ReentrantLock();
    private final List<String> warnings = new ArrayList<>();
    private Changes section;

    /** Begins or (null) ends a section. */
    public void write(Changes with) {
      section = with;
    }

    @Override
    public Changes section() {
      return section;
    }

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
    public void warn(String text) {
      warnings.add(text);
    }

    /** What a copy of its own had to say, which is forgotten then. */
    public List<String> takeWarnings() {
      List<String> taken = List.copyOf(warnings);
      warnings.clear();
      return taken;
    }

    @Override
    public void moreSerials() {
      throw InterweaveException.of(Error.INTERNAL, "the serials of blocks are used up");
    }
  }
}
