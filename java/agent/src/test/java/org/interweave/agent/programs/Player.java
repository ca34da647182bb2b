package org.interweave.agent.programs;

import org.interweave.agent.samples.Body;

/** Stores, and names no class of the library. */
public final class Player {
  private Player() {}

  public static void main(String[] arguments) {
    Body body = new Body();
    body.i = 1;
    body.d = 2;
    System.out.println("word=" + Integer.toHexString(body.iw_word()));
    System.out.println("module=" + Player.class.getModule().getName());
  }
}
