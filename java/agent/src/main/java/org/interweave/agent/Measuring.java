package org.interweave.agent;

import java.lang.instrument.Instrumentation;
import java.util.Map;
import java.util.Set;

/**
 * `measure=all`: every object of the program counts as shared, as in the paper's measurement of
 * what it costs to detect stores. Only classes that are loaded after the agent take part.
 */
final class Measuring {
  static final String ARGUMENT = "measure=all";

  private final Instrumentation instrumentation;

  Measuring(Instrumentation instrumentation) {
    this.instrumentation = instrumentation;
  }

  /** Whether a class is the program's, and sees what its rewritten code calls. */
  boolean takes(ClassLoader loader, String name) {
    if (Ancestry.isOfTheSystem(name) || Ancestry.isOfTheLibrary(name)) return false;
    try {
      return Class.forName(ArrayWords.class.getName(), false, loader) == ArrayWords.class;
    } catch (ClassNotFoundException | LinkageError elsewhere) {
      return false;
    }
  }

  /** Lets a class's module call the agent. */
  void reads(Module module, String name) {
    Module own = Measuring.class.getModule();
    if (Ancestry.isOfTheSystem(name) || !module.isNamed() || module.canRead(own)) return;
    instrumentation.redefineModule(
        module, Set.of(own), Map.of(), Map.of(), Set.of(), Map.of());
  }
}
