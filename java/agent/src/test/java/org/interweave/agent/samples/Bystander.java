package org.interweave.agent.samples;

/** Reads shared fields, and stores into plain ones alone. */
public final class Bystander {
  public int seen;

  public void look(Body at) {
    seen = at.i;
    at.plain = seen;
    Body.count = seen;
  }
}
