package org.interweave.flight;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A diff of the server was applied to the copy and its objects. */
@Name("org.interweave.DiffApply")
@Label("Diff Apply")
@Category("InterWeave")
@Description("A diff was applied to the copy of a segment")
@StackTrace(false)
public final class ApplyEvent extends Event {
  @Label("Segment")
  String segment;

  @Label("Version")
  @Description("Of the copy from now on")
  long version;

  @Label("Bytes")
  @DataAmount
  long bytes;

  private ApplyEvent() {}

  /** It begins now. */
  public static ApplyEvent begun() {
    ApplyEvent event = new ApplyEvent();
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
