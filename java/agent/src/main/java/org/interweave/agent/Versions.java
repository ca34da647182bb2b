package org.interweave.agent;

import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Opcodes;

/** Class files that are newer than this agent. */
final class Versions {
  private static final int NEWEST = Opcodes.V26;
  private static final int MAJOR = 6;

  private Versions() {}

  static boolean isKnown(byte[] file) {
    return majorOf(file) <= NEWEST;
  }

  static int majorOf(byte[] file) {
    return (file[MAJOR] & 0xff) << 8 | file[MAJOR + 1] & 0xff;
  }

  /** A reader, also of a newer file: good for its names, but not for its code. */
  static ClassReader reader(byte[] file) {
    if (isKnown(file)) return new ClassReader(file);
    byte[] older = file.clone();
    older[MAJOR] = 0;
    older[MAJOR + 1] = (byte) NEWEST;
    return new ClassReader(older);
  }
}
