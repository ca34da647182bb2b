package org.interweave.objects;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.interweave.IW_Elements;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Space;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.diff.Changes;
import org.interweave.diff.CopiedBlock;
import org.interweave.diff.Copy;
import org.interweave.swizzle.Spot;
import org.interweave.types.Type;
import org.interweave.wire.WirePointer;

/**
 * The objects of one segment's copy. Asking for an object loads all that it leads to, without
 * recursion. Within a writer's section `flush` stores the objects that differ from memory, and only
 * `flush` stores into mapped memory: so the memory is the pristine copy of every field and row.
 *
 * <p>Not safe for several threads: the holder of the segment's lock uses it alone.
 */
public final class ObjectMap implements IW_Space {
  private final Copy copy;
  private final String url;
  private final Neighbours neighbours;
  private final Classes classes = new Classes();
  private final Map<CopiedBlock, MappedBlock> mapped = new IdentityHashMap<>();
  private final Deque<IW_Object> pending = new ArrayDeque<>();
  /** Of the section under way; threads that share the writer lock put objects there. */
  private final Queue<IW_Object> marked = new ConcurrentLinkedQueue<>();
  /** Stores into arrays leave no mark. */
  private final Set<IW_Object> withArrays = Collections.newSetFromMap(new IdentityHashMap<>());
  private final Transfer loading = new Transfer(this, false);
  private final Transfer storing = new Transfer(this, true);
  /** Null outside of a writer's section. */
  private Changes changes;
  private long unmarkedObjects;
  private long unmappedPointers;

  /** `neighbours` may be null: then pointers to other segments are not references. */
  public ObjectMap(Copy copy, String url, Neighbours neighbours) {
    this.copy = copy;
    this.url = url;
    this.neighbours = neighbours;
  }

  /** Begins or (null) ends a writer's section. */
  public void writeWith(Changes changes) {
    this.changes = changes;
  }

  /** Objects that a flush found changed though no setter was called: stores into public fields. */
  public long unmarkedObjects() {
    return unmarkedObjects;
  }

  /** Pointers that led to no object of the field's class; such a field is null. */
  public long unmappedPointers() {
    return unmappedPointers;
  }

  Copy copy() {
    return copy;
  }

  String url() {
    return url;
  }

  Changes writing() {
    if (changes != null) return changes;
    throw InterweaveException.of(Error.NO_LOCK, url + " is not locked for writing");
  }

  // ---- from memory to objects ----

  /** The object of a block; null if its type has no registered class. */
  public IW_Object object(CopiedBlock block) {
    Class<? extends IW_Object> type = classes.classOf(block.type, copy.types());
    IW_Object found = type == null ? null : object(of(block), 0, type);
    loadPending();
    return found;
  }

  /** The elements of a block. */
  public <T extends IW_Object> IW_Elements<T> elements(CopiedBlock block, Class<T> type) {
    if (classes.classOf(block.type, copy.types()) != type) {
      throw InterweaveException.of(
          Error.UNKNOWN_TYPE, "block " + block.serial + " is not of " + type.getName());
    }
    int size = (int) block.type.size();
    return new Elements<>(of(block), 0, (int) block.count, type, size, null);
  }

  MappedBlock of(CopiedBlock block) {
    MappedBlock found = mapped.get(block);
    if (found != null) return found;
    MappedBlock made = new MappedBlock(this, block);
    mapped.put(block, made);
    return made;
  }

  /** The object at a byte, made if it is not there; `loadPending` loads it. */
  <T extends IW_Object> T object(MappedBlock block, int at, Class<T> type) {
    IW_Object known = block.at(at, type);
    if (known != null) return type.cast(known);
    boolean isElement = classes.classOf(block.block.type, copy.types()) == type;
    // A part is stored by the element that holds it, which must be there, too.
    if (!isElement) {
      Class<? extends IW_Object> whole = classes.classOf(block.block.type, copy.types());
      int element = (int) (at - at % block.block.type.size());
      if (whole != null && block.at(element, whole) == null) object(block, element, whole);
    }
    T made = classes.make(type, new Place(block, at));
    block.add(at, made, at == 0 && isElement);
    pending.add(made);
    return made;
  }

  /** Loads the objects that were made, and those that they lead to. */
  void loadPending() {
    for (IW_Object next = pending.poll(); next != null; next = pending.poll()) {
      loading.carry(next);
    }
  }

  /** Where a pointer leads; null: to no object of the class. */
  <T extends IW_Object> T target(WirePointer pointer, Class<T> type) {
    if (pointer.isNull()) return null;
    String segment = pointer.slot() == 0 ? "" : copy.slots().get(pointer.slot() - 1);
    T found = find(segment, pointer.serial(), pointer.offset(), type);
    if (found == null) ++unmappedPointers;
    return found;
  }

  <T extends IW_Object> T find(String segment, long serial, long unit, Class<T> type) {
    if (!segment.isEmpty()) {
      ObjectMap other = neighbours == null ? null : neighbours.at(segment);
      if (other == null) return null;
      T found = other.find("", serial, unit, type);
      other.loadPending();
      return found;
    }
    CopiedBlock block = copy.block(serial);
    Type wanted = block == null ? null : classes.typeOf(type, copy.types());
    if (wanted == null) return null;
    if (unit == 0 && block.type == wanted) return object(of(block), 0, type);
    Spot spot = Spot.find(block, unit, wanted);
    return spot == null ? null : object(of(block), spot.at(), type);
  }

  Type typeOf(Class<?> type) {
    return classes.typeOf(type, copy.types());
  }

  /** After the copy changed: loads all objects again, and forgets those of freed blocks. */
  public void refresh() {
    mapped.keySet().removeIf(block -> !block.isLive());
    for (MappedBlock each : new ArrayList<>(mapped.values())) loading.carryBlock(each);
    loadPending();
  }

  // ---- from objects to memory ----

  /** A new block for an object that is being constructed. */
  @Override
  public IW_Place allocate(IW_Object object, String name) {
    Type type = declared(object.getClass());
    CopiedBlock block = writing().allocate(type, 1, name == null ? "" : name);
    MappedBlock made = of(block);
    made.first = object;
    loading.begin(block.memory, 0, made);
    object.iw_transfer(loading);
    loadPending();
    return new Place(made, 0);
  }

  /** A new block of `count` elements. */
  public <T extends IW_Object> IW_Elements<T> allocate(Class<T> type, int count, String name) {
    CopiedBlock block = writing().allocate(declared(type), count, name == null ? "" : name);
    return elements(block, type);
  }

  private Type declared(Class<?> type) {
    Type known = classes.typeOf(type, copy.types());
    if (known != null) return known;
    writing().addTypes(classes.missing(type, copy.types()));
    return classes.typeOf(type, copy.types());
  }

  /** Frees an object's block. Its objects throw from now on. */
  public void free(IW_Object object) {
    object.iw_place().checkWritable();
    CopiedBlock block = ((Place) object.iw_place()).mapped().block;
    writing().free(block);
    mapped.remove(block);
  }

  /** Stores what objects hold otherwise than memory does. */
  public void flush() {
    writing();
    if (IW_Object.iw_isTracked()) {
      for (IW_Object each : new ArrayList<>(withArrays)) store(each);
      for (IW_Object next = marked.poll(); next != null; next = marked.poll()) store(next);
      return;
    }
    for (MappedBlock each : new ArrayList<>(mapped.values())) {
      if (each.block.isLive()) storing.carryBlock(each);
    }
    marked.clear();
  }

  private void store(IW_Object object) {
    if (((Place) object.iw_place()).mapped().block.isLive()) storing.carry(object);
  }

  /** The object holds arrays of Java. */
  void hasArrays(IW_Object object) {
    withArrays.add(object);
  }

  /** Called for each object that was stored. */
  void stored(IW_Object object, boolean isChanged) {
    if (isChanged && object.iw_word() == 0) ++unmarkedObjects;
    if (object.iw_word() != 0) object.iw_unmark();
  }

  /** An object has its first mark. */
  void marked(IW_Object object) {
    marked.add(object);
  }

  Class<? extends IW_Object> classOf(Type type) {
    return classes.classOf(type, copy.types());
  }

  /** The slot of a segment's objects, as pointers of this segment name it. */
  int slotOf(ObjectMap other) {
    return other == this ? 0 : writing().slotOf(other.url);
  }
}
