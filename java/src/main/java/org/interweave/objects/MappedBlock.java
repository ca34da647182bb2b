package org.interweave.objects;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.interweave.IW_Object;
import org.interweave.diff.CopiedBlock;
import org.interweave.types.Type;

/**
 * A block and its objects: that of its first byte, and those within. It is the place of the first
 * one, because most blocks have no other.
 */
final class MappedBlock extends CopiedBlock implements Place {
  private record Key(int at, Class<?> type) {}

  /** Null: the program has no objects of the block. */
  ObjectMap map;
  /** Of the block's type, if that has a class. */
  IW_Object first;
  /** Null until there is any, because most blocks have none; the holder alone, or a `Rare`. */
  private Object more;

  private static final class Rare {
    IW_Object holder;
    /** Of elements, by their number; null until there is one. */
    IW_Object[] elements;
    /** Other objects within the block. */
    final Map<Key, IW_Object> others = new HashMap<>();
    /** Where pointers lie that are null in their objects. */
    final Set<Integer> dangling = new HashSet<>();
  }

  MappedBlock(long serial, Type type, long count, String name) {
    super(serial, type, count, name);
  }

  /** Null: the program has no objects of the block. */
  static MappedBlock of(CopiedBlock block) {
    MappedBlock mapped = (MappedBlock) block;
    return mapped.map == null ? null : mapped;
  }

  @Override
  public boolean isMapped() {
    return map != null;
  }

  private Rare known() {
    return more instanceof Rare rare ? rare : null;
  }

  private Rare rare() {
    Rare known = known();
    if (known != null) return known;
    Rare made = new Rare();
    made.holder = (IW_Object) more;
    more = made;
    return made;
  }

  /** Has a field that owns this block, and is loaded with it; null: none has. */
  IW_Object holder() {
    return more instanceof Rare rare ? rare.holder : (IW_Object) more;
  }

  void holder(IW_Object is) {
    Rare rare = known();
    if (rare == null) more = is;
    else rare.holder = is;
  }

  @Override
  public MappedBlock mapped() {
    return this;
  }

  @Override
  public int at() {
    return 0;
  }

  /** The next setter looks whether it may store. */
  @Override
  protected void freed() {
    if (first != null) first.iw_unmark();
    Rare rare = known();
    if (rare == null) return;
    if (rare.elements != null) {
      for (IW_Object each : rare.elements) if (each != null) each.iw_unmark();
    }
    for (IW_Object each : rare.others.values()) each.iw_unmark();
  }

  boolean hasOthers() {
    Rare rare = known();
    return rare != null && (rare.elements != null || !rare.others.isEmpty());
  }

  /** Null: not made yet. */
  IW_Object at(int at, Class<?> type) {
    if (at == 0 && first != null && first.getClass() == type) return first;
    Rare rare = known();
    if (rare == null) return null;
    if (rare.elements != null) {
      int size = (int) this.type.size();
      IW_Object element = at % size == 0 ? rare.elements[at / size] : null;
      if (element != null && element.getClass() == type) return element;
    }
    return rare.others.get(new Key(at, type));
  }

  /**
   * The pointer at a byte leads to no object, or (false) does. True: it is the first to be told of
   * such a pointer.
   */
  boolean dangles(int at, boolean is) {
    if (!is) {
      Rare rare = known();
      if (rare != null) rare.dangling.remove(at);
      return false;
    }
    return rare().dangling.add(at);
  }

  /** Whether the null of a field stands for the pointer at a byte, which leads to no object. */
  boolean isDangling(int at) {
    Rare rare = known();
    return rare != null && rare.dangling.contains(at);
  }

  /** The object of an element, which is of the class (null: there is none); null: not made yet. */
  IW_Object element(int number, Class<? extends IW_Object> type) {
    Rare rare = known();
    IW_Object element = rare == null || rare.elements == null ? null : rare.elements[number];
    if (element != null && element.getClass() == type) return element;
    if (type == null) return number == 0 ? first : null;
    return at(number * (int) this.type.size(), type);
  }

  /** The objects of elements, which are of the class. */
  List<IW_Object> elements(Class<? extends IW_Object> type) {
    if (!hasOthers() || type == null) return first == null ? List.of() : List.of(first);
    List<IW_Object> found = new ArrayList<>(count);
    for (int i = 0; i < count; ++i) {
      IW_Object element = element(i, type);
      if (element != null) found.add(element);
    }
    return found;
  }

  /** Whether the block's objects are elements of the class alone, which has numbers alone. */
  boolean hasNumbersOf(Class<? extends IW_Object> type) {
    Rare rare = known();
    if (first == null || first.getClass() != type || first.iw_direct() != 2) return false;
    return rare == null || rare.others.isEmpty();
  }

  /** The objects of all elements, which are of the class; null: some are not made yet. */
  IW_Object[] all(Class<? extends IW_Object> type) {
    Rare rare = known();
    if (rare == null || rare.elements == null || !rare.others.isEmpty()) return null;
    IW_Object[] all = rare.elements.clone();
    if (first != null) all[0] = first;
    for (IW_Object each : all) if (each == null || each.getClass() != type) return null;
    return all;
  }

  void add(int at, IW_Object object, boolean isFirst) {
    if (isFirst) {
      first = object;
      return;
    }
    int size = (int) this.type.size();
    boolean isElement = count > 1 && at % size == 0;
    if (!isElement || !addElement(at / size, object)) {
      rare().others.put(new Key(at, object.getClass()), object);
    }
  }

  /** False: the element has an object, and this one is of the element's beginning. */
  private boolean addElement(int number, IW_Object object) {
    Rare rare = rare();
    if (rare.elements == null) rare.elements = new IW_Object[count];
    if (rare.elements[number] != null) return false;
    rare.elements[number] = object;
    return true;
  }

  /** The unit that begins at a byte; -1: it is in an arm of a union. */
  long unitAt(int at) {
    Type type = this.type;
    long unit = at / type.size() * type.units();
    long rest = at % type.size();
    while (rest > 0) {
      if (type.element() != null) {
        type = type.element();
        unit += rest / type.size() * type.units();
        rest %= type.size();
        continue;
      }
      Type.Member found = null;
      for (Type.Member field : type.fields()) {
        if (field.at() <= rest) found = field;
      }
      if (found == null) return -1;
      unit += found.unit();
      rest -= found.at();
      type = found.type();
    }
    return unit;
  }
}
