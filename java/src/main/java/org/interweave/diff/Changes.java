package org.interweave.diff;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.types.Type;
import org.interweave.wire.ByteWriter;
import org.interweave.wire.LittleEndian;
import org.interweave.wire.SegmentUrl;
import org.interweave.wire.protocol.DescriptorCodec.TypeDescriptor;

/**
 * The changes that a writer makes to a copy between grant and release. Blocks are compared with
 * their pristine copies, or stretches of large blocks with what was kept of them, and the
 * differences are sent as one diff. They are committed once the server acknowledges them, or undone
 * [COPY-2, COPY-3].
 *
 * <p>A block needs `touch` before the first store to it; otherwise the store is neither sent nor
 * undone. Not safe for several threads.
 */
public final class Changes {
  /** What new blocks are compared with, if they are not larger. */
  private static final byte[] ZEROS = new byte[4096];
  /** Once so much of a block is kept by stretches, the whole is. */
  private static final int MOST_OF_BLOCK = 32;

  private final Copy copy;
  private final List<CopiedBlock> touched = new ArrayList<>();
  /** Blocks of which stretches are kept, and not the whole. */
  private final Map<CopiedBlock, Stretches> parts = new LinkedHashMap<>();
  /** Blocks that get other values in all units. Their memory stays as it is until the commit. */
  private final Map<CopiedBlock, Replacement> replaced = new LinkedHashMap<>();
  /** Those that were freed again are not new any more. */
  private final List<CopiedBlock> created = new ArrayList<>();
  private int createdCount;
  /** Of the block at hand. */
  private ByteWriter runs;
  /** The largest writer whose runs the unfinished diff has borrowed; null: it has none. */
  private ByteWriter lent;
  private final List<CopiedBlock> freed = new ArrayList<>();
  private final long firstType;
  private final int firstSlot;
  /** Serials of the grant that are not used yet: from `nextSerial` up to `endSerial`. */
  private long nextSerial;
  private long endSerial;
  /** The room of the diff that was collected last; null: none was collected, or it is small. */
  private Late.Room room;

  /**
   * The values of a whole block. A row of numbers has a source, and after `put` the diff with the
   * values. Another block has an array, which becomes the block's memory.
   */
  private static final class Replacement implements ByteWriter.Source {
    private final ByteWriter.Source values;
    private byte[] array;
    private int at;

    Replacement(ByteWriter.Source values, byte[] array) {
      this.values = values;
      this.array = array;
    }

    @Override
    public void put(byte[] to, int place) {
      values.put(to, place);
      array = to;
      at = place;
    }

    /** Stores the values into the block's memory, because the block is compared after all. */
    void store(byte[] memory) {
      if (values == null) System.arraycopy(array, 0, memory, 0, memory.length);
      else values.put(memory, 0);
    }
  }

  /** Begins with the serials of the grant. */
  public Changes(Copy copy, long firstSerial, long serialCount) {
    this.copy = copy;
    firstType = copy.types().nextSerial();
    firstSlot = copy.slots().size();
    addSerials(firstSerial, serialCount);
  }

  /** Keeps what the block holds now, before a store to the block. */
  public void touch(CopiedBlock block) {
    if (block.pristine() != null || block.isNew) return;
    byte[] pristine = copy.spares().copyOf(block);
    // Most blocks are small, and a look into a map costs more than all else here.
    boolean isLarge = block.isLarge();
    Stretches kept = isLarge ? parts.remove(block) : null;
    if (kept != null) kept.restore(pristine);
    block.pristine(pristine);
    touched.add(block);
    Replacement other = isLarge ? replaced.remove(block) : null;
    if (other != null) other.store(block.memory());
  }

  /**
   * Keeps what the bytes from `begin` up to `end` hold now, before a store to them alone. Units
   * begin and end there. True: stores to all other bytes may follow, too.
   */
  public boolean touch(CopiedBlock block, int begin, int end) {
    if (block.pristine() != null || block.isNew) return true;
    boolean mayKeep = block.isLarge() && !replaced.containsKey(block);
    if (mayKeep && keeps(block, begin, end)) return false;
    touch(block);
    return true;
  }

  private boolean keeps(CopiedBlock block, int begin, int end) {
    Stretches kept = parts.get(block);
    if (kept == null) parts.put(block, kept = new Stretches());
    boolean isLittle = kept.size() + (end - begin) <= block.length() / MOST_OF_BLOCK;
    return isLittle && kept.keep(block.memory(), begin, end);
  }

  /**
   * Whether `replace` may follow: the block is large and without pointers, and the last releases
   * have changed nearly all of it. A pointer that nobody stored to may lead to a freed block whose
   * place another block has taken [DIFF-9]. An earlier replacement is dropped.
   */
  public boolean mayReplace(CopiedBlock block) {
    if (!block.isLarge()) return false;
    Replacement before = replaced.remove(block);
    if (before != null && before.values == null) copy.spares().keep(block, before.array);
    if (block.pristine() != null || parts.containsKey(block)) return false;
    return copy.isRewritten(block);
  }

  /**
   * Sends all units of the block without comparing them. The source puts all bytes of the block, as
   * they lie in memory. REQUIRES: `mayReplace`; the values of a row stay as they are until the diff
   * is collected. `areGood`: each is a value of its type, whatever the program stored.
   */
  public void replace(CopiedBlock block, ByteWriter.Source values, boolean areGood) {
    if (areGood || block.plan().isRow(block.length())) {
      replaced.put(block, new Replacement(values, null));
      return;
    }
    // The values are checked there. The commit makes the array the block's memory.
    byte[] array = copy.spares().arrayFor(block);
    values.put(array, 0);
    replaced.put(block, new Replacement(null, array));
  }

  /**
   * Begins a flush. Arrays that an earlier flush of the section gave are compared after all: the
   * program may have put a part back since. A source reads the program's values of now.
   */
  public void compareArrays() {
    if (replaced.isEmpty()) return;
    for (Map.Entry<CopiedBlock, Replacement> each : List.copyOf(replaced.entrySet())) {
      if (each.getValue().values == null && each.getKey().isLive()) touch(each.getKey());
    }
  }

  /** Ends the releases that do not compare the block, because a sample has equal values. */
  public void doubt(CopiedBlock block) {
    copy.history(block).doubted();
  }

  /** The serial of the next block. */
  public long firstSerial() {
    return nextSerial;
  }

  /** How many more blocks can be made. */
  public long serialsLeft() {
    return endSerial - nextSerial;
  }

  /** A further range, which replaces the one before. */
  public void addSerials(long first, long count) {
    nextSerial = first;
    endSerial = first + count;
  }

  /** A new block, all zeros; `name` is "" for none. */
  public CopiedBlock allocate(Type type, long count, String name) {
    if (count < 1) {
      throw new InterweaveException(Error.BAD_ARGUMENT, "a block of " + count + " elements");
    }
    checkName(name);
    long bytes = copy.bytes() + DiffCheck.checkSize(type, count);
    if (bytes > copy.maxBytes()) {
      throw new InterweaveException(
          Error.TOO_LARGE,
          "the copy would take " + bytes + " bytes, " + copy.maxBytes()
              + " are allowed: open the segment with more");
    }
    if (serialsLeft() <= 0) {
      throw new InterweaveException(
          Error.INTERNAL, "the lock's block serials are used up, and no more were asked for");
    }
    CopiedBlock block = copy.maker().make(nextSerial++, type, count, name);
    block.isNew = true;
    created.add(block);
    ++createdCount;
    copy.add(block);
    return block;
  }

  private void checkName(String name) {
    if (name.isEmpty()) return;
    if (!SegmentUrl.isBlockName(name)) {
      throw new InterweaveException(
          Error.BAD_NAME,
          "`" + name + "` is not a block's name: at most 255 bytes, no digit first, no '#', no"
              + " control characters");
    }
    if (copy.block(name) != null) {
      throw new InterweaveException(
          Error.BAD_NAME,
          "the name `" + name + "` is taken: ask the lock for that block, or use another name");
    }
  }

  /** Frees a block of the copy, and all blocks that it owns [COPY-4]. */
  public void free(CopiedBlock block) {
    freeAll(new ArrayDeque<>(List.of(block.serial)));
  }

  /** Frees what the value of that type at that place owns, before another value replaces it. */
  public void freeOwned(CopiedBlock block, Type type, int at) {
    Deque<Long> owned = new ArrayDeque<>();
    type.plan().walk(at, new Ownership(block.memory(), owned));
    freeAll(owned);
  }

  /** Not by recursion, because lists of owned blocks may be long. */
  private void freeAll(Deque<Long> serials) {
    for (Long serial = serials.poll(); serial != null; serial = serials.poll()) {
      CopiedBlock block = copy.block(serial);
      if (block == null) continue;
      copy.remove(serial);
      block.freed();
      if (block.isNew) {
        block.isNew = false;
        --createdCount;
      } else {
        freed.add(block);
      }
      block.plan().walk(0, new Ownership(block.memory(), serials));
    }
  }

  /** Types that the segment lacks. */
  public void addTypes(List<TypeDescriptor> descriptors) {
    copy.types().append(copy.types().check(descriptors));
  }

  /** The index of the slot with the text, which is added if it is missing. */
  public int slotOf(String text) {
    int known = copy.slotOf(text);
    if (known > 0) return known;
    copy.addSlot(text);
    return copy.slots().size();
  }

  /** Whether a release would make a version of its own. */
  public boolean areAny() {
    boolean hasLists =
        createdCount > 0
            || !freed.isEmpty()
            || copy.types().nextSerial() > firstType
            || copy.slots().size() > firstSlot;
    if (hasLists) return true;
    for (CopiedBlock block : touched) {
      if (!Arrays.equals(block.memory(), block.pristine())) return true;
    }
    for (CopiedBlock block : replaced.keySet()) if (block.isLive()) return true;
    for (Map.Entry<CopiedBlock, Stretches> each : parts.entrySet()) {
      if (each.getValue().differFrom(each.getKey().memory())) return true;
    }
    return false;
  }

  /** The release's diff; null: nothing changed. A value that is not one of its type: BAD_VALUE. */
  public byte[] collect() {
    DiffBuilder diff = new DiffBuilder(copy);
    runs = copy.takeWriter();
    for (long serial = firstType; serial < copy.types().nextSerial(); ++serial) {
      diff.addType(copy.types().get(serial).descriptor());
    }
    List<String> slots = copy.slots().subList(firstSlot, copy.slots().size());
    if (!slots.isEmpty()) diff.addSlots(firstSlot + 1L, slots);
    for (CopiedBlock block : freed) diff.free(block.serial);
    for (CopiedBlock block : created) if (block.isNew) diff.addBlock(block);
    for (CopiedBlock block : touched) {
      if (block.isLive()) addChange(diff, block, block.pristine());
    }
    for (Map.Entry<CopiedBlock, Stretches> each : parts.entrySet()) {
      if (each.getKey().isLive()) addChange(diff, each.getKey(), each.getValue());
    }
    for (Map.Entry<CopiedBlock, Replacement> each : replaced.entrySet()) {
      if (each.getKey().isLive()) addReplaced(diff, each.getKey(), each.getValue());
    }
    for (CopiedBlock block : created) if (block.isNew) addChange(diff, block, zeros(block));
    byte[] made = diff.finish();
    copy.keep(lent == null ? runs : lent);
    runs = null;
    lent = null;
    room = null;
    if (made == null) return null;
    LittleEndian.carried(made.length);
    if (made.length >= CopiedBlock.LARGE) room = new Late.Room(copy.diffArrays(), made);
    return made;
  }

  private static byte[] zeros(CopiedBlock block) {
    int length = block.length();
    return length <= ZEROS.length ? ZEROS : new byte[length];
  }

  private void addChange(DiffBuilder diff, CopiedBlock block, byte[] pristine) {
    runs.clear();
    long changed = Collecting.changed(block, pristine, runs);
    if (!block.isNew) copy.compared(block, changed);
    if (changed > 0) addRuns(diff, block);
  }

  /** Adds the block's values as one run of all units. */
  private void addReplaced(DiffBuilder diff, CopiedBlock block, Replacement by) {
    runs.clear();
    runs.varint(0);
    runs.varint(block.units());
    if (by.values != null) runs.lend(by, block.length());
    else block.plan().walk(0, new UnitCollecting(by.array, runs));
    addRuns(diff, block);
  }

  private void addRuns(DiffBuilder diff, CopiedBlock block) {
    if (runs.length() < CopiedBlock.LARGE) {
      diff.change(block.serial, runs);
      return;
    }
    diff.changeLent(block.serial, runs);
    if (lent == null || lent.room() < runs.room()) lent = runs;
    runs = new ByteWriter();
  }

  private void addChange(DiffBuilder diff, CopiedBlock block, Stretches kept) {
    runs.clear();
    long changed = Collecting.changed(block, kept, runs);
    copy.compared(block, changed);
    if (changed > 0) addRuns(diff, block);
  }

  /**
   * Makes the changes the version, because the server acknowledged them. `isReturned`: no
   * connection has the collected diff, so its array may serve again.
   */
  public void commit(long version, boolean isReturned) {
    for (CopiedBlock block : touched) copy.spares().keep(block);
    parts.clear();
    for (Map.Entry<CopiedBlock, Replacement> each : replaced.entrySet()) {
      CopiedBlock block = each.getKey();
      Replacement by = each.getValue();
      if (block.isLive()) replace(block, by);
    }
    if (isReturned && room != null) room.isReturned();
    if (room != null && !replaced.isEmpty()) copy.lieIn(room);
    replaced.clear();
    for (CopiedBlock block : created) block.isNew = false;
    copy.version(version);
  }

  private void replace(CopiedBlock block, Replacement by) {
    if (by.values != null) {
      block.late(new Late(by.array, by.at, 0, block.length(), room));
    } else {
      copy.spares().keep(block, block.replace(by.array));
    }
  }

  /** Puts everything back as it was when the lock was granted. */
  public void undo() {
    for (CopiedBlock block : created) if (block.isNew) copy.remove(block.serial);
    for (CopiedBlock block : freed) copy.add(block);
    for (CopiedBlock block : touched) {
      System.arraycopy(block.pristine(), 0, block.memory(), 0, block.length());
      copy.spares().keep(block);
    }
    for (Map.Entry<CopiedBlock, Stretches> each : parts.entrySet()) {
      each.getValue().restore(each.getKey().memory());
    }
    parts.clear();
    replaced.clear();
    copy.types().truncate(firstType);
    copy.truncateSlots(firstSlot);
  }
}
