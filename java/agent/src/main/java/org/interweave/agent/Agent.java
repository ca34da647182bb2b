package org.interweave.agent;

import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;

/**
 * What `-javaagent:interweave-agent.jar` starts: from now on a store into a shared field marks the
 * field, and a release need not compare the objects that have no mark.
 */
public final class Agent {
  /** The library reads this property when IW_Object is initialized. */
  private static final String MARKS = "interweave.marks";

  private static final Transformer TRANSFORMER = new Transformer();

  private Agent() {}

  /**
   * Called by the virtual machine before the program.
   *
   * @param arguments the text behind the jar's name; the agent takes none
   * @param instrumentation of this virtual machine
   */
  public static void premain(String arguments, Instrumentation instrumentation) {
    if (arguments != null) {
      throw new IllegalArgumentException(
          "interweave-agent: '" + arguments + "' is not an argument; the agent takes none");
    }
    instrumentation.addTransformer(TRANSFORMER, true);
    if (System.getProperty(MARKS) == null) System.setProperty(MARKS, "true");
    for (Class<?> each : instrumentation.getAllLoadedClasses()) {
      if (isOfPrograms(each) && instrumentation.isModifiableClass(each)) {
        again(instrumentation, each);
      }
    }
  }

  /**
   * The number of classes that store into shared fields and could not be rewritten.
   *
   * @return not counting those that the virtual machine shows to no agent
   */
  public static long unrewritten() {
    return TRANSFORMER.unrewritten();
  }

  /**
   * The number of stores that are marked.
   *
   * @return counting a class again when it is transformed again
   */
  public static long marks() {
    return TRANSFORMER.marks();
  }

  private static boolean isOfPrograms(Class<?> loaded) {
    return loaded.getClassLoader() != null && !loaded.isHidden() && !loaded.isArray();
  }

  /** A class that was loaded before the agent. */
  private static void again(Instrumentation instrumentation, Class<?> loaded) {
    try {
      instrumentation.retransformClasses(loaded);
    } catch (UnmodifiableClassException | RuntimeException | LinkageError wrong) {
      TRANSFORMER.missed(loaded.getClassLoader(), loaded.getName(), wrong.toString());
    }
  }
}
