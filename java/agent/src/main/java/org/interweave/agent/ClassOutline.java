package org.interweave.agent;

import java.util.LinkedHashMap;
import java.util.Map;
import org.objectweb.asm.AnnotationVisitor;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.Opcodes;

/** A class's superclass, and its instance fields: those with an IW_Field have its order. */
record ClassOutline(String above, Map<String, Integer> fields) {
  private static final String SHARED_FIELD = "Lorg/interweave/IW_Field;";

  static ClassOutline of(ClassReader reader) {
    Map<String, Integer> fields = new LinkedHashMap<>();
    reader.accept(
        new Fields(fields),
        ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
    return new ClassOutline(reader.getSuperName(), fields);
  }

  boolean declares(String field) {
    return fields.containsKey(field);
  }

  int order(String field) {
    return fields.get(field);
  }

  /** How many fields the class file has before this one. */
  int position(String field) {
    int before = 0;
    for (String each : fields.keySet()) {
      if (each.equals(field)) break;
      ++before;
    }
    return before;
  }

  private static final class Fields extends ClassVisitor {
    private final Map<String, Integer> fields;

    Fields(Map<String, Integer> fields) {
      super(Opcodes.ASM9);
      this.fields = fields;
    }

    @Override
    public FieldVisitor visitField(int access, String name, String type, String generic, Object v) {
      if ((access & Opcodes.ACC_STATIC) != 0) return null;
      String field = name + type;
      fields.put(field, Ancestry.NOT_SHARED);
      return new FieldVisitor(Opcodes.ASM9) {
        @Override
        public AnnotationVisitor visitAnnotation(String annotation, boolean isVisible) {
          return annotation.equals(SHARED_FIELD) ? new Order(fields, field) : null;
        }
      };
    }
  }

  private static final class Order extends AnnotationVisitor {
    private final Map<String, Integer> fields;
    private final String field;

    Order(Map<String, Integer> fields, String field) {
      super(Opcodes.ASM9);
      this.fields = fields;
      this.field = field;
    }

    @Override
    public void visit(String name, Object value) {
      if (name.equals("order")) fields.put(field, (Integer) value);
    }
  }
}
