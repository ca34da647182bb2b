package org.interweave.diff;

import static org.interweave.InterweaveException.malformed;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.interweave.types.Plan;
import org.interweave.types.TypeTable;
import org.interweave.wire.ByteWriter;
import org.interweave.wire.Cursor;
import org.interweave.wire.LittleEndian;

/**
 * The cached copy of one segment: its types, slot table and blocks. Diffs bring it up to date. A
 * diff is checked whole before anything changes [DIFF-1], so a checked diff cannot fail. A block
 * that a complete copy creates again keeps its place, so that references to it stay valid.
 *
 * <p>Not safe for several threads: the holder of the segment's lock uses it alone.
 */
public final class Copy {
  private TypeTable types = new TypeTable();
  private List<String> slots = new ArrayList<>();
  /** By serial, in the order in which they came. */
  private SerialMap<CopiedBlock> blocks = new SerialMap<>();
  private Map<String, CopiedBlock> names = new HashMap<>();
  private long version;
  /** Blocks that diffs changed since they were taken; null: perhaps all. */
  private List<CopiedBlock> changed;
  /** Which bytes of the large ones among them. */
  private Map<CopiedBlock, Stretch> stretches = new HashMap<>();
  /** Of all blocks in memory. */
  private long bytes;
  private final long maxBytes;
  private final CopiedBlock.Maker maker;
  private final Spares spares = new Spares();
  /** Arrays of large diffs that were sent, and writers of large diffs that are finished. */
  private final SparePair<byte[]> diffArrays = new SparePair<>();
  private final SparePair<ByteWriter> writers = new SparePair<>();
  /** Diffs of releases in which blocks lie. */
  private final List<Late.Room> rooms = new ArrayList<>();
  /** The histories of large blocks without pointers that releases have compared, by serial. */
  private final Map<Long, WholeHistory> histories = new HashMap<>();

  /** The bytes from `begin` up to `end`. */
  public record Stretch(int begin, int end) {
    private Stretch with(Stretch other) {
      if (other == null) return this;
      return new Stretch(Math.min(begin, other.begin), Math.max(end, other.end));
    }
  }

  /** `maxBytes` bounds the memory of all blocks [DIFF-2]. */
  public Copy(long maxBytes) {
    this(maxBytes, CopiedBlock.Plain.MAKER);
  }

  /** `maker` makes all blocks. */
  public Copy(long maxBytes, CopiedBlock.Maker maker) {
    this.maxBytes = maxBytes;
    this.maker = maker;
  }

  public TypeTable types() {
    return types;
  }

  public List<String> slots() {
    return Collections.unmodifiableList(slots);
  }

  /** In the order in which they came. */
  public Collection<CopiedBlock> blocks() {
    return Collections.unmodifiableCollection(blocks);
  }

  /** Null if there is no such block. */
  public CopiedBlock block(long serial) {
    return blocks.get(serial);
  }

  /** Null if there is no such block. */
  public CopiedBlock block(String name) {
    return names.get(name);
  }

  public long version() {
    return version;
  }

  long bytes() {
    return bytes;
  }

  long maxBytes() {
    return maxBytes;
  }

  /** Begins with slots and a version that are known otherwise. */
  public void begin(List<String> knownSlots, long atVersion) {
    slots = new ArrayList<>(knownSlots);
    version = atVersion;
  }

  /** The blocks that diffs have changed since the last call; null: perhaps all. */
  public List<CopiedBlock> takeChanged() {
    List<CopiedBlock> taken = changed;
    changed = new ArrayList<>();
    return taken;
  }

  /**
   * Of the large blocks that diffs have changed since the last call, the bytes within which they
   * did. To be called with `takeChanged`.
   */
  public Map<CopiedBlock, Stretch> takeStretches() {
    Map<CopiedBlock, Stretch> taken = stretches;
    if (!taken.isEmpty()) stretches = new HashMap<>();
    return taken;
  }

  /** Applies a diff. A diff from version 0 replaces everything. */
  public void apply(byte[] received) {
    LittleEndian.carried(received.length);
    Diff diff = new Diff(received);
    if (diff.isMetadataOnly()) throw malformed("a diff of metadata alone makes no version");
    if (diff.from() != 0) {
      commit(diff, new DiffCheck(this, diff), new SerialMap<>());
      return;
    }
    Copy fresh = new Copy(maxBytes, maker);
    fresh.commit(diff, new DiffCheck(fresh, diff), blocks);
    for (CopiedBlock block : blocks) {
      if (fresh.blocks.get(block.serial) == block) continue;
      block.live(false);
      forget(block);
    }
    changed = null;
    types = fresh.types;
    slots = fresh.slots;
    blocks = fresh.blocks;
    names = fresh.names;
    version = fresh.version;
    bytes = fresh.bytes;
  }

  /**
   * What a complete copy of another incarnation lacks of this copy [LOST-2]; null: nothing. Blocks
   * that fields own come and go with their fields, and do not count.
   */
  public String lacking(byte[] complete) {
    if (blocks.isEmpty()) return null;
    SerialMap<DiffCheck.Created> there =
        new DiffCheck(new Copy(maxBytes), new Diff(complete)).created;
    Deque<Long> owned = new ArrayDeque<>();
    for (CopiedBlock block : blocks) {
      block.plan().walk(0, new Ownership(block.memory(), owned));
    }
    Set<Long> unimportant = new HashSet<>(owned);
    for (CopiedBlock block : blocks) {
      DiffCheck.Created found = there.get(block.serial);
      if (unimportant.contains(block.serial) || found != null && found.isLike(block)) continue;
      String how = found == null ? "without block " : "with another block ";
      String named = block.name.isEmpty() ? "" : " (`" + block.name + "`)";
      return "the server came back " + how + block.serial + named + " of version " + version;
    }
    return null;
  }

  /** `places` are the blocks of before, which may be made again. */
  private void commit(Diff diff, DiffCheck checked, SerialMap<CopiedBlock> places) {
    types.append(checked.types);
    slots.addAll(checked.slots);
    for (long serial : checked.freed) remove(serial);
    for (DiffCheck.Created made : checked.created) {
      CopiedBlock place = places.get(made.serial());
      boolean stays = place != null && made.isLike(place);
      if (stays) place.clear();
      CopiedBlock block = stays ? place : made.make(maker);
      add(block);
      changedWithin(block, 0, block.length());
    }
    Diff.Changes changes = diff.changes();
    for (Diff.Change change = changes.next(); change != null; change = changes.next()) {
      CopiedBlock block = blocks.get(change.serial());
      place(block, change.runs());
      if (changed != null) changed.add(block);
    }
    version = diff.to();
  }

  private void changedWithin(CopiedBlock block, long begin, long end) {
    if (changed == null || !block.isLarge()) return;
    stretches.put(block, new Stretch((int) begin, (int) end).with(stretches.get(block)));
  }

  private void place(CopiedBlock block, Cursor runs) {
    Plan plan = block.plan();
    Run run = Run.next(block.units(), 0, runs);
    if (run != null && staysInDiff(block, plan, run, runs)) return;
    UnitPlacing placing = new UnitPlacing(runs, block.memory());
    while (run != null) {
      plan.walk(run.first(), run.count(), 0, placing);
      run = Run.next(block.units(), run.end(), runs);
    }
    if (placing.end() > 0) changedWithin(block, placing.begin(), placing.end());
  }

  /**
   * Leaves the only run of a large row of numbers in the diff, if the run is most of the diff. So a
   * block holds a diff of at most twice its size. The row's object is loaded from the diff. Returns
   * whether the run stays there.
   */
  private boolean staysInDiff(CopiedBlock block, Plan plan, Run run, Cursor runs) {
    if (!block.isLarge() || !plan.isRow(block.length())) return false;
    int width = (int) (block.length() / block.units());
    int count = (int) (run.count() * width);
    boolean isMost = count >= CopiedBlock.LARGE && 2L * count >= runs.bytes.length;
    if (!isMost || runs.end() - runs.at() != count) return false;
    int begin = (int) (run.first() * width);
    block.late(new Late(runs.bytes, runs.skip(count), begin, begin + count, null));
    changedWithin(block, begin, begin + count);
    return true;
  }

  public void add(CopiedBlock block) {
    blocks.put(block);
    if (!block.name.isEmpty()) names.put(block.name, block);
    bytes += block.length();
    block.live(true);
  }

  void remove(long serial) {
    CopiedBlock block = blocks.take(serial);
    if (block == null) return;
    if (names.get(block.name) == block) names.remove(block.name);
    bytes -= block.length();
    block.live(false);
    forget(block);
  }

  private void forget(CopiedBlock block) {
    spares.forget(block);
    if (!rooms.isEmpty()) block.memory();
    if (!histories.isEmpty()) histories.remove(block.serial);
  }

  // ---- for Changes ----

  CopiedBlock.Maker maker() {
    return maker;
  }

  Spares spares() {
    return spares;
  }

  /** Returns an empty writer, which has the memory of a kept one if there is one. */
  ByteWriter takeWriter() {
    ByteWriter kept = writers.take(writer -> true);
    return kept == null ? new ByteWriter() : kept;
  }

  /** Keeps a writer whose diff is finished, if it has much memory. */
  void keep(ByteWriter writer) {
    if (writer.room() < CopiedBlock.LARGE) return;
    writer.clear();
    writers.keep(writer);
  }

  /** Returns an array of that length, which may hold anything. */
  byte[] arrayForDiff(int length) {
    byte[] kept = diffArrays.take(array -> array.length == length);
    return kept == null ? new byte[length] : kept;
  }

  SparePair<byte[]> diffArrays() {
    return diffArrays;
  }

  /** Keeps the room of a diff in which blocks lie. Blocks leave rooms of which they need little. */
  void lieIn(Late.Room made) {
    rooms.add(made);
    rooms.removeIf(room -> !room.isWorthIt());
  }

  /** A release has found so many units of the block changed. */
  void compared(CopiedBlock block, long units) {
    boolean mayBeWhole = block.isLarge() && block.type.plan().isOfValues;
    if (mayBeWhole) history(block).compared(units, block.units());
  }

  WholeHistory history(CopiedBlock block) {
    WholeHistory known = histories.get(block.serial);
    if (known == null) histories.put(block.serial, known = new WholeHistory());
    return known;
  }

  /** Whether a flush may take the whole block as changed. */
  boolean isRewritten(CopiedBlock block) {
    WholeHistory known = histories.get(block.serial);
    return known != null && known.isWholeNext();
  }

  /** The index of a slot with that text; 0 if there is none. */
  int slotOf(String text) {
    return slots.indexOf(text) + 1;
  }

  void addSlot(String text) {
    slots.add(text);
  }

  void truncateSlots(int count) {
    slots.subList(count, slots.size()).clear();
  }

  void version(long is) {
    version = is;
  }
}
