package org.interweave;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.interweave.Interface.Error;

/**
 * The shared fields of a class that no compiler made, by reflection: those with an {@link
 * IW_Field}, in its order. They lie in memory as C lays a struct out.
 */
final class HandWritten {
  /** What a field's type is on the wire, how it lies in memory, and how it is carried. */
  private record Kind(String word, long size, int align, Carrying carrying) {}

  private interface Carrying {
    Object carry(IW_Memory memory, Shared field, Object value);
  }

  private record Shared(Field field, Kind kind, int at, int bound, int length) {
    Class<?> element() {
      return field.getType().getComponentType();
    }
  }

  private static final int POINTER_BYTES = 16;
  private static final int POINTER_ALIGN = 8;
  private static final Map<Class<?>, Kind> NUMBERS = new HashMap<>();
  private static final ClassValue<HandWritten> KNOWN =
      new ClassValue<>() {
        @Override
        protected HandWritten computeValue(Class<?> type) {
          return new HandWritten(type);
        }
      };

  static {
    NUMBERS.put(byte.class, new Kind("char", 1, 1, (m, f, v) -> m.i8(f.at, (Byte) v)));
    NUMBERS.put(short.class, new Kind("short", 2, 2, (m, f, v) -> m.i16(f.at, (Short) v)));
    NUMBERS.put(int.class, new Kind("int", 4, 4, (m, f, v) -> m.i32(f.at, (Integer) v)));
    NUMBERS.put(long.class, new Kind("hyper", 8, 8, (m, f, v) -> m.i64(f.at, (Long) v)));
    NUMBERS.put(float.class, new Kind("float", 4, 4, (m, f, v) -> m.f32(f.at, (Float) v)));
    NUMBERS.put(double.class, new Kind("double", 8, 8, (m, f, v) -> m.f64(f.at, (Double) v)));
    NUMBERS.put(boolean.class, new Kind("bool", 4, 4, (m, f, v) -> m.bool(f.at, (Boolean) v)));
  }

  private final List<Shared> fields = new ArrayList<>();
  /** Classes that pointers lead to. */
  private final List<Class<?>> targets = new ArrayList<>();

  static HandWritten of(Class<?> type) {
    return KNOWN.get(type);
  }

  private HandWritten(Class<?> type) {
    checkMakeable(type);
    long end = 0;
    for (Field each : inOrder(type)) {
      IW_Field said = each.getAnnotation(IW_Field.class);
      checkNumbers(each, said);
      Kind kind = kindOf(each, said);
      long at = (end + kind.align - 1) / kind.align * kind.align;
      end = at + kind.size;
      if (end > Integer.MAX_VALUE) {
        throw wrong(each, "ends beyond " + Integer.MAX_VALUE + " bytes; make its length smaller");
      }
      fields.add(new Shared(each, kind, (int) at, (int) said.bound(), said.length()));
    }
  }

  /** No array of Java is longer than an int says. */
  private static void checkNumbers(Field field, IW_Field said) {
    if (said.bound() < 0 || said.bound() > Integer.MAX_VALUE) {
      throw wrong(
          field, "has bound " + said.bound() + "; write one from 0 to " + Integer.MAX_VALUE);
    }
    if (said.length() < 0) throw wrong(field, "has length " + said.length() + "; write 0 or more");
  }

  private static void checkMakeable(Class<?> type) {
    String missing = missing(type);
    if (missing == null) return;
    throw InterweaveException.of(
        Error.BAD_ARGUMENT, type.getName() + " cannot be shared: " + missing);
  }

  private static String missing(Class<?> type) {
    if (!Modifier.isPublic(type.getModifiers())) return "it is not public";
    if (Modifier.isAbstract(type.getModifiers())) return "it is abstract";
    try {
      type.getConstructor(IW_Place.class);
      return null;
    } catch (NoSuchMethodException none) {
      return "it has no public constructor (IW_Place)";
    }
  }

  private static Field[] inOrder(Class<?> type) {
    List<Field> shared = new ArrayList<>();
    for (Field each : type.getFields()) {
      if (each.isAnnotationPresent(IW_Field.class)) shared.add(each);
    }
    if (shared.isEmpty()) {
      throw InterweaveException.of(
          Error.BAD_ARGUMENT, type.getName() + " cannot be shared: no field has an IW_Field");
    }
    Field[] ordered = new Field[shared.size()];
    for (Field each : shared) {
      int order = each.getAnnotation(IW_Field.class).order();
      if (order < 0 || order >= ordered.length || ordered[order] != null) {
        throw wrong(each, "has order " + order + "; number the fields from 0 on, each once");
      }
      if ((each.getModifiers() & (Modifier.STATIC | Modifier.FINAL)) != 0) {
        throw wrong(each, "is static or final");
      }
      ordered[order] = each;
    }
    return ordered;
  }

  private static InterweaveException wrong(Field field, String what) {
    return InterweaveException.of(
        Error.BAD_ARGUMENT,
        "the field " + field.getDeclaringClass().getName() + "." + field.getName() + " " + what);
  }

  // ---- kinds of fields ----

  private Kind kindOf(Field field, IW_Field said) {
    Class<?> type = field.getType();
    Kind number = NUMBERS.get(type);
    if (number != null) return number;
    if (type == String.class) return string(said.bound());
    if (type == IW_Ref.class) {
      return pointing("*void", (m, f, v) -> m.pointer(f.at, (IW_Ref) v));
    }
    if (IW_Object.class.isAssignableFrom(type)) {
      return pointing(pointerTo(type), HandWritten::reference);
    }
    if (!type.isArray()) throw wrong(field, "is of " + type.getName() + ", which is not shared");
    return said.length() > 0
        ? array(field, type.getComponentType(), said)
        : sequence(field, type.getComponentType(), said.bound());
  }

  private String pointerTo(Class<?> type) {
    targets.add(type);
    return "*" + IW_Types.nameOf(type);
  }

  private static Kind pointing(String word, Carrying carrying) {
    return new Kind(word, POINTER_BYTES, POINTER_ALIGN, carrying);
  }

  private static Kind string(long bound) {
    if (bound == 0) return pointing("$$0", (m, f, v) -> m.text(f.at, (String) v));
    return new Kind(
        "$" + bound, bound, 1, (m, f, v) -> m.string(f.at, f.bound, (String) v));
  }

  private Kind array(Field field, Class<?> element, IW_Field said) {
    Kind one;
    Carrying carrying;
    if (NUMBERS.containsKey(element)) {
      one = NUMBERS.get(element);
      carrying = (m, f, v) -> m.anyRow(f.at, f.length, v, f.element());
    } else if (element == String.class) {
      one = string(said.bound());
      carrying = HandWritten::strings;
    } else if (IW_Object.class.isAssignableFrom(element)) {
      one = pointing(pointerTo(element), null);
      carrying = HandWritten::references;
    } else {
      throw wrong(field, "is an array of " + element.getName() + ", which is not shared");
    }
    String word = "[" + said.length() + "]" + one.word;
    return new Kind(word, said.length() * one.size, one.align, carrying);
  }

  private Kind sequence(Field field, Class<?> element, long bound) {
    Kind number = NUMBERS.get(element);
    if (number != null) {
      return pointing(
          "<" + bound + ">" + number.word, (m, f, v) -> m.anyOwned(f.at, v, f.element()));
    }
    if (IW_Object.class.isAssignableFrom(element)) {
      return pointing("<" + bound + ">" + pointerTo(element), HandWritten::ownedReferences);
    }
    throw wrong(field, "is an array of " + element.getName() + " without a length");
  }

  // ---- carrying ----

  private static Object reference(IW_Memory memory, Shared field, Object value) {
    return memory.reference(
        field.at, (IW_Object) value, field.field.getType().asSubclass(IW_Object.class));
  }

  private static Object references(IW_Memory memory, Shared field, Object value) {
    return memory.references(
        field.at, field.length, (IW_Object[]) value, objectsOf(field.element()));
  }

  private static Object ownedReferences(IW_Memory memory, Shared field, Object value) {
    return memory.ownedReferences(field.at, (IW_Object[]) value, objectsOf(field.element()));
  }

  /** The array that comes back is of this class. */
  @SuppressWarnings("unchecked")
  private static Class<IW_Object> objectsOf(Class<?> element) {
    return (Class<IW_Object>) element;
  }

  private static Object strings(IW_Memory memory, Shared field, Object value) {
    String[] all = (String[]) value;
    return field.bound == 0
        ? memory.texts(field.at, field.length, all)
        : memory.strings(field.at, field.length, field.bound, all);
  }

  /** As the iw_transfer of a generated class. */
  void carry(IW_Object object, IW_Memory memory) {
    try {
      for (Shared each : fields) {
        Object before = each.field.get(object);
        Object after = each.kind.carrying.carry(memory, each, before);
        // Numbers come in new boxes.
        if (after != before && !(after != null && after.equals(before))) {
          each.field.set(object, after);
        }
      }
    } catch (IllegalAccessException hidden) {
      throw InterweaveException.of(
          Error.BAD_ARGUMENT,
          object.getClass().getName() + " must be public, in an exported package: " + hidden);
    }
  }

  // ---- for IW_Types ----

  List<Class<?>> targets() {
    return targets;
  }

  /** Names and types. */
  String[] words() {
    List<String> words = new ArrayList<>();
    for (Shared each : fields) {
      words.add(each.field.getName());
      words.add(each.kind.word);
    }
    return words.toArray(new String[0]);
  }

  /** Where a field lies. */
  int offset(Field field) {
    for (Shared each : fields) if (each.field.equals(field)) return each.at;
    return -1;
  }
}
