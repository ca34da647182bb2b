package org.interweave.objects;

import java.lang.reflect.Array;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.IntPredicate;
import org.interweave.IW_Array;
import org.interweave.IW_Elements;
import org.interweave.IW_Memory;
import org.interweave.IW_Object;
import org.interweave.IW_Ref;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.diff.CopiedBlock;
import org.interweave.diff.Copy;
import org.interweave.diff.Values;
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
  /** The character that stands in a string for bytes that are not UTF-8. */
  private static final char REPLACEMENT = '\uFFFD';

  /** Strings of at most so many letters are carried letter by letter. */
  private static final int SHORT = 16;

  private final ObjectMap map;
  private final boolean isStoring;
  private final byte[] scratch = NumberRow.scratch();
  private MappedBlock mapped;
  private byte[] memory;
  private int base;
  private boolean isChanged;
  private boolean hasArrays;
  private IW_Object carried;
  /** The block that a store was made to last; null when no flush is under way. */
  private MappedBlock touched;
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
    if (carried != null) {
      carryWithin(object, place);
      return;
    }
    try {
      carryOne(object, place);
    } finally {
      carried = null;
    }
  }

  /** While another object is carried. */
  private void carryWithin(IW_Object object, Place place) {
    MappedBlock outerBlock = mapped;
    byte[] outerMemory = memory;
    int outerBase = base;
    boolean outerChanged = isChanged;
    boolean outerArrays = hasArrays;
    IW_Object outerObject = carried;
    int outerField = field;
    try {
      carryOne(object, place);
    } finally {
      carried = outerObject;
      field = outerField;
      begin(outerMemory, outerBase, outerBlock);
      isChanged = outerChanged;
      hasArrays = outerArrays;
    }
  }

  private void carryOne(IW_Object object, Place place) {
    carried = object;
    isChanged = false;
    hasArrays = false;
    MappedBlock block = place.mapped();
    begin(block.memory(), place.at(), block);
    try {
      if (!LittleEndian.isMuch()) object.iw_transfer(this);
      else if (isStoring) store(object);
      else object.iw_load(this, memory, base);
      if (isStoring) map.stored(object, isChanged);
    } catch (InterweaveException | ClassCastException | ArrayStoreException wrong) {
      throw InterweaveException.of(
          wrong instanceof InterweaveException known ? known.code() : Error.BAD_VALUE,
          Fields.nameAt(object, field) + ": " + wrong.getMessage());
    } finally {
      if (!isStoring && hasArrays && !isSetAlone(object)) map.hasArrays(object);
    }
  }

  /** Stores an object. Numbers of a marked one are not compared, because the release does that. */
  private void store(IW_Object object) {
    if (object.iw_word() == 0 || object.iw_direct() == 0) {
      object.iw_transfer(this);
      return;
    }
    change();
    object.iw_store(this, memory, base);
  }

  /** A flush is over: the next one touches each block again. */
  void end() {
    touched = null;
  }

  /** Before each store. */
  private void change() {
    isChanged = true;
    if (touched == mapped) return;
    map.writing().touch(mapped);
    touched = mapped;
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
    if (!isStoring) return loadRow(mapped, base + at, count, value, elements);
    if (value == null || Array.getLength(value) != count) {
      throw bad("needs an array of length " + count);
    }
    if (isSetAlone(carried)) storeMarked(value, base + at, elements);
    else if (base + at > 0 || !replaces(mapped, value, count, elements)) {
      storeRow(mapped, value, base + at, elements, 0, count);
    }
    return value;
  }

  /** Of a large block that an update changed, only what lies where it did. */
  private Object loadRow(
      CopiedBlock block, int at, int count, Object value, Class<?> elements) {
    Copy.Stretch changed = NumberRow.fits(value, count) ? map.changedOf(block) : null;
    int width = NumberRow.width(elements);
    if (changed == null) {
      CopiedBlock.Bytes all = block.bytes(at, at + count * width);
      return NumberRow.load(all.from(), all.at(), count, value, elements);
    }
    int first = Math.max(0, Math.floorDiv(changed.begin() - at, width));
    int end = Math.min(count, Math.floorDiv(changed.end() - at + width - 1, width));
    if (first >= end) return value;
    int begin = at + first * width;
    CopiedBlock.Bytes part = block.bytes(begin, at + end * width);
    int row = part.at() - first * width;
    NumberRow.load(part.from(), row, value, first, end, elements);
    return value;
  }

  /**
   * Whether a row that is all of a block goes into the diff without being compared, because the
   * last releases changed nearly all of it, and a sample says that this one does.
   */
  private boolean replaces(CopiedBlock block, Object row, int count, Class<?> elements) {
    int length = count * NumberRow.width(elements);
    if (length != block.length() || !map.writing().mayReplace(block)) return false;
    CopiedBlock.Bytes now = block.bytes(0, length);
    if (!NumberRow.looksChanged(row, count, now.from(), now.at(), scratch, elements)) {
      map.writing().doubt(block);
      return false;
    }
    isChanged = true;
    // Java has no boolean that is not a value. Numbers may be no members of an enum.
    boolean areGood = elements == boolean.class;
    map.writing().replace(block, new NumberRow.Lent(row, elements), areGood);
    return true;
  }

  private static boolean isSetAlone(IW_Object object) {
    return object instanceof IW_Array row && row.iw_isSetAlone();
  }

  /** Stores what changed of the parts that are marked. */
  private void storeMarked(Object row, int place, Class<?> elements) {
    int length = Array.getLength(row);
    int shift = carried.iw_shift();
    int word = carried.iw_word();
    int parts = (length - 1 >>> shift) + 1;
    boolean isAll = place == 0 && Integer.bitCount(word) >= parts;
    if (isAll && replaces(mapped, row, length, elements)) return;
    for (int part = 0; part < Integer.SIZE && word >>> part != 0; ++part) {
      part += Integer.numberOfTrailingZeros(word >>> part);
      int after = part + Integer.numberOfTrailingZeros(~(word >>> part));
      int end = (int) Math.min(length, (long) after << shift);
      if (part << shift < end) storeRow(mapped, row, place, elements, part << shift, end);
      part = after;
    }
  }

  /**
   * Stores what changed of a row's values `from` up to `until`. Of a large block little is kept for
   * that if little changed; otherwise all that follows the first change is stored.
   */
  private void storeRow(
      CopiedBlock block, Object row, int place, Class<?> elements, int from, int until) {
    int width = NumberRow.width(elements);
    for (int first = from; first < until; first += NumberRow.step(elements)) {
      int bytes = NumberRow.scratched(row, first, until, scratch, elements);
      int at = place + first * width;
      int begin = NumberRow.mismatch(scratch, 0, bytes, block.memory(), at, width);
      if (begin < 0) continue;
      isChanged = true;
      boolean isOne =
          NumberRow.mismatch(scratch, begin + width, bytes, block.memory(), at, width) < 0;
      int end = isOne ? begin + width : bytes;
      if (map.writing().touch(block, at + begin, at + end)) {
        NumberRow.store(row, first + begin / width, until, block.memory(), place, elements);
        return;
      }
      System.arraycopy(scratch, begin, block.memory(), at + begin, end - begin);
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

  private static int countOf(CopiedBlock owned) {
    return owned == null ? 0 : owned.count;
  }

  /** The owned block of a field with so many elements: the one that is there, or another one. */
  private CopiedBlock ofCount(CopiedBlock owned, int at, int count) {
    return count == countOf(owned) ? owned : replaceOwned(at, elementType(at), count);
  }

  private Type elementType(int at) {
    return map.copy().types().get(fieldType(at).targetSerial());
  }

  @Override
  protected Object anyOwned(int at, Object value, Class<?> elements) {
    field = at;
    hasArrays = true;
    CopiedBlock owned = ownedAt(at);
    if (!isStoring) {
      return loadRow(owned == null ? mapped : owned, 0, countOf(owned), value, elements);
    }
    if (value == null) throw bad("is null; an empty sequence has an array of length 0");
    int length = Array.getLength(value);
    owned = ofCount(owned, at, length);
    if (owned != null && !replaces(owned, value, length, elements)) {
      storeRow(owned, value, 0, elements, 0, length);
    }
    return value;
  }

  // ---- strings ----

  private static String decoded(byte[] bytes, int at, int most) {
    int end = Values.endOfString(bytes, at, most);
    return new String(bytes, at, end - at, StandardCharsets.UTF_8);
  }

  /** Decodes a string of few letters, most of which are ASCII. */
  @SuppressWarnings("deprecation") // The constructor makes a letter of each byte.
  private static String shortText(byte[] bytes, int at, int most) {
    int length = 0;
    int all = 0;
    for (; length < most && bytes[at + length] != 0; ++length) all |= bytes[at + length];
    return all < 0 ? decoded(bytes, at, most) : new String(bytes, 0, at, length);
  }

  private static byte[] encoded(String value) {
    if (value == null) throw bad("is null; an empty string is \"\"");
    if (value.indexOf('\0') >= 0) throw bad("has a NUL in its string");
    return value.getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Whether memory means the string whose encoding is given. What was malformed in memory came to
   * the program as U+FFFD; a string without that can only be of memory that has its bytes.
   */
  private static boolean means(byte[] memory, int at, int most, String value, byte[] bytes) {
    int end = at + bytes.length;
    boolean isSame =
        bytes.length <= most
            && Arrays.equals(memory, at, end, bytes, 0, bytes.length)
            && (bytes.length == most || memory[end] == 0);
    if (isSame || value.indexOf(REPLACEMENT) < 0) return isSame;
    return decoded(memory, at, most).equals(value);
  }

  @Override
  public String string(int at, int bound, String value) {
    field = at;
    if (!isStoring) return decoded(memory, base + at, bound);
    byte[] bytes = encoded(value);
    int place = base + at;
    if (means(memory, place, bound, value, bytes)) return value;
    checkBound(bytes, bound);
    change();
    System.arraycopy(bytes, 0, memory, place, bytes.length);
    Arrays.fill(memory, place + bytes.length, place + bound, (byte) 0);
    return value;
  }

  /** Whether a list of strings that is all of a block goes into the diff without a comparison. */
  private boolean replaces(String[] list, int bound) {
    if (list.length < NumberRow.SAMPLED || !map.writing().mayReplace(mapped)) return false;
    IntPredicate isSame =
        index -> means(memory, index * bound, bound, list[index], encoded(list[index]));
    if (!NumberRow.lookChanged(list.length, isSame)) {
      map.writing().doubt(mapped);
      return false;
    }
    map.writing().replace(mapped, (to, at) -> encodeAll(list, bound, to, at), false);
    isChanged = true;
    return true;
  }

  private void encodeAll(String[] list, int bound, byte[] to, int at) {
    for (int i = 0; i < list.length; ++i) encode(list[i], bound, to, at + i * bound);
  }

  /** Puts the bytes of a string at `at` of `to`: those of memory, if memory means the string. */
  private void encode(String value, int bound, byte[] to, int at) {
    if (value != null && value.length() <= Math.min(bound, SHORT) && isAscii(value, to, at)) {
      for (int i = at + value.length(); i < at + bound; ++i) to[i] = 0;
      return;
    }
    byte[] bytes = encoded(value);
    if (value.indexOf(REPLACEMENT) >= 0 && means(memory, at, bound, value, bytes)) {
      System.arraycopy(memory, at, to, at, bound);
      return;
    }
    checkBound(bytes, bound);
    System.arraycopy(bytes, 0, to, at, bytes.length);
    Arrays.fill(to, at + bytes.length, at + bound, (byte) 0);
  }

  /** Puts a short string at `at` of `to`. False: a letter of the string is NUL or not ASCII. */
  private static boolean isAscii(String value, byte[] to, int at) {
    for (int i = 0; i < value.length(); ++i) {
      char letter = value.charAt(i);
      if (letter == 0 || letter >= 0x80) return false;
      to[at + i] = (byte) letter;
    }
    return true;
  }

  private static void checkBound(byte[] bytes, int bound) {
    if (bytes.length <= bound) return;
    throw bad("holds " + bound + " bytes, the string has " + bytes.length);
  }

  @Override
  public String text(int at, String value) {
    field = at;
    CopiedBlock owned = ownedAt(at);
    String there = owned == null ? null : decoded(owned.memory(), 0, owned.length());
    if (!isStoring || Objects.equals(there, value)) return isStoring ? value : there;
    byte[] bytes = value == null ? null : encoded(value);
    Type letter = map.copy().types().get(Primitive.CHAR.number);
    CopiedBlock made = replaceOwned(at, letter, bytes == null ? 0 : bytes.length + 1L);
    if (bytes != null) System.arraycopy(bytes, 0, made.memory(), 0, bytes.length);
    return value;
  }

  // ---- pointers ----

  @Override
  public <T extends IW_Object> T reference(int at, T value, Class<T> type) {
    field = at;
    boolean isOwn = isStoring && value != null && value.iw_place() instanceof MappedBlock;
    if (isOwn && ((MappedBlock) value.iw_place()).map == map) {
      store(at, (MappedBlock) value.iw_place());
      return value;
    }
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

  /** Stores a pointer to the first byte of a block of this segment. Most pointers are such. */
  private void store(int at, MappedBlock block) {
    int place = base + at;
    mapped.dangles(place, false);
    // A field that still leads where memory does may lead to what was freed or closed since.
    if (WirePointer.leadsTo(block.serial, memory, place)) return;
    block.checkLive();
    change();
    new WirePointer(0, block.serial, 0).put(memory, place);
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
      if (value == null || held != owned) {
        throw bad("owns its elements: resize it, and store into the elements");
      }
      return value;
    }
    Elements<T> known = value instanceof Elements<T> own ? own : null;
    MappedBlock now = owned == null ? null : map.of(owned);
    if (known != null && known.mapped == now) return known;
    int size = (int) map.typeOf(type).size();
    Resizer resizer = new Resizer(mapped, base, at);
    return new Elements<>(now, 0, countOf(owned), type, size, resizer);
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
        begin(holder.memory(), begin, holder);
        CopiedBlock made = replaceOwned(at, elementType(at), count);
        return made == null ? null : map.of(made);
      } finally {
        end();
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
    if (isStoring && value == null) throw bad("is null; an empty sequence has length 0");
    if (isStoring) owned = ofCount(owned, at, value.length);
    if (owned == null) return list(0, value, type);
    MappedBlock holder = mapped;
    int place = base;
    begin(owned.memory(), 0, map.of(owned));
    try {
      return references(0, owned.count, value, type);
    } finally {
      begin(holder.memory(), place, holder);
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
    field = at;
    String[] list = list(count, value, String.class);
    boolean isAll = base + at == 0 && (long) count * bound == mapped.length();
    if (isStoring && isAll && replaces(list, bound)) return list;
    if (!isStoring && bound <= SHORT) {
      int place = base + at;
      for (int i = 0; i < count; ++i) list[i] = shortText(memory, place + i * bound, bound);
      return list;
    }
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
