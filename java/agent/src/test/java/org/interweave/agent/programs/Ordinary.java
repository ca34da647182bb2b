package org.interweave.agent.programs;

import java.lang.instrument.Instrumentation;
import java.net.URL;
import java.net.URLClassLoader;
import org.interweave.IW_Object;
import org.interweave.agent.samples.Stores;

/** Stores in several loaders, and after a further transformation. Also an agent of its own. */
public final class Ordinary {
  private static final String STORES = "org.interweave.agent.samples.Stores";
  private static Instrumentation instrumentation;

  private Ordinary() {}

  public static void premain(String early, Instrumentation given) throws Exception {
    instrumentation = given;
    if (early != null) Class.forName(early);
  }

  public static void main(String[] arguments) throws Exception {
    Watched.word("word", Stores.class);
    URL[] all = {place(Ordinary.class), place(IW_Object.class)};
    ClassLoader platform = ClassLoader.getPlatformClassLoader();
    try (URLClassLoader other = new URLClassLoader(all, platform);
        URLClassLoader library = new URLClassLoader(new URL[] {all[1]}, platform)) {
      Watched.word("other", other.loadClass(STORES));
      Memory memory = new Memory(library, "Body", "Star", "Ground", "Stores");
      memory.sample("Body");
      Watched.word("memory", memory.sample("Stores"));
    }
    instrumentation.retransformClasses(Stores.class);
    Watched.word("again", Stores.class);
    Watched.agent();
  }

  static URL place(Class<?> of) {
    return of.getProtectionDomain().getCodeSource().getLocation();
  }
}
