package org.interweave.agent;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.WeakHashMap;

/** The ancestry of the classes of each class loader, as long as the loader lives. */
final class Loaders {
  private final Map<ClassLoader, Ancestry> known = new WeakHashMap<>();

  /** Of the classes that a loader finds; null stands for the system's own loader. */
  synchronized Ancestry ancestry(ClassLoader loader) {
    if (loader == null) return null;
    Ancestry found = known.get(loader);
    if (found != null) return found;
    Files files = new Files(new WeakReference<>(loader));
    Ancestry made = new Ancestry(files, ancestry(loader.getParent()));
    known.put(loader, made);
    return made;
  }

  /** A strong reference from a map's value to its key would keep the loader for ever. */
  private record Files(WeakReference<ClassLoader> loader) implements ClassFiles {
    @Override
    public byte[] read(String name) throws IOException {
      ClassLoader alive = loader.get();
      if (alive == null) return null;
      try (InputStream in = alive.getResourceAsStream(name + ".class")) {
        return in == null ? null : in.readAllBytes();
      }
    }
  }
}
