package org.interweave.agent;

import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.commons.AnalyzerAdapter;

/**
 * The second reading of a class: before each store into a shared field it puts a call of the
 * object's iw_modified with the field's order. The code stays straight, so all frames stay valid.
 *
 * <p>The call names the class that the store names. The verifier then loads nothing that it did not
 * load before, and the class's module need not read IW_Object's.
 */
class StoreMarker extends ClassVisitor {
  static final String MARK = "iw_modified";

  private final Stores stores;
  private String name;
  private int marks;

  StoreMarker(ClassVisitor next, Stores stores) {
    super(Opcodes.ASM9, next);
    this.stores = stores;
  }

  /** How many stores got a mark. */
  int marks() {
    return marks;
  }

  void addMark() {
    ++marks;
  }

  @Override
  public void visit(int version, int access, String name, String generic, String above,
      String[] interfaces) {
    this.name = name;
    super.visit(version, access, name, generic, above, interfaces);
    super.visitAttribute(new MarkedAttribute());
  }

  @Override
  public MethodVisitor visitMethod(int access, String method, String type, String generic,
      String[] exceptions) {
    MethodVisitor next = super.visitMethod(access, method, type, generic, exceptions);
    if (!stores.areIn(method + type)) return next;
    if (method.equals("<init>")) return new InConstructor(access, type, next);
    return new MethodVisitor(Opcodes.ASM9, next) {
      @Override
      public void visitFieldInsn(int opcode, String owner, String field, String fieldType) {
        if (opcode == Opcodes.PUTFIELD) mark(mv, owner, field, fieldType);
        super.visitFieldInsn(opcode, owner, field, fieldType);
      }
    };
  }

  private void mark(MethodVisitor to, String owner, String field, String type) {
    int order = stores.order(owner, field + type);
    if (order == Ancestry.NOT_SHARED) return;
    addMark();
    if (type.equals("J") || type.equals("D")) {
      to.visitInsn(Opcodes.DUP2_X1);
      to.visitInsn(Opcodes.POP2);
      to.visitInsn(Opcodes.DUP_X2);
    } else {
      to.visitInsn(Opcodes.SWAP);
      to.visitInsn(Opcodes.DUP_X1);
    }
    push(to, order);
    to.visitMethodInsn(Opcodes.INVOKEVIRTUAL, owner, MARK, "(I)V", false);
  }

  private static void push(MethodVisitor to, int order) {
    if (order <= 5) to.visitInsn(Opcodes.ICONST_0 + order);
    else if (order <= Byte.MAX_VALUE) to.visitIntInsn(Opcodes.BIPUSH, order);
    else if (order <= Short.MAX_VALUE) to.visitIntInsn(Opcodes.SIPUSH, order);
    else to.visitLdcInsn(order);
  }

  /** Follows the stack, because nothing may be called on `this` before super(). */
  private final class InConstructor extends AnalyzerAdapter {
    InConstructor(int access, String type, MethodVisitor next) {
      super(Opcodes.ASM9, StoreMarker.this.name, access, "<init>", type, next);
    }

    @Override
    public void visitFieldInsn(int opcode, String owner, String field, String type) {
      if (opcode == Opcodes.PUTFIELD && isMade(type)) mark(mv, owner, field, type);
      super.visitFieldInsn(opcode, owner, field, type);
    }

    private boolean isMade(String type) {
      if (stack == null) throw new IllegalStateException("its constructor has no frames");
      int slots = type.equals("J") || type.equals("D") ? 2 : 1;
      return stack.get(stack.size() - 1 - slots) != Opcodes.UNINITIALIZED_THIS;
    }
  }
}
