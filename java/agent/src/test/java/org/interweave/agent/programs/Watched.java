package org.interweave.agent.programs;

import org.interweave.IW_Object;

/** What a program with the agent says of it. */
final class Watched {
  private Watched() {}

  static void say(String what, Object value) {
    System.out.println(what + "=" + value);
  }

  static void word(String what, Class<?> stores) throws ReflectiveOperationException {
    Object word = stores.getMethod("eachKind").invoke(null);
    say(what, Integer.toHexString((int) word));
  }

  static void agent() throws ReflectiveOperationException {
    Class<?> agent =
        Class.forName("org.interweave.agent.Agent", true, ClassLoader.getSystemClassLoader());
    say("unrewritten", agent.getMethod("unrewritten").invoke(null));
    say("tracked", IW_Object.iw_isTracked());
  }
}
