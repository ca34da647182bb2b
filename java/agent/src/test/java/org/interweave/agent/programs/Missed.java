package org.interweave.agent.programs;

import java.io.InputStream;
import java.net.URL;
import java.net.URLClassLoader;
import org.interweave.IW_Object;

/** Stores that the agent cannot mark. */
public final class Missed {
  private Missed() {}

  public static void main(String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "late" -> late();
      case "long" -> tooLong();
      default -> Watched.say("unknown", arguments[0]);
    }
    Watched.agent();
  }

  /** A class that stores comes before the class that it stores into, which has no file. */
  private static void late() throws Exception {
    URL[] library = {Ordinary.place(IW_Object.class)};
    ClassLoader platform = ClassLoader.getPlatformClassLoader();
    try (URLClassLoader parent = new URLClassLoader(library, platform)) {
      Memory memory = new Memory(parent, "Stores", "Body", "Star", "Ground");
      Watched.word("word", memory.sample("Stores"));
      Class<?> root = parent.loadClass("org.interweave.IW_Object");
      Watched.say("there", root.getMethod("iw_isTracked").invoke(null));
    }
  }

  private static void tooLong() throws Exception {
    try (InputStream in = Missed.class.getResourceAsStream("/toolong.bin")) {
      byte[] file = in.readAllBytes();
      ClassLoader own = Missed.class.getClassLoader();
      String name = "org.interweave.agent.samples.Made";
      Watched.say("word", new Memory(own).define(name, file).getMethod("run").invoke(null));
      Watched.say("twice", new Memory(own).define(name, file).getMethod("run").invoke(null));
    }
  }
}
