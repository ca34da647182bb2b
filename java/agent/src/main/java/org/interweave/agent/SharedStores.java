package org.interweave.agent;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.Attribute;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** The first reading of a class: which of its methods store into shared fields. */
final class SharedStores extends ClassVisitor implements Stores {
  private static final int FIELD_REFERENCE = 9;

  private final Ancestry ancestry;
  private final Set<String> methods = new HashSet<>();
  private final Map<String, Integer> orders = new HashMap<>();
  private final Set<String> missing = new HashSet<>();
  private boolean isMarked;

  private SharedStores(Ancestry ancestry) {
    super(Opcodes.ASM9);
    this.ancestry = ancestry;
  }

  static SharedStores in(ClassReader reader, Ancestry ancestry) {
    SharedStores found = new SharedStores(ancestry);
    if (mayBeIn(reader, ancestry)) {
      reader.accept(found, ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
    }
    return found;
  }

  /** Whether the class names a field that is shared, or of a class whose ancestors are missing. */
  static boolean mayBeIn(ClassReader reader, Ancestry ancestry) {
    char[] buffer = new char[reader.getMaxStringLength()];
    for (int i = 1; i < reader.getItemCount(); ++i) {
      int at = reader.getItem(i);
      if (at == 0 || reader.readByte(at - 1) != FIELD_REFERENCE) continue;
      int names = reader.getItem(reader.readUnsignedShort(at + 2));
      String field = reader.readUTF8(names, buffer) + reader.readUTF8(names + 2, buffer);
      Ancestry.Found found = ancestry.field(reader.readClass(at, buffer), field);
      if (found.missing() != null || found.order() != Ancestry.NOT_SHARED) return true;
    }
    return false;
  }

  boolean areAny() {
    return !isMarked && !methods.isEmpty();
  }

  @Override
  public boolean areIn(String method) {
    return methods.contains(method);
  }

  @Override
  public int order(String owner, String field) {
    String key = owner + '.' + field;
    Integer known = orders.get(key);
    if (known != null) return known;
    int found = ancestry.field(owner, field).order();
    orders.put(key, found);
    return found;
  }

  /** The class files that could not be read, and from which fields may be inherited. */
  Set<String> missing() {
    return isMarked ? Set.of() : missing;
  }

  @Override
  public void visitAttribute(Attribute attribute) {
    isMarked |= MarkedAttribute.is(attribute);
  }

  @Override
  public MethodVisitor visitMethod(int access, String name, String type, String generic,
      String[] exceptions) {
    // These carry values from memory, or mark by themselves.
    if (name.startsWith("iw_")) return null;
    return new MethodVisitor(Opcodes.ASM9) {
      private boolean hasStores;
      private boolean marksItself;

      @Override
      public void visitFieldInsn(int opcode, String owner, String field, String fieldType) {
        if (opcode != Opcodes.PUTFIELD) return;
        Ancestry.Found found = ancestry.field(owner, field + fieldType);
        if (found.missing() != null) missing.add(found.missing());
        hasStores |= found.order() != Ancestry.NOT_SHARED;
      }

      @Override
      public void visitMethodInsn(int opcode, String owner, String called, String calledType,
          boolean isOfInterface) {
        marksItself |= name.startsWith("set_") && called.equals(StoreMarker.MARK);
      }

      @Override
      public void visitEnd() {
        if (hasStores && !marksItself) methods.add(name + type);
      }
    };
  }
}
