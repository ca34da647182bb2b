package org.interweave.objects;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.interweave.IW_Elements;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Ref;
import org.interweave.IW_Space;
import org.interweave.IW_Types;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.diff.Changes;
import org.interweave.diff.CopiedBlock;
import org.interweave.diff.Copy;
import org.interweave.types.Type;
import org.interweave.wire.LittleEndian;
import org.interweave.wire.WirePointer;
import org.interweave.wire.protocol.DescriptorCodec.TypeKind;

/**
 * The objects of one segment's copy. Asking for an object loads all that it leads to, without
 * recursion. Within a writer's section `flush` stores the objects that differ from memory, and only
 * `flush` stores into mapped memory: so the memory is the pristine copy of every field and row.
 *
 * <p>The gate of the client guards the map. Programs that hold a lock of the segment may ask for
 * objects from several threads.
 */
public final class ObjectMap implements IW_Space {
  private final Copy copy;
  private final String url;
  private final Neighbours neighbours;
  private final ReentrantLock gate;
  private final Classes classes = new Classes();
  /** Wait to be loaded. What they hold until then is neither shown nor stored. */
  private final Deque<IW_Object> pending = new ArrayDeque<>();
  /** Blocks whose objects wait to be loaded again. */
  private final Deque<MappedBlock> pendingBlocks = new ArrayDeque<>();
  /** Other segments, objects of which wait there because pointers of this one lead to them. */
  private final Set<ObjectMap> elsewhere = new LinkedHashSet<>();
  /** Of the section under way; threads that share the writer lock put objects there. */
  private final Marked marked = new Marked();
  /** Stores into arrays leave no mark. */
  private final LiveObjects withArrays = new LiveObjects();
  /** Have pointers that led to no object when they were loaded. */
  private final LiveObjects dangling = new LiveObjects();
  /** Have pointers that led into other segments when they were loaded. */
  private final LiveObjects abroad = new LiveObjects();
  private final Transfer loading = new Transfer(this, false);
  private final Transfer storing = new Transfer(this, true);
  /** While an update is loaded: of large blocks, the bytes within which it changed them. */
  private Map<CopiedBlock, Copy.Stretch> stretches = Map.of();
  private volatile boolean isClosed;
  private volatile boolean isDangling;
  private long unmarkedObjects;
  private long unmappedPointers;

  /** Of a copy of mapped blocks that is as its lock's holder sees it. */
  public ObjectMap(Copy copy, String url, Neighbours neighbours) {
    this.copy = copy;
    this.url = url;
    this.neighbours = neighbours;
    gate = neighbours.gate();
    copy.takeChanged();
    copy.takeStretches();
  }

  /** Makes a class known, be it generated or written by hand; false: it is neither. */
  public static boolean register(Class<?> type) {
    Classes.initialise(type);
    boolean isByHand = IW_Types.of(type) == null && IW_Object.class.isAssignableFrom(type);
    if (isByHand) IW_Types.reflect(type.asSubclass(IW_Object.class));
    return IW_Types.of(type) != null;
  }

  /** The segment was closed. Its objects throw from now on. */
  public void close() {
    isClosed = true;
  }

  void checkOpen() {
    if (!isClosed) return;
    throw InterweaveException.of(Error.NOT_OPEN, url + " was closed; its objects cannot be used");
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

  Neighbours neighbours() {
    return neighbours;
  }

  ReentrantLock gate() {
    return gate;
  }

  Changes writing() {
    Changes section = neighbours.section();
    if (section != null) return section;
    throw InterweaveException.of(
        Error.NO_LOCK,
        url + ": take the writer lock before storing, as in"
            + " try (WriteLock lock = segment.write()) {...}");
  }

  String mip(CopiedBlock block, long unit) {
    String named = block.name.isEmpty() ? Long.toString(block.serial) : block.name;
    return unit == 0 ? url + "#" + named : url + "#" + named + "#" + unit;
  }

  // ---- from memory to objects ----

  /** The object of a block; null if its type has no class. */
  public IW_Object object(CopiedBlock block) {
    return at(block, 0, null);
  }

  /** The object of a class that begins at a unit (of any class: null); null: there is none. */
  public IW_Object at(CopiedBlock block, long unit, Class<?> type) {
    gate.lock();
    try {
      if (type != null) Classes.initialise(type);
      classes.tryAgain(type);
      IW_Object found = locate(block, unit, type);
      loadPending();
      return found;
    } finally {
      gate.unlock();
    }
  }

  /** Whether a block's elements are of a class. */
  public boolean isOf(CopiedBlock block, Class<?> type) {
    gate.lock();
    try {
      Classes.initialise(type);
      return classes.classOf(block.type, copy.types()) == type;
    } finally {
      gate.unlock();
    }
  }

  /** The elements of a block. */
  public <T extends IW_Object> IW_Elements<T> elements(CopiedBlock block, Class<T> type) {
    gate.lock();
    try {
      Classes.initialise(type);
      if (classes.classOf(block.type, copy.types()) != type) {
        throw InterweaveException.of(
            Error.UNKNOWN_TYPE,
            mip(block, 0) + " is not of " + type.getName() + ", but of `" + block.type.name()
                + "`");
      }
      int size = (int) block.type.size();
      return new Elements<>(of(block), 0, block.count, type, size, null);
    } finally {
      gate.unlock();
    }
  }

  MappedBlock of(CopiedBlock block) {
    MappedBlock mapped = (MappedBlock) block;
    mapped.map = this;
    return mapped;
  }

  /** The object at a byte, made if it is not there; `loadPending` loads it. */
  <T extends IW_Object> T object(MappedBlock block, int at, Class<T> type) {
    IW_Object known = block.at(at, type);
    if (known != null) return type.cast(known);
    boolean isFirst = at == 0 && classes.classOf(block.type, copy.types()) == type;
    T made = classes.make(type, isFirst ? block : new Place.Inner(block, at));
    block.add(at, made, isFirst);
    pending.add(made);
    return made;
  }

  /**
   * The object at a unit, and those that hold it, because they store it. A struct within a struct
   * has no object of its own: its values are fields of the object that holds it.
   */
  private IW_Object locate(CopiedBlock block, long unit, Class<?> wanted) {
    if (unit < 0 || unit >= block.units()) return null;
    Type type = block.type;
    int at = (int) (unit / type.units() * type.size());
    long rest = unit % type.units();
    boolean isObject = true;
    while (true) {
      if (isObject) {
        Class<? extends IW_Object> own = classes.classOf(type, copy.types());
        if (own == null) return null;
        IW_Object found = object(of(block), at, own);
        if (rest == 0 && (wanted == null || wanted == own)) return found;
      }
      Type.Member field = null;
      if (type.element() == null) {
        for (Type.Member each : type.fields()) if (each.unit() <= rest) field = each;
        if (field == null) return null;
        at += (int) field.at();
        rest -= field.unit();
        type = field.type();
        isObject = type.kind() == TypeKind.UNION;
      } else {
        type = type.element();
        at += (int) (rest / type.units() * type.size());
        rest %= type.units();
        isObject = type.kind() == TypeKind.UNION || type.kind() == TypeKind.RECORD;
      }
    }
  }

  /**
   * Loads the objects that wait, and those that they lead to, also in other segments. Maps take
   * turns instead of calling one another, so that a list may alternate between them.
   */
  void loadPending() {
    loadOwn();
    while (!elsewhere.isEmpty()) {
      ObjectMap next = elsewhere.iterator().next();
      next.loadOwn();
      elsewhere.remove(next);
      if (next == this) continue;
      elsewhere.addAll(next.elsewhere);
      next.elsewhere.clear();
    }
  }

  /** An object waits until it is loaded, whatever is thrown, because nobody else looks for it. */
  private void loadOwn() {
    for (MappedBlock next = pendingBlocks.peek(); next != null; next = pendingBlocks.peek()) {
      if (next.isLive()) loadElements(next);
      pendingBlocks.poll();
    }
    for (IW_Object next = pending.peek(); next != null; next = pending.peek()) {
      if (!LiveObjects.isFreed(next)) loading.carry(next);
      pending.poll();
    }
  }

  private void loadElements(MappedBlock block) {
    if (!block.hasOthers()) {
      if (block.first != null) loading.carry(block.first);
      return;
    }
    Class<? extends IW_Object> type = classOf(block.type);
    if (LittleEndian.isMuch() && block.hasNumbersOf(type)) {
      loadNumbers(block, type);
      return;
    }
    for (int i = 0; i < block.count; ++i) {
      IW_Object element = block.element(i, type);
      if (element != null) loading.carry(element);
    }
  }

  /** Loads elements with numbers alone; of a large block only those that the update changed. */
  private void loadNumbers(MappedBlock block, Class<? extends IW_Object> type) {
    int size = (int) block.type.size();
    Copy.Stretch changed = changedOf(block);
    int begin = changed == null ? 0 : changed.begin() / size;
    int end = changed == null ? block.count : (changed.end() - 1) / size + 1;
    CopiedBlock.Bytes bytes = block.bytes(begin * size, end * size);
    for (int i = begin; i < end; ++i) {
      IW_Object element = block.element(i, type);
      if (element == null) continue;
      element.iw_load(null, bytes.from(), bytes.at() + (i - begin) * size);
    }
  }

  /** Where a pointer leads; null: to no object of the class. */
  <T extends IW_Object> T target(WirePointer pointer, Class<T> type) {
    if (pointer.isNull()) return null;
    ObjectMap there = pointer.slot() == 0 ? this : neighbour(pointer.slot());
    if (there == null) return null;
    CopiedBlock block = there.copy.block(pointer.serial());
    if (block == null) return null;
    MappedBlock known = MappedBlock.of(block);
    boolean isKnown =
        pointer.offset() == 0
            && known != null
            && known.first != null
            && known.first.getClass() == type;
    IW_Object found = isKnown ? known.first : there.tryLocate(block, pointer.offset(), type);
    if (there != this && !there.pending.isEmpty()) elsewhere.add(there);
    return found == null ? null : type.cast(found);
  }

  /** Null also if the class cannot be constructed, which holds up no other object. */
  private IW_Object tryLocate(CopiedBlock block, long unit, Class<?> type) {
    try {
      return locate(block, unit, type);
    } catch (NotMade why) {
      classes.report(type, why, neighbours);
      return null;
    }
  }

  /** The object of a part; null if its class cannot be constructed. */
  <T extends IW_Object> T part(MappedBlock block, int at, Class<T> type) {
    try {
      return object(block, at, type);
    } catch (NotMade why) {
      classes.report(type, why, neighbours);
      return null;
    }
  }

  private ObjectMap neighbour(int slot) {
    return neighbours.at(copy.slots().get(slot - 1));
  }

  /** `segment` is "" or the URL of another one; null: no such object begins there. */
  <T extends IW_Object> T find(String segment, long serial, long unit, Class<T> type) {
    gate.lock();
    try {
      ObjectMap there = segment.isEmpty() ? this : neighbours.at(segment);
      CopiedBlock block = there == null ? null : there.copy.block(serial);
      if (block == null) return null;
      Classes.initialise(type);
      there.classes.tryAgain(type);
      IW_Object found = there.locate(block, unit, type);
      there.loadPending();
      return found == null ? null : type.cast(found);
    } finally {
      gate.unlock();
    }
  }

  /** A pointer to a unit of a block, to be stored into a field. */
  public IW_Ref reference(CopiedBlock block, long unit) {
    return new Reference(this, "", block.serial, unit);
  }

  Type typeOf(Class<?> type) {
    return classes.typeOf(type, copy.types());
  }

  /** An object has a pointer that led to no object. */
  void dangles(IW_Object object) {
    if (dangling.add(object)) isDangling = true;
  }

  /** An object has a pointer that leads into another segment. */
  void leadsAbroad(IW_Object object) {
    abroad.add(object);
  }

  /** A pointer has begun to lead to no object. */
  void unmapped() {
    ++unmappedPointers;
  }

  /** Whether fields are null that another segment may give a value by now. */
  public boolean isDangling() {
    return isDangling;
  }

  /** Looks again where pointers lead that led to no object. */
  public void lookAgain() {
    gate.lock();
    try {
      pending.addAll(dangling.live());
      dangling.clear();
      isDangling = false;
      loadPending();
    } finally {
      gate.unlock();
    }
  }

  /** Looks again where all pointers into other segments lead, because one of these was closed. */
  public void lookAbroad() {
    gate.lock();
    try {
      pending.addAll(abroad.live());
      abroad.clear();
      lookAgain();
    } finally {
      gate.unlock();
    }
  }

  /** After diffs changed the copy: loads the objects of the changed blocks again. */
  public void refresh() {
    gate.lock();
    try {
      Map<CopiedBlock, Copy.Stretch> changes = copy.takeStretches();
      List<CopiedBlock> changed = copy.takeChanged();
      if (changed == null) {
        reload();
        return;
      }
      // An object that waits has not been loaded by the update before.
      if (pending.isEmpty() && pendingBlocks.isEmpty()) stretches = ofKnownRows(changes, changed);
      for (CopiedBlock each : changed) loadLater(each);
      lookAgain();
    } finally {
      stretches = Map.of();
      gate.unlock();
    }
  }

  /** Where the update under way changed a large block; null: perhaps everywhere. */
  Copy.Stretch changedOf(CopiedBlock block) {
    return stretches.isEmpty() ? null : stretches.get(block);
  }

  /** Without blocks whose holder changed, because its row may be that of another block. */
  private static Map<CopiedBlock, Copy.Stretch> ofKnownRows(
      Map<CopiedBlock, Copy.Stretch> changes, List<CopiedBlock> changed) {
    if (changes.isEmpty()) return changes;
    Set<CopiedBlock> all = new HashSet<>(changed);
    for (CopiedBlock each : changed) {
      MappedBlock known = MappedBlock.of(each);
      IW_Object holder = known == null ? null : known.holder();
      if (holder == null) continue;
      MappedBlock holding = ((Place) holder.iw_place()).mapped();
      if (!holding.isLive() || all.contains(holding)) changes.remove(each);
    }
    return changes;
  }

  private void loadLater(CopiedBlock block) {
    MappedBlock known = MappedBlock.of(block);
    if (known == null || !block.isLive()) return;
    if (known.holder() != null) pending.add(known.holder());
    pendingBlocks.add(known);
  }

  /** The objects of a block's elements, which carry those within. */
  private List<IW_Object> elementsOf(MappedBlock block) {
    return block.elements(block.hasOthers() ? classOf(block.type) : null);
  }

  /** Loads all objects again, as after changes were undone. */
  public void reload() {
    gate.lock();
    try {
      copy.takeChanged();
      copy.takeStretches();
      unmarkAll();
      dangling.clear();
      isDangling = false;
      withArrays.clear();
      abroad.clear();
      for (CopiedBlock each : copy.blocks()) {
        if (each.isMapped()) pendingBlocks.add(MappedBlock.of(each));
      }
      loadPending();
    } finally {
      gate.unlock();
    }
  }

  // ---- from objects to memory ----

  /** Takes the gate, with at least one serial left. */
  void lockForBlocks() {
    gate.lock();
    boolean isReady = false;
    try {
      while (writing().serialsLeft() <= 0) {
        gate.unlock();
        try {
          neighbours.moreSerials();
        } finally {
          gate.lock();
        }
      }
      isReady = true;
    } finally {
      if (!isReady) gate.unlock();
    }
  }

  /** A new block for an object that is being constructed. */
  @Override
  public IW_Place allocate(IW_Object object, String name) {
    lockForBlocks();
    try {
      Type type = declared(object.getClass());
      MappedBlock made = of(writing().allocate(type, 1, name == null ? "" : name));
      boolean isDone = false;
      try {
        made.first = object;
        loading.carry(object, made);
        loadPending();
        isDone = true;
        return made;
      } finally {
        // The constructor throws, and nobody has the object.
        if (!isDone) writing().free(made);
      }
    } finally {
      gate.unlock();
    }
  }

  /** A new block of `count` elements. */
  public <T extends IW_Object> IW_Elements<T> allocate(Class<T> type, int count, String name) {
    lockForBlocks();
    try {
      Type declared = declared(type);
      return elements(writing().allocate(declared, count, name == null ? "" : name), type);
    } finally {
      gate.unlock();
    }
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
    MappedBlock mapped = ((Place) object.iw_place()).mapped();
    if (mapped.map != this) {
      throw InterweaveException.of(
          Error.BAD_ARGUMENT, object.iw_mip() + " is not in " + url);
    }
    gate.lock();
    try {
      writing().free(mapped);
    } finally {
      gate.unlock();
    }
  }

  /**
   * Stores what objects hold otherwise than memory does. After NoSerials the flush may be repeated.
   */
  public void flush() {
    gate.lock();
    try {
      writing().compareArrays();
      loadPending();
      if (IW_Object.iw_isTracked()) flushMarked();
      else flushAll();
    } finally {
      storing.end();
      gate.unlock();
    }
  }

  private void flushMarked() {
    for (IW_Object each : withArrays.live()) storing.carry(each);
    List<IW_Object> taken = marked.take();
    int done = 0;
    try {
      while (done < taken.size()) done = flushMarked(taken, done);
    } finally {
      if (done < taken.size()) marked.back(taken, done);
      else marked.reuse(taken);
    }
  }

  /** Stores the object number `at`, or all objects of its block. Returns the next number. */
  private int flushMarked(List<IW_Object> all, int at) {
    IW_Object next = all.get(at);
    // A freed one may live again after an undo, and must then be found by its next mark.
    if (LiveObjects.isFreed(next)) {
      next.iw_unmark();
      return at + 1;
    }
    int end = LittleEndian.isMuch() ? WholeElements.replace(all, at, writing()) : at;
    for (int i = at; i < end; ++i) all.get(i).iw_unmark();
    if (end > at) return end;
    storing.carry(next);
    return at + 1;
  }

  private void flushAll() {
    for (CopiedBlock each : new ArrayList<>(copy.blocks())) {
      if (!each.isMapped() || !each.isLive()) continue;
      for (IW_Object element : elementsOf(MappedBlock.of(each))) storing.carry(element);
    }
    unmarkAll();
  }

  /** Whatever leaves the queue has no mark: a mark that is left would hide the next store. */
  private void unmarkAll() {
    for (IW_Object next : marked.take()) next.iw_unmark();
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
  int slotOf(String segment) {
    return segment.equals(url) ? 0 : writing().slotOf(neighbours.slotOf(segment));
  }
}
