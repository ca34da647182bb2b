package org.interweave.agent;

import org.objectweb.asm.ClassReader;

/** Finds the classes that define hidden ones. */
final class HiddenClasses {
  private static final int METHOD_REFERENCE = 10;
  private static final String LOOKUP = "java/lang/invoke/MethodHandles$Lookup";

  private HiddenClasses() {}

  static boolean areDefinedBy(ClassReader reader) {
    char[] buffer = new char[reader.getMaxStringLength()];
    for (int i = 1; i < reader.getItemCount(); ++i) {
      int at = reader.getItem(i);
      if (at == 0 || reader.readByte(at - 1) != METHOD_REFERENCE) continue;
      int names = reader.getItem(reader.readUnsignedShort(at + 2));
      if (reader.readUTF8(names, buffer).startsWith("defineHiddenClass")
          && reader.readClass(at, buffer).equals(LOOKUP)) {
        return true;
      }
    }
    return false;
  }
}
