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

  private static Transformer transformer;

  private Agent() {}

  /**
   * Called by the virtual machine before the program.
   *
   * @param arguments the text behind the jar's name: none, or `measure=all`, by which all objects
   *     of the program count as shared, to measure what that costs
   * @param instrumentation of this virtual machine
   */
  public static void premain(String arguments, Instrumentation instrumentation) {
    if (arguments != null && !arguments.equals(Measuring.ARGUMENT)) {
      throw new IllegalArgumentException(
          "interweave-agent: '" + arguments + "' is not an argument; the agent takes none, or "
              + Measuring.ARGUMENT);
    }
    transformer = new Transformer(arguments == null ? null : new Measuring(instrumentation));
    instrumentation.addTransformer(transformer, true);
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
    return transformer.unrewritten();
  }

  /**
   * The number of stores that are marked.
   *
   * @return counting a class again when it is transformed again
   */
  public static long marks() {
    return transformer.marks();
  }

  private static boolean isOfPrograms(Class<?> loaded) {
    return loaded.getClassLoader() != null && !loaded.isHidden() && !loaded.isArray();
  }

  /** A class that was loaded before the agent. */
  private static void again(Instrumentation instrumentation, Class<?> loaded) {
    try {
      instrumentation.retransformClasses(loaded);
    } catch (UnmodifiableClassException | RuntimeException | LinkageError wrong) {
      transformer.missed(loaded.getClassLoader(), loaded.getName(), wrong.toString());
    }
  }
}
