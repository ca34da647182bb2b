package org.interweave.agent.programs;

/** A program without shared objects, and without the library. */
public final class Alone {
  private int stored;

  private Alone() {}

  public static void main(String[] arguments) throws ReflectiveOperationException {
    Alone made = new Alone();
    made.stored = 1;
    Class<?> agent =
        Class.forName("org.interweave.agent.Agent", true, ClassLoader.getSystemClassLoader());
    System.out.println("marks=" + agent.getMethod("marks").invoke(null));
    System.out.println("unrewritten=" + agent.getMethod("unrewritten").invoke(null));
    Runnable lambda = () -> made.stored = 2;
    lambda.run();
    System.out.println("stored=" + made.stored);
  }
}
