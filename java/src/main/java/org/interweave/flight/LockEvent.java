package org.interweave.flight;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Threshold;

/** A thread took a lock; as long as it waited for it. */
@Name("org.interweave.Lock")
@Label("Lock")
@Category("InterWeave")
@Description("A lock of a segment was taken")
@Threshold("1 ms")
public final class LockEvent extends Event {
  @Label("Segment")
  String segment;

  @Label("Writer")
  boolean isWriter;

  @Label("Version")
  @Description("What the lock's holder sees")
  long version;

  @Label("Local")
  @Description("The copy was recent enough, or the writer lock was still here")
  boolean isLocal;

  private LockEvent() {}

  /** The thread asks for the lock now. */
  public static LockEvent begun() {
    LockEvent event = new LockEvent();
    event.begin();
    return event;
  }

  /** The thread has it. */
  public void ended(String of, boolean writes, long atVersion, boolean wasLocal) {
    end();
    if (!shouldCommit()) return;
    segment = of;
    isWriter = writes;
    version = atVersion;
    isLocal = wasLocal;
    commit();
  }
}
