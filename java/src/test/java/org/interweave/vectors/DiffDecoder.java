package org.interweave.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.interweave.InterweaveException;
import org.interweave.diff.CopiedBlock;
import org.interweave.diff.Copy;
import org.interweave.diff.Diff;
import org.interweave.diff.Run;
import org.interweave.diff.Section;
import org.interweave.diff.UnitPlacing;

/** The meaning of a diff: its sections, and the blocks after it is applied. */
final class DiffDecoder {
  private DiffDecoder() {}

  static Decoders.Decoded decode(Vector vector) {
    byte[] bytes = vector.bytes();
    Diff diff = new Diff(bytes);
    Copy copy = diff.isMetadataOnly() ? described(bytes) : applied(vector, bytes);
    Map<String, Object> meaning = new LinkedHashMap<>();
    meaning.put("metadata_only", diff.isMetadataOnly());
    meaning.put("from", Shown.unsigned(diff.from()));
    meaning.put("to", Shown.unsigned(diff.to()));
    if (diff.has(Section.TYPES)) {
      meaning.put("types", diff.types().stream()
          .map(type -> Map.of("serial", type.serial(), "name", type.name())).toList());
    }
    if (diff.has(Section.SLOTS)) meaning.put("slots", Shown.value(diff.slots()));
    if (diff.has(Section.FREED)) meaning.put("freed", diff.freed());
    if (diff.has(Section.LIVE)) {
      meaning.put("live", diff.live().stream()
          .map(range -> List.of(range.first(), range.end() - range.first())).toList());
    }
    if (diff.has(Section.BLOCKS)) meaning.put("blocks", newBlocks(diff));
    if (diff.has(Section.CHANGES)) meaning.put("changes", changes(diff, copy));
    if (!diff.isMetadataOnly()) meaning.put("after", blocks(copy));
    return new Decoders.Decoded(meaning, null);
  }

  /** A diff that is refused has changed nothing [DIFF-1]. */
  private static Copy applied(Vector vector, byte[] bytes) {
    Copy copy = vector.copy();
    try {
      copy.apply(bytes);
    } catch (InterweaveException refused) {
      assertEquals(blocks(vector.copy()), blocks(copy));
      assertEquals(vector.copy().slots(), copy.slots());
      assertEquals(vector.copy().types().nextSerial(), copy.types().nextSerial());
      throw refused;
    }
    return copy;
  }

  /** Described blocks are no version: they make a copy of their own. */
  private static Copy described(byte[] bytes) {
    byte[] whole = bytes.clone();
    whole[4] = 0;
    Copy copy = new Copy(1L << 40);
    copy.apply(whole);
    return copy;
  }

  private static List<Object> newBlocks(Diff diff) {
    List<Object> shown = new ArrayList<>();
    Diff.Blocks blocks = diff.newBlocks();
    for (Diff.NewBlock block = blocks.next(); block != null; block = blocks.next()) {
      shown.add(
          Map.of(
              "serial", block.serial(),
              "type", block.typeSerial(),
              "count", Shown.unsigned(block.count()),
              "name", block.name()));
    }
    return shown;
  }

  private static List<Object> changes(Diff diff, Copy copy) {
    List<Object> shown = new ArrayList<>();
    Diff.Changes changes = diff.changes();
    for (Diff.Change change = changes.next(); change != null; change = changes.next()) {
      CopiedBlock block = copy.block(change.serial());
      shown.add(Map.of("serial", change.serial(), "runs", runs(block, change)));
    }
    return shown;
  }

  private static List<Object> runs(CopiedBlock block, Diff.Change change) {
    List<Object> shown = new ArrayList<>();
    Run run = Run.next(block.units(), 0, change.runs());
    while (run != null) {
      CopiedBlock alone = new CopiedBlock(1, block.type, block.count, "");
      UnitPlacing placing = new UnitPlacing(change.runs(), alone.memory());
      alone.plan().walk(run.first(), run.count(), 0, placing);
      List<Object> values = new Units(alone).values();
      Object own = new ArrayList<>(values.subList((int) run.first(), (int) run.end()));
      shown.add(Map.of("unit", run.first(), "values", own));
      run = Run.next(block.units(), run.end(), change.runs());
    }
    return shown;
  }

  private static List<Object> blocks(Copy copy) {
    List<Object> shown = new ArrayList<>();
    copy.blocks().stream()
        .sorted(Comparator.comparingLong(block -> block.serial))
        .forEach(
            block ->
                shown.add(
                    Map.of(
                        "serial", block.serial,
                        "type", block.type.serial(),
                        "count", (long) block.count,
                        "name", block.name,
                        "slots", Shown.hex(new Units(block).slotForm()))));
    return shown;
  }
}
