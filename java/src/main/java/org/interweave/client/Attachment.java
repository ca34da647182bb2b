package org.interweave.client;

/** Objects over the blocks of a copy, which take part in the segment's writer sections. */
public interface Attachment {
  /** Called before a release looks for changes: objects are to be written into the blocks now. */
  void collecting();

  /** Called when an update, or the undoing of changes, has changed the memory of the blocks. */
  void changed();
}
