package org.interweave.objects;

import java.lang.reflect.Array;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;
import org.interweave.IW_Elements;
import org.interweave.IW_Memory;
import org.interweave.IW_Object;
import org.interweave.IW_Ref;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.diff.CopiedBlock;
import org.interweave.types.Type;
import org.interweave.wire.LittleEndian;
import org.interweave.wire.WirePointer;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;

/**
 * Carries values between the fields of an object and memory, one way or the other. A value is
 * stored only where memory means another: so a string of malformed UTF-8, or a pointer that leads
 * to no object, stays as it is until the program assigns the field.
 */
final class Transfer extends IW_Memory {
  private final ObjectMap map;
  private final boolean isStoring;
  private final byte[] scratch = NumberRow.scratch();
  private MappedBlock mapped;
  private byte[] memory;
  private int base;
  private boolean isChanged;
  private boolean hasArrays;
  private IW_Object carried;
  /** Where the field lies that is carried, for messages. */
  private int field;

  Transfer(ObjectMap map, boolean isStoring) {
    this.map = map;
    this.isStoring = isStoring;
  }

  void begin(byte[] bytes, int at, MappedBlock block) {
    memory = bytes;
    base = at;
    mapped = block;
  }

  /** Carries an object and the parts within it, whose depth is that of embedding. */
  void carry(IW_Object object) {
    carry(object, (Place) object.iw_place());
  }

  /** The same of an object that does not know its place yet. */
  void carry(IW_Object object, Place place) {
    MappedBlock outerBlock = mapped;
    byte[] outerMemory = memory;
    int outerBase = base;
    boolean outerChanged = isChanged;
    boolean outerArrays = hasArrays;
    IW_Object outerObject = carried;
    int outerField = field;
    carried = object;
    isChanged = false;
    hasArrays = false;
    begin(place.mapped().memory, place.at(), place.mapped());
    try {
      object.iw_transfer(this);
      if (isStoring) map.stored(object, isChanged);
    } catch (InterweaveException | ClassCastException | ArrayStoreException wrong) {
      throw InterweaveException.of(
          wrong instanceof InterweaveException known ? known.code() : Error.BAD_VALUE,
          Fields.nameAt(object, field) + ": " + wrong.getMessage());
    } finally {
      if (!isStoring && hasArrays) map.hasArrays(object);
      carried = outerObject;
      field = outerField;
      begin(outerMemory, outerBase, outerBlock);
      isChanged = outerChanged;
      hasArrays = outerArrays;
    }
  }

  /** Before each store. */
  private void change() {
    isChanged = true;
    map.writing().touch(mapped);
  }

  private static InterweaveException bad(String text) {
    return InterweaveException.of(Error.BAD_VALUE, "the field " + text);
  }

  // ---- numbers ----

  @Override
  protected long bits(int at, int width, long value) {
    int place = base + at;
    long there = get(place, width);
    if (!isStoring || same(there, value, width)) return isStoring ? value : there;
    change();
    switch (width) {
      case 1 -> memory[place] = (byte) value;
      case 2 -> LittleEndian.putShort(memory, place, (short) value);
      case 4 -> LittleEndian.putInt(memory, place, (int) value);
      default -> LittleEndian.putLong(memory, place, value);
    }
    return value;
  }

  private static boolean same(long one, long other, int width) {
    return ((one ^ other) << (64 - 8 * width)) == 0;
  }

  private long get(int place, int width) {
    return switch (width) {
      case 1 -> memory[place];
      case 2 -> LittleEndian.getShort(memory, place);
      case 4 -> LittleEndian.getInt(memory, place);
      default -> LittleEndian.getLong(memory, place);
    };
  }

  @Override
  protected Object anyRow(int at, int count, Object value, Class<?> elements) {
    field = at;
    hasArrays = true;
    if (!isStoring) return NumberRow.load(memory, base + at, count, value, elements);
    if (value == null || Array.getLength(value) != count) {
      throw bad("needs an array of length " + count);
    }
    storeRow(mapped, value, base + at, elements);
    return value;
  }

  /**
   * Stores what changed of a row. Of a large block little is kept for that if little changed;
   * otherwise all that follows the first change is stored.
   */
  private void storeRow(CopiedBlock block, Object row, int place, Class<?> elements) {
    int width = NumberRow.width(elements);
    int length = Array.getLength(row);
    for (int first = 0; first < length; first += NumberRow.step(elements)) {
      int bytes = NumberRow.scratched(row, first, scratch, elements);
      int at = place + first * width;
      int begin = NumberRow.mismatch(scratch, 0, bytes, block.memory, at, width);
      if (begin < 0) continue;
      isChanged = true;
      boolean isOne =
          NumberRow.mismatch(scratch, begin + width, bytes, block.memory, at, width) < 0;
      int end = isOne ? begin + width : bytes;
      if (map.writing().touch(block, at + begin, at + end)) {
        NumberRow.store(row, first + begin / width, block.memory, place, elements);
        return;
      }
      System.arraycopy(scratch, begin, block.memory, at + begin, end - begin);
    }
  }

  // ---- owned blocks ----

  private CopiedBlock ownedAt(int at) {
    WirePointer pointer = WirePointer.at(memory, base + at);
    CopiedBlock owned = pointer.isNull() ? null : map.copy().block(pointer.serial());
    if (owned != null) map.of(owned).holder(carried);
    return owned;
  }

  /** The type of the field at a byte, for which generated classes have no word. */
  private Type fieldType(int at) {
    return OwnedField.typeAt(mapped, base + at, memory);
  }

  private CopiedBlock replaceOwned(int at, Type element, long count) {
    change();
    Type field = fieldType(at);
    OwnedField.checkBound(field, count);
    if (count > 0 && map.writing().serialsLeft() <= 0) throw new NoSerials();
    CopiedBlock made = count == 0 ? null : map.writing().allocate(element, count, "");
    // A sequence of structs is resized without being carried; its elements are objects themselves.
    if (made != null && carried != null) map.of(made).holder(carried);
    map.writing().freeOwned(mapped, field, base + at);
    WirePointer pointer = made == null ? WirePointer.NULL : new WirePointer(0, made.serial, 0);
    pointer.put(memory, base + at);
    return made;
  }

  private Type elementType(int at) {
    return map.copy().types().get(fieldType(at).targetSerial());
  }

  @Override
  protected Object anyOwned(int at, Object value, Class<?> elements) {
    field = at;
    hasArrays = true;
    CopiedBlock owned = ownedAt(at);
    int count = owned == null ? 0 : owned.count;
    if (!isStoring) {
      byte[] from = owned == null ? memory : owned.memory;
      return NumberRow.load(from, 0, count, value, elements);
    }
    if (value == null) throw bad("is null; an empty sequence has an array of length 0");
    int length = Array.getLength(value);
    if (length != count) owned = replaceOwned(at, elementType(at), length);
    if (owned != null) storeRow(owned, value, 0, elements);
    return value;
  }

  // ---- strings ----

  private static String decoded(byte[] bytes, int at, int most) {
    int end = at;
    while (end < at + most && bytes[end] != 0) ++end;
    return new String(bytes, at, end - at, StandardCharsets.UTF_8);
  }

  private static byte[] encoded(String value) {
    if (value == null) throw bad("is null; an empty string is \"\"");
    if (value.indexOf('\0') >= 0) throw bad("has a NUL in its string");
    return value.getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public String string(int at, int bound, String value) {
    field = at;
    String there = decoded(memory, base + at, bound);
    if (!isStoring || there.equals(value)) return isStoring ? value : there;
    byte[] bytes = encoded(value);
    if (bytes.length > bound) {
      throw bad("holds " + bound + " bytes, the string has " + bytes.length);
    }
    change();
    System.arraycopy(bytes, 0, memory, base + at, bytes.length);
    Arrays.fill(memory, base + at + bytes.length, base + at + bound, (byte) 0);
    return value;
  }

  @Override
  public String text(int at, String value) {
    field = at;
    CopiedBlock owned = ownedAt(at);
    String there = owned == null ? null : decoded(owned.memory, 0, owned.memory.length);
    if (!isStoring || Objects.equals(there, value)) return isStoring ? value : there;
    byte[] bytes = value == null ? null : encoded(value);
    Type letter = map.copy().types().get(Primitive.CHAR.number);
    CopiedBlock made = replaceOwned(at, letter, bytes == null ? 0 : bytes.length + 1L);
    if (bytes != null) System.arraycopy(bytes, 0, made.memory, 0, bytes.length);
    return value;
  }

  // ---- pointers ----

  @Override
  public <T extends IW_Object> T reference(int at, T value, Class<T> type) {
    field = at;
    WirePointer there = WirePointer.at(memory, base + at);
    if (!isStoring) {
      T found = map.target(there, type);
      boolean dangles = found == null && !there.isNull();
      if (mapped.dangles(base + at, dangles)) map.unmapped();
      if (dangles) map.dangles(carried);
      else if (there.slot() != 0) map.leadsAbroad(carried);
      return found;
    }
    if (value == null) {
      // Where the pointer leads by now is not asked: the program has a null of before.
      if (there.isNull() || mapped.isDangling(base + at)) return null;
      change();
      WirePointer.NULL.put(memory, base + at);
      return null;
    }
    if (!(value.iw_place() instanceof Place place)) {
      throw bad("is an object that is not in a segment");
    }
    mapped.dangles(base + at, false);
    // A field that still leads where memory does may lead to what was freed or closed since.
    long unit = place.at() == 0 ? 0 : place.unit();
    if (isThere(there, place, unit)) return value;
    place.checkLive();
    if (unit < 0) throw bad("leads into an arm of a union, where no pointer can lead");
    put(at, there, new WirePointer(map.slotOf(place.mapped().map.url()), place.serial(), unit));
    return value;
  }

  private boolean isThere(WirePointer there, Place place, long unit) {
    if (there.serial() != place.serial() || there.offset() != unit) return false;
    String own = place.mapped().map.url();
    return own.equals(there.slot() == 0 ? map.url() : urlOf(there.slot()));
  }

  private String urlOf(int slot) {
    return map.neighbours().urlOf(map.copy().slots().get(slot - 1));
  }

  private void put(int at, WirePointer there, WirePointer wanted) {
    if (there.equals(wanted)) return;
    change();
    wanted.put(memory, base + at);
  }

  private Reference referenceAt(WirePointer pointer) {
    if (pointer.isNull()) return null;
    String segment = pointer.slot() == 0 ? "" : urlOf(pointer.slot());
    return new Reference(map, segment, pointer.serial(), pointer.offset());
  }

  @Override
  public IW_Ref pointer(int at, IW_Ref value) {
    field = at;
    WirePointer there = WirePointer.at(memory, base + at);
    Reference known = referenceAt(there);
    if (!isStoring) return known;
    if (Objects.equals(known, value)) return value;
    if (value == null) {
      put(at, there, WirePointer.NULL);
      return null;
    }
    Reference wanted = (Reference) value;
    String segment = wanted.segment().isEmpty() ? wanted.map().url() : wanted.segment();
    put(at, there, new WirePointer(map.slotOf(segment), wanted.block(), wanted.unit()));
    return value;
  }

  @Override
  public IW_Ref ownedPointer(int at, IW_Ref value) {
    field = at;
    Reference known = referenceAt(WirePointer.at(memory, base + at));
    if (isStoring && !Objects.equals(known, value)) {
      throw bad("owns its block, and cannot be assigned");
    }
    return known;
  }

  // ---- parts ----

  @Override
  public void select(int discriminant) {
    if (!isStoring || LittleEndian.getInt(memory, base) == discriminant) return;
    Type type = OwnedField.unionAt(mapped, base, memory);
    change();
    map.writing().freeOwned(mapped, type, base);
    Arrays.fill(memory, base, (int) (base + type.size()), (byte) 0);
    LittleEndian.putInt(memory, base, discriminant);
  }

  @Override
  public <T extends IW_Object> T embedded(int at, T value, Class<T> type) {
    field = at;
    // Its class could not be constructed.
    if (isStoring && value == null && mapped.at(base + at, type) == null) return null;
    T there = map.part(mapped, base + at, type);
    if (isStoring && value != there) throw bad("is part of its object, and stays");
    // An object that is loaded for the first time waits in the queue, and then knows its place.
    if (there != null && (isStoring || there == value)) carry(there);
    return there;
  }

  @Override
  public <T extends IW_Object> IW_Elements<T> elements(
      int at, int count, IW_Elements<T> value, Class<T> type) {
    field = at;
    Elements<T> there = value instanceof Elements<T> own ? own : null;
    if (there == null || there.mapped != mapped || there.at != base + at) {
      if (isStoring) throw bad("is part of its object, and stays");
      int size = (int) map.typeOf(type).size();
      there = new Elements<>(mapped, base + at, count, type, size, null);
    }
    carryElements(there);
    return there;
  }

  private void carryElements(Elements<?> elements) {
    if (elements.mapped == null) return;
    boolean hasAny = elements.mapped.hasOthers() || elements.mapped.first != null;
    for (int i = 0; hasAny && i < elements.count; ++i) {
      IW_Object element = elements.mapped.at(elements.placeOf(i), elements.type);
      if (element != null) carry(element);
    }
  }

  @Override
  public <T extends IW_Object> IW_Elements<T> ownedElements(
      int at, IW_Elements<T> value, Class<T> type) {
    field = at;
    CopiedBlock owned = ownedAt(at);
    if (isStoring) {
      MappedBlock held = value == null ? null : ((Elements<T>) value).mapped;
      if (value == null || (held) != owned) {
        throw bad("owns its elements: resize it, and store into the elements");
      }
      return value;
    }
    Elements<T> known = value instanceof Elements<T> own ? own : null;
    MappedBlock now = owned == null ? null : map.of(owned);
    if (known != null && known.mapped == now) return known;
    int count = owned == null ? 0 : owned.count;
    int size = (int) map.typeOf(type).size();
    Resizer resizer = new Resizer(mapped, base, at);
    return new Elements<>(now, 0, count, type, size, resizer);
  }

  /** Remembers where a sequence lies. */
  private final class Resizer implements Elements.Resizing {
    private final MappedBlock holder;
    private final int begin;
    private final int at;

    Resizer(MappedBlock holder, int begin, int at) {
      this.holder = holder;
      this.begin = begin;
      this.at = at;
    }

    @Override
    public MappedBlock resize(int count) {
      holder.checkWritable();
      map.lockForBlocks();
      try {
        begin(holder.memory, begin, holder);
        CopiedBlock made = replaceOwned(at, elementType(at), count);
        return made == null ? null : map.of(made);
      } finally {
        map.gate().unlock();
      }
    }
  }

  // ---- lists ----

  @SuppressWarnings("unchecked")
  private <T> T[] list(int count, T[] value, Class<T> type) {
    hasArrays = true;
    boolean fits = value != null && value.length == count;
    if (fits && (isStoring || value.getClass().getComponentType() == type)) return value;
    if (isStoring) throw bad("needs an array of length " + count);
    return (T[]) Array.newInstance(type, count);
  }

  @Override
  public <T extends IW_Object> T[] references(int at, int count, T[] value, Class<T> type) {
    field = at;
    T[] list = list(count, value, type);
    for (int i = 0; i < count; ++i) {
      list[i] = reference(at + i * WirePointer.BYTES, list[i], type);
    }
    return list;
  }

  @Override
  public <T extends IW_Object> T[] ownedReferences(int at, T[] value, Class<T> type) {
    field = at;
    CopiedBlock owned = ownedAt(at);
    int count = owned == null ? 0 : owned.count;
    if (isStoring && value == null) throw bad("is null; an empty sequence has length 0");
    if (isStoring && value.length != count) {
      count = value.length;
      owned = replaceOwned(at, elementType(at), count);
    }
    if (owned == null) return list(0, value, type);
    MappedBlock holder = mapped;
    int place = base;
    begin(owned.memory, 0, map.of(owned));
    try {
      return references(0, count, value, type);
    } finally {
      begin(holder.memory, place, holder);
    }
  }

  @Override
  public IW_Ref[] pointers(int at, int count, IW_Ref[] value) {
    IW_Ref[] list = list(count, value, IW_Ref.class);
    for (int i = 0; i < count; ++i) list[i] = pointer(at + i * WirePointer.BYTES, list[i]);
    return list;
  }

  @Override
  public IW_Ref[] ownedPointers(int at, int count, IW_Ref[] value) {
    IW_Ref[] list = list(count, value, IW_Ref.class);
    for (int i = 0; i < count; ++i) list[i] = ownedPointer(at + i * WirePointer.BYTES, list[i]);
    return list;
  }

  @Override
  public String[] strings(int at, int count, int bound, String[] value) {
    String[] list = list(count, value, String.class);
    for (int i = 0; i < count; ++i) list[i] = string(at + i * bound, bound, list[i]);
    return list;
  }

  @Override
  public String[] texts(int at, int count, String[] value) {
    String[] list = list(count, value, String.class);
    for (int i = 0; i < count; ++i) list[i] = text(at + i * WirePointer.BYTES, list[i]);
    return list;
  }
}
