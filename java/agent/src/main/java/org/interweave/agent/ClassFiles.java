package org.interweave.agent;

import java.io.IOException;

/** Where class files are read without loading a class. */
@FunctionalInterface
public interface ClassFiles {
  /**
   * The bytes of a class file.
   *
   * @param name of the class with slashes
   * @return null if the class has no file
   * @throws IOException if there is one that cannot be read
   */
  byte[] read(String name) throws IOException;
}
