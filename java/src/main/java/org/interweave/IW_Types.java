package org.interweave;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.interweave.Interface.Error;

/**
 * The types of an .x file in words, and their classes. Generated text fills and registers it; the
 * library makes a segment's descriptors of it. `*T` is a pointer, `[N]T` an array, {@code <N>T}
 * a sequence, `$N` a string and `$$N` a text; bound 0 means no bound.
 */
public final class IW_Types {
  private static final Map<Class<?>, IW_Types> BY_CLASS = new ConcurrentHashMap<>();
  private static final List<IW_Types> ALL = new CopyOnWriteArrayList<>();

  /** What a definition is. */
  public enum Kind {
    /** Members: names and numbers. */
    ENUMERATION,
    /** Fields: names and types. */
    STRUCTURE,
    /** Name and type of the discriminant; of each arm the name, the type and the values. */
    UNION,
    /** Another type. */
    NAMED
  }

  /**
   * One definition.
   *
   * @param name as in the .x file
   * @param kind what it is
   * @param type the generated class; null if it has none
   * @param words what it consists of
   */
  public record Definition(
      String name, Kind kind, Class<? extends IW_Object> type, List<String> words) {}

  private final Map<String, Definition> definitions = new LinkedHashMap<>();
  private final Map<Class<?>, Definition> classes = new LinkedHashMap<>();

  /** Without definitions. */
  public IW_Types() {}

  private IW_Types add(
      String name, Kind kind, Class<? extends IW_Object> type, String... texts) {
    List<String> words = new ArrayList<>();
    for (String text : texts) words.addAll(List.of(text.split(" ")));
    Definition made = new Definition(name, kind, type, words);
    definitions.put(name, made);
    if (type != null) classes.put(type, made);
    return this;
  }

  /**
   * Adds an enum.
   *
   * @param name as in the .x file
   * @param type null
   * @param members names and numbers
   * @return this
   */
  public IW_Types enumeration(String name, Class<? extends IW_Object> type, String... members) {
    return add(name, Kind.ENUMERATION, type, members);
  }

  /**
   * Adds a struct.
   *
   * @param name as in the .x file
   * @param type its class
   * @param fields names and types
   * @return this
   */
  public IW_Types structure(String name, Class<? extends IW_Object> type, String... fields) {
    return add(name, Kind.STRUCTURE, type, fields);
  }

  /**
   * Adds a union.
   *
   * @param name as in the .x file
   * @param type its class
   * @param arms the discriminant, then the arms
   * @return this
   */
  public IW_Types union(String name, Class<? extends IW_Object> type, String... arms) {
    return add(name, Kind.UNION, type, arms);
  }

  /**
   * Adds a typedef.
   *
   * @param name as in the .x file
   * @param type its class; null if it has none
   * @param target what it stands for
   * @return this
   */
  public IW_Types named(String name, Class<? extends IW_Object> type, String... target) {
    return add(name, Kind.NAMED, type, target);
  }

  /**
   * Makes the types known to the library.
   *
   * @return this
   */
  public IW_Types register() {
    for (Class<?> type : classes.keySet()) BY_CLASS.putIfAbsent(type, this);
    ALL.add(this);
    return this;
  }

  /**
   * Makes a class that was written by hand known to the library, and those that its pointers lead
   * to. Its fields with an {@link IW_Field} are shared, and its type has the class's simple name.
   *
   * @param type a public class with a public constructor (IW_Place)
   */
  public static void reflect(Class<? extends IW_Object> type) {
    if (isKnown(type)) return;
    IW_Types made = new IW_Types();
    made.include(type);
    made.register();
  }

  private static boolean isKnown(Class<?> type) {
    try {
      Class.forName(type.getName(), true, type.getClassLoader());
    } catch (ClassNotFoundException impossible) {
      throw new IllegalStateException(impossible);
    }
    return BY_CLASS.containsKey(type);
  }

  private void include(Class<?> type) {
    if (classes.containsKey(type)) return;
    if (isKnown(type)) {
      for (Definition each : BY_CLASS.get(type).definitions.values()) {
        checkSame(definitions.put(each.name(), each), each);
      }
      return;
    }
    HandWritten fields = HandWritten.of(type);
    String name = nameOf(type);
    Definition before = definitions.get(name);
    structure(name, type.asSubclass(IW_Object.class), fields.words());
    checkSame(before, definitions.get(name));
    for (Class<?> each : fields.targets()) include(each);
  }

  /** Words name types, so a name may not stand for two types. */
  private static void checkSame(Definition before, Definition now) {
    if (before == null) return;
    if (before.kind() == now.kind() && before.words().equals(now.words())) return;
    throw InterweaveException.of(
        Error.BAD_ARGUMENT,
        "two types of the class, and of those that its pointers lead to, are named `" + now.name()
            + "`: rename one");
  }

  /** The name of a class's type, which may be registered later. */
  static String nameOf(Class<?> type) {
    return isKnown(type) ? BY_CLASS.get(type).definition(type).name() : type.getSimpleName();
  }

  /**
   * Where a field of a class that was written by hand lies in memory.
   *
   * @param type the class, which may have inherited the field
   * @param field with an {@link IW_Field}
   * @return in bytes
   */
  public static int offset(Class<?> type, Field field) {
    return HandWritten.of(type).offset(field);
  }

  /** Does nothing but that the caller's class needs this one, which registers the types. */
  public void load() {}

  /**
   * The definition of that name.
   *
   * @param name as in the .x file
   * @return null if there is none
   */
  public Definition definition(String name) {
    return definitions.get(name);
  }

  /**
   * The definition of a class.
   *
   * @param type a generated class
   * @return null if it is not of these types
   */
  public Definition definition(Class<?> type) {
    return classes.get(type);
  }

  /**
   * The types that a class is registered with.
   *
   * @param type a generated class, which registers itself when it is initialised
   * @return null if it is not registered
   */
  public static IW_Types of(Class<?> type) {
    return BY_CLASS.get(type);
  }

  /**
   * How many sets of types are registered; none is ever taken away.
   *
   * @return the number
   */
  public static int count() {
    return ALL.size();
  }

  /**
   * All registered types.
   *
   * @return in the order of their registration
   */
  public static List<IW_Types> all() {
    return List.copyOf(ALL);
  }
}
