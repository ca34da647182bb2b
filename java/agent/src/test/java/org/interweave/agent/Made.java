package org.interweave.agent;

import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Class files that javac does not make. */
final class Made implements Opcodes {
  static final String NAME = Samples.PACKAGE + "Made";
  /** So many bytes of filling still allow a jump over them, without a mark. */
  static final int LONGEST_JUMP = 32_745;
  /** So many bytes of filling make the method 65,535 bytes long, which is the most. */
  static final int LONGEST_METHOD = 65_517;

  private static final String BODY = Samples.PACKAGE + "Body";

  private Made() {}

  /** A static method `run` that jumps over filling, stores one number, and gives the word. */
  static byte[] filler(int version, int bytes) {
    ClassWriter made = new ClassWriter(ClassWriter.COMPUTE_MAXS);
    made.visit(version, ACC_PUBLIC | ACC_SUPER, NAME, null, "java/lang/Object", null);
    MethodVisitor run = made.visitMethod(ACC_PUBLIC | ACC_STATIC, "run", "()I", null, null);
    run.visitCode();
    run.visitTypeInsn(NEW, BODY);
    run.visitInsn(DUP);
    run.visitMethodInsn(INVOKESPECIAL, BODY, "<init>", "()V", false);
    run.visitVarInsn(ASTORE, 0);
    Label end = new Label();
    if (bytes < LONGEST_METHOD) {
      run.visitVarInsn(ALOAD, 0);
      run.visitJumpInsn(IFNULL, end);
    }
    for (int i = 0; i < bytes; ++i) run.visitInsn(NOP);
    run.visitVarInsn(ALOAD, 0);
    run.visitInsn(ICONST_5);
    run.visitFieldInsn(PUTFIELD, BODY, "i", "I");
    run.visitLabel(end);
    if (version > V1_5 && bytes < LONGEST_METHOD) {
      run.visitFrame(F_FULL, 1, new Object[] {BODY}, 0, new Object[0]);
    }
    run.visitVarInsn(ALOAD, 0);
    run.visitMethodInsn(INVOKEVIRTUAL, BODY, "iw_word", "()I", false);
    run.visitInsn(IRETURN);
    run.visitMaxs(0, 0);
    run.visitEnd();
    made.visitEnd();
    return made.toByteArray();
  }

  /**
   * A constructor that stores into its own field `own` before super(), in both ways of a branch,
   * and adds to it afterwards.
   */
  static byte[] storeBeforeSuper(int version) {
    ClassWriter made = new ClassWriter(ClassWriter.COMPUTE_MAXS);
    made.visit(version, ACC_PUBLIC | ACC_SUPER, NAME, null, BODY, null);
    made.visitField(ACC_PUBLIC, "own", "I", null, null)
        .visitAnnotation("Lorg/interweave/IW_Field;", true)
        .visit("order", 10);
    MethodVisitor init = made.visitMethod(ACC_PUBLIC, "<init>", "(Z)V", null, null);
    init.visitCode();
    Label other = new Label();
    Label end = new Label();
    init.visitVarInsn(ILOAD, 1);
    init.visitJumpInsn(IFEQ, other);
    storeAndCallSuper(init, 10);
    init.visitJumpInsn(GOTO, end);
    init.visitLabel(other);
    frame(init, version, UNINITIALIZED_THIS);
    storeAndCallSuper(init, 20);
    init.visitLabel(end);
    frame(init, version, NAME);
    init.visitVarInsn(ALOAD, 0);
    init.visitInsn(DUP);
    init.visitFieldInsn(GETFIELD, NAME, "own", "I");
    init.visitInsn(ICONST_1);
    init.visitInsn(IADD);
    init.visitFieldInsn(PUTFIELD, NAME, "own", "I");
    init.visitInsn(RETURN);
    init.visitMaxs(0, 0);
    init.visitEnd();
    made.visitEnd();
    return made.toByteArray();
  }

  private static void frame(MethodVisitor init, int version, Object self) {
    if (version <= V1_5) return;
    init.visitFrame(F_FULL, 2, new Object[] {self, INTEGER}, 0, new Object[0]);
  }

  private static void storeAndCallSuper(MethodVisitor init, int value) {
    init.visitVarInsn(ALOAD, 0);
    init.visitIntInsn(BIPUSH, value);
    init.visitFieldInsn(PUTFIELD, NAME, "own", "I");
    init.visitVarInsn(ALOAD, 0);
    init.visitMethodInsn(INVOKESPECIAL, BODY, "<init>", "()V", false);
  }
}
