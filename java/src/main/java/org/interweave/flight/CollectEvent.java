package org.interweave.flight;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A release found what the section changed. */
@Name("org.interweave.DiffCollect")
@Label("Diff Collect")
@Category("InterWeave")
@Description("A release compared the stored objects and blocks, and made the diff")
@StackTrace(false)
public final class CollectEvent extends Event {
  @Label("Segment")
  String segment;

  @Label("Version")
  @Description("That the section began with")
  long version;

  @Label("Bytes")
  @DataAmount
  @Description("Of the diff; 0: nothing was changed")
  long bytes;

  private CollectEvent() {}

  /** It begins now. */
  public static CollectEvent begun() {
    CollectEvent event = new CollectEvent();
    event.begin();
    return event;
  }

  /** It is done. */
  public void ended(String of, long atVersion, long ofBytes) {
    segment = of;
    version = atVersion;
    bytes = ofBytes;
    commit();
  }
}
