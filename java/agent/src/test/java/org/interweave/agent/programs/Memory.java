package org.interweave.agent.programs;

import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.Map;

/** Loads samples that no resource shows, as programs do that make their classes. */
final class Memory extends ClassLoader {
  private static final String PACKAGE = "org.interweave.agent.samples.";

  private final Map<String, byte[]> files = new HashMap<>();

  /** A loader under one that sees the library, but no sample. */
  Memory(ClassLoader parent, String... samples) throws IOException {
    super(parent);
    for (String each : samples) {
      String path = "/" + (PACKAGE + each).replace('.', '/') + ".class";
      try (InputStream in = Memory.class.getResourceAsStream(path)) {
        files.put(PACKAGE + each, in.readAllBytes());
      }
    }
  }

  Class<?> sample(String name) throws ClassNotFoundException {
    return loadClass(PACKAGE + name);
  }

  Class<?> define(String name, byte[] file) {
    return defineClass(name, file, 0, file.length);
  }

  @Override
  protected Class<?> findClass(String name) throws ClassNotFoundException {
    byte[] file = files.get(name);
    if (file == null) throw new ClassNotFoundException(name);
    return define(name, file);
  }
}
