package org.interweave.diff;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.interweave.wire.ByteWriter;
import org.interweave.wire.protocol.DescriptorCodec.TypeDescriptor;

/** Puts a release's diff together, section by section (spec/format/diff.md). */
final class DiffBuilder {
  private static final Section[] SECTIONS = Section.values();

  private final ByteWriter[] bodies = new ByteWriter[SECTIONS.length];
  private final long[] lastSerials = new long[SECTIONS.length];
  private final Copy copy;

  DiffBuilder(Copy copy) {
    this.copy = copy;
  }

  private ByteWriter body(Section section) {
    int at = section.ordinal();
    if (bodies[at] == null) {
      bodies[at] = section == Section.CHANGES ? copy.takeWriter() : new ByteWriter();
    }
    return bodies[at];
  }

  private ByteWriter serial(Section section, long serial) {
    ByteWriter body = body(section);
    body.zigzag(serial - lastSerials[section.ordinal()]);
    lastSerials[section.ordinal()] = serial;
    return body;
  }

  private static void put(ByteWriter body, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    body.varint(bytes.length);
    body.put(bytes);
  }

  void addType(TypeDescriptor descriptor) {
    body(Section.TYPES).put(TypeDescriptor.CODEC.toBytes(descriptor));
  }

  /** The first has that index; called once. */
  void addSlots(long first, List<String> texts) {
    ByteWriter body = body(Section.SLOTS);
    body.varint(first);
    for (String text : texts) put(body, text);
  }

  void free(long serial) {
    serial(Section.FREED, serial);
  }

  void addBlock(CopiedBlock block) {
    ByteWriter body = serial(Section.BLOCKS, block.serial);
    body.varint(block.type.serial());
    body.varint(block.count);
    put(body, block.name);
  }

  void change(long serial, ByteWriter runs) {
    changes(serial, runs).put(runs);
  }

  /** The same of a writer that stays as it is until `finish`. */
  void changeLent(long serial, ByteWriter runs) {
    changes(serial, runs).lend(runs);
  }

  private ByteWriter changes(long serial, ByteWriter runs) {
    ByteWriter body = serial(Section.CHANGES, serial);
    body.varint(runs.length());
    return body;
  }

  /** The diff from the copy's version to the next; null: nothing changed. */
  byte[] finish() {
    ByteWriter out = new ByteWriter();
    out.put(Diff.MAGIC);
    out.put(0);
    out.varint(copy.version());
    out.varint(copy.version() + 1);
    int headBytes = out.length();
    for (Section section : SECTIONS) {
      ByteWriter body = bodies[section.ordinal()];
      if (body == null) continue;
      out.put(section.tag);
      out.varint(body.length());
      out.lend(body);
    }
    if (out.length() == headBytes) return null;
    byte[] made = out.finish(copy.arrayForDiff(out.length()));
    ByteWriter changes = bodies[Section.CHANGES.ordinal()];
    if (changes != null) copy.keep(changes);
    return made;
  }
}
