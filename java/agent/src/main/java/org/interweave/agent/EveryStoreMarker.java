package org.interweave.agent;

import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Marks every store into a field or an array, for the measurement in which every object counts as
 * shared. A class right under one of the system gets a modification word and its `iw_modified`;
 * classes under it inherit them.
 */
final class EveryStoreMarker extends StoreMarker {
  private static final String WORD = "iw_word";
  private static final String SHIFT = "iw_shift";
  private static final String ARRAYS = "org/interweave/agent/ArrayWords";

  private String name;
  private boolean getsWord;

  EveryStoreMarker(ClassVisitor next, Stores stores) {
    super(next, stores);
  }

  @Override
  public void visit(int version, int access, String name, String generic, String above,
      String[] interfaces) {
    this.name = name;
    boolean isClass = (access & (Opcodes.ACC_INTERFACE | Opcodes.ACC_MODULE)) == 0;
    getsWord = isClass && Ancestry.isOfTheSystem(above);
    super.visit(version, access, name, generic, above, interfaces);
  }

  @Override
  public MethodVisitor visitMethod(int access, String method, String type, String generic,
      String[] exceptions) {
    MethodVisitor next = super.visitMethod(access, method, type, generic, exceptions);
    return method.startsWith("iw_") ? next : new ArrayStores(next);
  }

  @Override
  public void visitEnd() {
    if (getsWord) addWord();
    super.visitEnd();
  }

  /** Its method is that of IW_Object, but for the first mark, of which nobody is told. */
  private void addWord() {
    int hidden = Opcodes.ACC_PRIVATE | Opcodes.ACC_SYNTHETIC | Opcodes.ACC_TRANSIENT;
    cv.visitField(hidden, WORD, "I", null, null).visitEnd();
    cv.visitField(hidden, SHIFT, "B", null, null).visitEnd();
    int access = Opcodes.ACC_PUBLIC | Opcodes.ACC_FINAL | Opcodes.ACC_SYNTHETIC;
    MethodVisitor to = cv.visitMethod(access, MARK, "(I)V", null, null);
    to.visitCode();
    to.visitInsn(Opcodes.ICONST_1);
    to.visitVarInsn(Opcodes.ILOAD, 1);
    field(to, Opcodes.GETFIELD, SHIFT, "B");
    to.visitInsn(Opcodes.IUSHR);
    to.visitInsn(Opcodes.ISHL);
    to.visitVarInsn(Opcodes.ISTORE, 1);
    field(to, Opcodes.GETFIELD, WORD, "I");
    to.visitVarInsn(Opcodes.ILOAD, 1);
    to.visitInsn(Opcodes.IAND);
    Label isMarked = new Label();
    to.visitJumpInsn(Opcodes.IFNE, isMarked);
    to.visitVarInsn(Opcodes.ALOAD, 0);
    field(to, Opcodes.GETFIELD, WORD, "I");
    to.visitVarInsn(Opcodes.ILOAD, 1);
    to.visitInsn(Opcodes.IOR);
    to.visitFieldInsn(Opcodes.PUTFIELD, name, WORD, "I");
    to.visitLabel(isMarked);
    to.visitFrame(Opcodes.F_NEW, 2, new Object[] {name, Opcodes.INTEGER}, 0, new Object[0]);
    to.visitInsn(Opcodes.RETURN);
    to.visitMaxs(0, 0);
    to.visitEnd();
  }

  private void field(MethodVisitor to, int opcode, String field, String type) {
    to.visitVarInsn(Opcodes.ALOAD, 0);
    to.visitFieldInsn(opcode, name, field, type);
  }

  /** Puts a call of ArrayWords before each store into an array. The code stays straight. */
  private final class ArrayStores extends MethodVisitor {
    ArrayStores(MethodVisitor next) {
      super(Opcodes.ASM9, next);
    }

    @Override
    public void visitInsn(int opcode) {
      String array = arrayOf(opcode);
      if (array != null) mark(array, opcode == Opcodes.LASTORE || opcode == Opcodes.DASTORE);
      super.visitInsn(opcode);
    }

    private void mark(String array, boolean isWide) {
      addMark();
      mv.visitInsn(isWide ? Opcodes.DUP2_X2 : Opcodes.DUP_X2);
      mv.visitInsn(isWide ? Opcodes.POP2 : Opcodes.POP);
      mv.visitInsn(Opcodes.DUP2);
      mv.visitMethodInsn(Opcodes.INVOKESTATIC, ARRAYS, "stored", "(" + array + "I)V", false);
      mv.visitInsn(isWide ? Opcodes.DUP2_X2 : Opcodes.DUP2_X1);
      mv.visitInsn(Opcodes.POP2);
    }

    private static String arrayOf(int opcode) {
      return switch (opcode) {
        case Opcodes.IASTORE -> "[I";
        case Opcodes.LASTORE -> "[J";
        case Opcodes.FASTORE -> "[F";
        case Opcodes.DASTORE -> "[D";
        case Opcodes.AASTORE -> "[Ljava/lang/Object;";
        case Opcodes.BASTORE -> "Ljava/lang/Object;";
        case Opcodes.CASTORE -> "[C";
        case Opcodes.SASTORE -> "[S";
        default -> null;
      };
    }
  }
}
