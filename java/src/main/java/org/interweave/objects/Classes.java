package org.interweave.objects;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Types;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.types.Declared;
import org.interweave.types.Interning;
import org.interweave.types.Type;
import org.interweave.types.TypeTable;
import org.interweave.wire.protocol.DescriptorCodec.TypeDescriptor;
import org.interweave.wire.protocol.DescriptorCodec.TypeKind;

/** Which class is which type of one segment: names and structures agree [TYPE-3]. */
final class Classes {
  private final Map<Class<?>, Declared> declared = new HashMap<>();
  private final Map<Class<?>, Type> types = new HashMap<>();
  private final Map<Type, Class<? extends IW_Object>> classes = new HashMap<>();
  private final Map<Class<?>, Constructor<?>> constructors = new HashMap<>();
  /** Cannot be constructed, which was said. */
  private final Set<Class<?>> reported = new HashSet<>();
  /** Could not be constructed when so many sets of types were registered. */
  private final Map<Class<?>, NotMade> unmade = new HashMap<>();
  /** The last answer of `classOf`, because most objects come after others of their class. */
  private Type lastType;
  private Class<? extends IW_Object> lastClass;
  /** How many sets of types were registered when `classes` and `unmade` were filled. */
  private int registered;

  /** A class registers its types when it is initialised. */
  static void initialise(Class<?> type) {
    if (IW_Types.of(type) == null) Index.initialise(type.getName(), type.getClassLoader());
  }

  private Declared declaredAs(Class<?> type) {
    Declared found = declared.get(type);
    if (found != null) return found;
    initialise(type);
    IW_Types words = IW_Types.of(type);
    if (words == null) {
      throw InterweaveException.of(
          Error.UNKNOWN_TYPE,
          type.getName() + " is not registered: generate it with `interweave compile --lang java`");
    }
    found = new Words(words).named(words.definition(type).name());
    declared.put(type, found);
    return found;
  }

  /** The segment's type of a class; null: the segment lacks it. */
  Type typeOf(Class<?> type, TypeTable table) {
    Type known = types.get(type);
    if (known != null && table.get(known.serial()) == known) return known;
    Interning interning = new Interning(table, declaredAs(type));
    if (!interning.missing().isEmpty()) return null;
    Type found = table.get(interning.serial());
    types.put(type, found);
    return found;
  }

  /** What the segment lacks of a class's types. */
  List<TypeDescriptor> missing(Class<?> type, TypeTable table) {
    return new Interning(table, declaredAs(type)).missing();
  }

  /** The class of a segment's type; null if no class is of that type. */
  Class<? extends IW_Object> classOf(Type type, TypeTable table) {
    look();
    if (type == lastType) return lastClass;
    Class<? extends IW_Object> known = classes.get(type);
    if (known == null) {
      known = search(type, table);
      if (known == IW_Object.class && isNamed(type) && Index.load(type.name())) {
        known = search(type, table);
      }
      classes.put(type, known);
    }
    lastType = type;
    lastClass = known == IW_Object.class ? null : known;
    return lastClass;
  }

  /** Forgets earlier results if types were registered since, because the results may differ now. */
  private void look() {
    if (registered == IW_Types.count()) return;
    registered = IW_Types.count();
    classes.clear();
    unmade.clear();
    lastType = null;
  }

  private static boolean isNamed(Type type) {
    return type.kind() != TypeKind.PRIMITIVE && !type.name().isEmpty();
  }

  /** IW_Object stands for: none. */
  private Class<? extends IW_Object> search(Type type, TypeTable table) {
    for (IW_Types words : IW_Types.all()) {
      IW_Types.Definition found = words.definition(type.name());
      if (found == null || found.type() == null) continue;
      if (IW_Types.of(found.type()) != words) continue;
      // A block that stayed through a complete copy has its type of before.
      Type now = typeOf(found.type(), table);
      boolean isIt = now != null && now.serial() == type.serial() && now.isSameAs(type);
      if (isIt) return found.type();
    }
    return IW_Object.class;
  }

  /** The program asks for an object of that class itself. */
  void tryAgain(Class<?> type) {
    unmade.remove(type);
  }

  /**
   * A new object for values that are there; its fields are not loaded yet. A class that cannot be
   * constructed is tried once, because any number of pointers may lead to its objects.
   */
  <T extends IW_Object> T make(Class<T> type, IW_Place place) {
    look();
    NotMade known = unmade.get(type);
    if (known != null) throw known;
    try {
      return construct(type, place);
    } catch (NotMade why) {
      unmade.put(type, why);
      throw why;
    }
  }

  private <T extends IW_Object> T construct(Class<T> type, IW_Place place) {
    try {
      Constructor<?> constructor = constructors.get(type);
      if (constructor == null) {
        constructor = type.getConstructor(IW_Place.class);
        constructors.put(type, constructor);
      }
      return type.cast(constructor.newInstance(place));
    } catch (InvocationTargetException wrong) {
      // A machine that has no memory now may have some later.
      if (wrong.getCause() instanceof VirtualMachineError passing) throw passing;
      throw new NotMade(type, wrong.getCause());
    } catch (ReflectiveOperationException | LinkageError wrong) {
      throw new NotMade(type, wrong);
    }
  }

  /** Says once that objects of a class are missing where pointers lead to them. */
  void report(Class<?> type, NotMade why, Neighbours to) {
    if (!reported.add(type)) return;
    to.warn(
        why.getMessage() + "; fields of that class are null, and releases leave their pointers as"
            + " they are");
  }
}
