package org.interweave.objects;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.Enumeration;
import org.interweave.IW_Types;

/**
 * Finds generated classes by the name of a type. `interweave compile --lang java` writes a resource
 * for each type, which names the class of the .x file. Initialising that class registers its types.
 */
final class Index {
  private static final String FOLDER = "META-INF/interweave/types/";

  private Index() {}

  /** Registers the types of all .x files that have a type of that name; whether there were any. */
  static boolean load(String type) {
    int before = IW_Types.count();
    ClassLoader own = Index.class.getClassLoader();
    ClassLoader program = Thread.currentThread().getContextClassLoader();
    String name = FOLDER + type.replace("::", ".");
    if (program != null) load(name, program);
    if (program != own) load(name, own);
    return IW_Types.count() != before;
  }

  private static void load(String name, ClassLoader loader) {
    try {
      Enumeration<URL> found = loader.getResources(name);
      while (found.hasMoreElements()) load(found.nextElement(), loader);
    } catch (IOException unreadable) {
      // As if it were not there: the block then has no class, and is still seen as a record.
      return;
    }
  }

  private static void load(URL entry, ClassLoader loader) throws IOException {
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(entry.openStream(), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (!line.startsWith("#") && !line.isBlank()) initialise(line.strip(), loader);
      }
    }
  }

  /** Makes a class register its types; whether there is such a class. */
  static boolean initialise(String name, ClassLoader loader) {
    try {
      Class.forName(name, true, loader);
      return true;
    } catch (ClassNotFoundException missing) {
      return false;
    }
  }
}
