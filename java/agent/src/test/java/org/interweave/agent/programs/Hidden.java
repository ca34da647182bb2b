package org.interweave.agent.programs;

import java.io.InputStream;
import java.lang.invoke.MethodHandles;

/** Stores by a hidden class, which the virtual machine shows to no agent. */
public final class Hidden {
  private Hidden() {}

  public static void main(String[] arguments) throws Exception {
    try (InputStream in = Hidden.class.getResourceAsStream("Player.class")) {
      Class<?> hidden =
          MethodHandles.lookup().defineHiddenClass(in.readAllBytes(), true).lookupClass();
      hidden.getMethod("main", String[].class).invoke(null, (Object) arguments);
    }
    Watched.agent();
  }
}
