package org.interweave.diff;

import static org.interweave.InterweaveException.malformed;

import java.util.ArrayList;
import java.util.List;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.wire.Cursor;
import org.interweave.wire.Decoding;
import org.interweave.wire.SegmentUrl;
import org.interweave.wire.WirePointer;
import org.interweave.wire.protocol.DescriptorCodec.TypeDescriptor;
import org.interweave.wire.protocol.SegmentCodec;
import org.interweave.wire.protocol.XdrReader;

/**
 * A diff whose head and sections are sound (spec/format/diff.md). The sections are found first,
 * without copying, and their contents are checked as they are read. `Copy` checks whether blocks
 * exist and runs fit. Allocations are a small multiple of the bytes received [DIFF-2].
 */
public final class Diff {
  static final byte[] MAGIC = {'I', 'W', 'D', '1'};
  static final int METADATA_ONLY = 1;

  private static final Section[] SECTIONS = Section.values();

  /** `name` is "" for a block without a name. */
  public record NewBlock(long serial, long typeSerial, long count, String name) {}

  public record Change(long serial, Cursor runs) {}

  /** The index of the first entry, and the entries. */
  public record Slots(long first, List<String> texts) {}

  /** The serials from `first` on, up to but not including `end`. */
  public record Range(long first, long end) {}

  private final byte[] bytes;
  private final int[] begins = new int[SECTIONS.length];
  private final int[] ends = new int[SECTIONS.length];
  private final boolean isMetadataOnly;
  private final long from;
  private final long to;

  public Diff(byte[] bytes) {
    this.bytes = bytes;
    Cursor cursor = new Cursor(bytes);
    for (byte expected : MAGIC) {
      if (cursor.unsignedByte() != expected) throw malformed("a diff begins with IWD1");
    }
    int flags = cursor.unsignedByte();
    if ((flags & ~METADATA_ONLY) != 0) throw malformed("the diff has unknown flags " + flags);
    isMetadataOnly = flags == METADATA_ONLY;
    from = cursor.varint64();
    to = cursor.varint64();
    if (Long.compareUnsigned(from, to) > 0) throw malformed("a diff that goes back");
    findSections(cursor);
    if (has(Section.FREED) && has(Section.LIVE)) {
      throw malformed("a diff has FREED or LIVE, not both");
    }
    if (isMetadataOnly && has(Section.CHANGES)) {
      throw malformed("a diff of metadata alone has CHANGES");
    }
  }

  private void findSections(Cursor cursor) {
    int last = 0;
    while (!cursor.isAtEnd()) {
      int tag = cursor.unsignedByte();
      if (tag <= last || tag > SECTIONS.length) {
        throw malformed("section " + tag + " after " + last);
      }
      begins[tag - 1] = cursor.skip(cursor.varint());
      ends[tag - 1] = cursor.at();
      last = tag;
    }
  }

  /** The version that the diff applies to. */
  public long from() {
    return from;
  }

  /** The version that it makes. */
  public long to() {
    return to;
  }

  public boolean isMetadataOnly() {
    return isMetadataOnly;
  }

  public boolean has(Section section) {
    return begins[section.ordinal()] > 0;
  }

  private Cursor body(Section section) {
    return new Cursor(bytes, begins[section.ordinal()], ends[section.ordinal()]);
  }

  public List<TypeDescriptor> types() {
    Cursor body = body(Section.TYPES);
    XdrReader r = new XdrReader(bytes, body.at(), body.end());
    List<TypeDescriptor> types = new ArrayList<>();
    while (r.remaining() > 0) types.add(Decoding.next("a type", TypeDescriptor.CODEC, r));
    return types;
  }

  /** Null without such a section. */
  public Slots slots() {
    if (!has(Section.SLOTS)) return null;
    Cursor cursor = body(Section.SLOTS);
    long first = cursor.varint();
    List<String> texts = new ArrayList<>();
    while (!cursor.isAtEnd()) {
      String text = cursor.text(cursor.varint());
      if (text == null || !SegmentUrl.isSlotText(text)) {
        throw malformed("a slot is neither a path nor a URL");
      }
      texts.add(text);
    }
    return new Slots(first, texts);
  }

  public List<Long> freed() {
    Cursor cursor = body(Section.FREED);
    List<Long> freed = new ArrayList<>();
    long serial = 0;
    while (!cursor.isAtEnd()) {
      serial = cursor.serialAfter(serial);
      freed.add(serial);
    }
    return freed;
  }

  /** Ranges that ascend; null without such a section. */
  public List<Range> live() {
    if (!has(Section.LIVE)) return null;
    Cursor cursor = body(Section.LIVE);
    List<Range> live = new ArrayList<>();
    long end = 0;
    while (!cursor.isAtEnd()) {
      // Each term is at most 2^62, so that no sum overflows.
      long first = end + cursor.varint();
      long count = cursor.varint();
      if (first < 1 || count < 1 || first > WirePointer.MAX_SERIAL) throw badRange();
      end = first + count;
      if (end > WirePointer.MAX_SERIAL + 1) throw badRange();
      live.add(new Range(first, end));
    }
    return live;
  }

  private static InterweaveException badRange() {
    return malformed("a range of LIVE has no serials, or serials beyond 48 bits");
  }

  /** The blocks that the diff makes, one after another. */
  public Blocks newBlocks() {
    return new Blocks(body(Section.BLOCKS));
  }

  /** The blocks that the diff changes, one after another. */
  public Changes changes() {
    return new Changes(body(Section.CHANGES));
  }

  public static final class Blocks {
    private final Cursor cursor;
    private long serial;

    private Blocks(Cursor cursor) {
      this.cursor = cursor;
    }

    /** Null at the end. */
    public NewBlock next() {
      if (cursor.isAtEnd()) return null;
      serial = cursor.serialAfter(serial);
      long typeSerial = cursor.varint();
      long count = cursor.varint();
      String name = cursor.text(cursor.varint());
      if (count == 0) throw malformed("block " + serial + " has a count of 0");
      if (name == null || !name.isEmpty() && !SegmentUrl.isBlockName(name)) {
        throw new InterweaveException(
            Error.BAD_NAME,
            "the name of block " + serial + " is not a name: UTF-8, at most "
                + SegmentCodec.MAX_NAME + " bytes, no digit first, no '#', no control characters");
      }
      return new NewBlock(serial, typeSerial, count, name);
    }
  }

  public static final class Changes {
    private final Cursor cursor;
    private long serial;

    private Changes(Cursor cursor) {
      this.cursor = cursor;
    }

    /** Null at the end. */
    public Change next() {
      if (cursor.isAtEnd()) return null;
      serial = cursor.serialAfter(serial);
      return new Change(serial, cursor.take(cursor.varint()));
    }
  }
}
