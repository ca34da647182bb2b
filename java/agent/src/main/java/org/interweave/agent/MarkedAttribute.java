package org.interweave.agent;

import org.objectweb.asm.Attribute;
import org.objectweb.asm.ByteVector;
import org.objectweb.asm.ClassWriter;

/** An empty attribute of a class file whose stores are marked, so that this is not done twice. */
final class MarkedAttribute extends Attribute {
  private static final String NAME = "org.interweave.Marked";

  MarkedAttribute() {
    super(NAME);
  }

  static boolean is(Attribute attribute) {
    return attribute.type.equals(NAME);
  }

  @Override
  protected ByteVector write(ClassWriter writer, byte[] code, int length, int stack, int locals) {
    return new ByteVector();
  }
}
