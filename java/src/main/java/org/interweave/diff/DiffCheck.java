package org.interweave.diff;

import static org.interweave.InterweaveException.malformed;

import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.types.Extent;
import org.interweave.types.Plan;
import org.interweave.types.Type;
import org.interweave.wire.Cursor;
import org.interweave.wire.protocol.DescriptorCodec;
import org.interweave.wire.protocol.DescriptorCodec.TypeDescriptor;

/** The whole check of a diff against the copy that it is for [DIFF-1], and what it found. */
final class DiffCheck {
  private static final int MAX_SLOTS = 65535;
  /** An array of Java has less than 2^31 elements. */
  private static final long MAX_BLOCK_BYTES = Integer.MAX_VALUE - 8;

  /** A block that the diff makes. */
  record Created(long serial, Type type, long count, String name) implements Numbered {
    CopiedBlock make(CopiedBlock.Maker maker) {
      return maker.make(serial, type, count, name);
    }

    boolean isLike(CopiedBlock other) {
      return other.count == count
          && other.name.equals(name)
          && other.type.serial() == type.serial()
          && other.type.isSameAs(type);
    }
  }

  final List<Type> types;
  final List<String> slots;
  final Set<Long> freed;
  final SerialMap<Created> created = new SerialMap<>();
  private final Copy copy;
  private final Diff diff;

  DiffCheck(Copy copy, Diff diff) {
    this.copy = copy;
    this.diff = diff;
    if (diff.from() != copy.version()) {
      throw malformed(
          "the diff is from version " + Long.toUnsignedString(diff.from()) + ", here is version "
              + Long.toUnsignedString(copy.version()));
    }
    types = checkTypes();
    slots = checkSlots();
    List<Diff.Range> live = diff.live();
    freed = live == null ? checkFreed() : outside(live);
    checkBlocks(live);
    checkChanges();
  }

  /** The types that are new; those that are announced again must agree [DIFF-8]. */
  private List<Type> checkTypes() {
    List<TypeDescriptor> announced = diff.types();
    int known = 0;
    for (TypeDescriptor descriptor : announced) {
      if (descriptor.serial() >= copy.types().nextSerial()) continue;
      ++known;
      Type type = copy.types().get(descriptor.serial());
      boolean agrees =
          descriptor.serial() >= DescriptorCodec.FIRST_TYPE_SERIAL
              && type.name().equals(descriptor.name())
              && type.hash() == descriptor.hash();
      if (!agrees) {
        throw malformed("type " + descriptor.serial() + " is announced again as another");
      }
    }
    return copy.types().check(announced.subList(known, announced.size()));
  }

  private List<String> checkSlots() {
    Diff.Slots announced = diff.slots();
    if (announced == null) return List.of();
    List<String> texts = announced.texts();
    long known = copy.slots().size() - (announced.first() - 1);
    if (announced.first() < 1 || known < 0) throw badSlots(announced);
    int again = (int) Math.min(known, texts.size());
    int first = (int) announced.first() - 1;
    if (!texts.subList(0, again).equals(copy.slots().subList(first, first + again))) {
      throw badSlots(announced);
    }
    List<String> added = texts.subList(again, texts.size());
    if (copy.slots().size() + added.size() > MAX_SLOTS) {
      throw new InterweaveException(Error.TOO_LARGE, "more than " + MAX_SLOTS + " slots");
    }
    return added;
  }

  private InterweaveException badSlots(Diff.Slots announced) {
    long next = copy.slots().size() + 1L;
    return malformed("the segment's next slot is " + next + ", not " + announced.first());
  }

  private Set<Long> checkFreed() {
    Set<Long> found = new LinkedHashSet<>();
    for (long serial : diff.freed()) {
      if (copy.block(serial) == null) {
        throw malformed("block " + serial + " is freed, but the copy has no such block");
      }
      if (!found.add(serial)) throw malformed("block " + serial + " is freed twice");
    }
    return found;
  }

  private Set<Long> outside(List<Diff.Range> live) {
    Set<Long> found = new LinkedHashSet<>();
    for (CopiedBlock block : copy.blocks()) {
      if (!isIn(live, block.serial)) found.add(block.serial);
    }
    return found;
  }

  private static boolean isIn(List<Diff.Range> ranges, long serial) {
    int low = 0;
    int high = ranges.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (ranges.get(middle).end() <= serial) low = middle + 1;
      else high = middle;
    }
    return low < ranges.size() && ranges.get(low).first() <= serial;
  }

  private void checkBlocks(List<Diff.Range> live) {
    Set<String> names = new HashSet<>();
    long bytes = copy.bytes();
    for (long serial : freed) bytes -= copy.block(serial).length();
    Diff.Blocks blocks = diff.newBlocks();
    for (Diff.NewBlock block = blocks.next(); block != null; block = blocks.next()) {
      long serial = block.serial();
      Type type = typeOf(block);
      if (copy.block(serial) != null || created.containsSerial(serial)) {
        throw malformed("block " + serial + " is created, but exists");
      }
      if (live != null && !isIn(live, serial)) {
        throw malformed("block " + serial + " is created, but is not listed as live");
      }
      checkName(block.name(), names);
      bytes += checkSize(type, block.count());
      if (bytes > copy.maxBytes()) {
        throw new InterweaveException(
            Error.TOO_LARGE,
            "the copy would take " + bytes + " bytes, " + copy.maxBytes()
                + " are allowed: open the segment with more");
      }
      created.put(new Created(serial, type, block.count(), block.name()));
    }
  }

  private Type typeOf(Diff.NewBlock block) {
    Type type = copy.types().get(block.typeSerial());
    long index = block.typeSerial() - copy.types().nextSerial();
    if (type == null && index >= 0 && index < types.size()) type = types.get((int) index);
    if (type == null) {
      throw malformed("block " + block.serial() + ": no type " + block.typeSerial());
    }
    return type;
  }

  private void checkName(String name, Set<String> names) {
    if (name.isEmpty()) return;
    CopiedBlock holder = copy.block(name);
    boolean isHeld = holder != null && !freed.contains(holder.serial);
    if (!names.add(name) || isHeld) {
      throw new InterweaveException(Error.BAD_NAME, "the name `" + name + "` is taken");
    }
  }

  /** The bytes of a block in memory. */
  static long checkSize(Type type, long count) {
    long units = Extent.times(type.units(), count);
    if (units > Extent.MAX || Extent.times(type.slotBytes(), count) > Extent.MAX) {
      throw new InterweaveException(
          Error.TOO_LARGE, "a block has at most 2^40 units and bytes");
    }
    long bytes = Extent.times(type.size(), count);
    if (bytes > MAX_BLOCK_BYTES || count > Integer.MAX_VALUE) {
      throw new InterweaveException(
          Error.TOO_LARGE,
          "a block of " + count + " elements and " + bytes + " bytes; Java holds less than 2^31 and"
              + " 2 GiB in one");
    }
    return bytes;
  }

  private void checkChanges() {
    SerialSet seen = new SerialSet();
    int slotCount = copy.slots().size() + slots.size();
    Diff.Changes changes = diff.changes();
    for (Diff.Change change = changes.next(); change != null; change = changes.next()) {
      long serial = change.serial();
      if (!seen.add(serial)) {
        throw malformed("block " + serial + " occurs twice in CHANGES");
      }
      Numbered block = blockOf(serial);
      checkRuns(planOf(block), change.runs(), slotCount);
    }
  }

  /** Of this diff, or of the copy. */
  private Numbered blockOf(long serial) {
    Created made = created.get(serial);
    if (made != null) return made;
    CopiedBlock old = freed.contains(serial) ? null : copy.block(serial);
    if (old != null) return old;
    throw malformed("block " + serial + " is changed, but the copy has no such block");
  }

  private static Plan planOf(Numbered block) {
    if (block instanceof Created made) return CopiedBlock.planOf(made.type(), made.count());
    return ((CopiedBlock) block).plan();
  }

  private static void checkRuns(Plan plan, Cursor runs, int slotCount) {
    UnitCheck check = new UnitCheck(runs, slotCount);
    Run run = Run.next(plan.units, 0, runs);
    while (run != null) {
      plan.walk(run.first(), run.count(), 0, check);
      run = Run.next(plan.units, run.end(), runs);
    }
  }
}
