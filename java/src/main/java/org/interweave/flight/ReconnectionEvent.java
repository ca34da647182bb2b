package org.interweave.flight;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A lost connection was made again; as long as there was none. */
@Name("org.interweave.Reconnection")
@Label("Reconnection")
@Category("InterWeave")
@Description("A lost connection to a server was made again")
@StackTrace(false)
public final class ReconnectionEvent extends Event {
  @Label("Server")
  String server;

  @Label("Attempts")
  @Description("With the one that succeeded")
  long attempts;

  private ReconnectionEvent() {}

  /** The connection is lost now, after so many attempts. */
  public static ReconnectionEvent begun(long attemptsBefore) {
    ReconnectionEvent event = new ReconnectionEvent();
    event.begin();
    event.attempts = -attemptsBefore;
    return event;
  }

  /** There is another connection, after so many attempts in all. */
  public void ended(String to, long attemptsNow) {
    server = to;
    attempts += attemptsNow;
    commit();
  }
}
