package org.interweave.client;

import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.interweave.diff.CopiedBlock;
import org.interweave.diff.Ownership;
import org.interweave.types.Type;
import org.interweave.wire.LittleEndian;
import org.interweave.wire.Mip;
import org.interweave.wire.SegmentUrl;
import org.interweave.wire.WirePointer;
import org.interweave.wire.protocol.DescriptorCodec.TypeKind;

/** Values as the runner writes them (conformance/README.md). */
final class Printed {
  private static final long EXACT = 1L << 53;

  private Printed() {}

  /** All blocks of the copy, without those that fields own. */
  static String blocks(Segment segment) {
    segment.checkReadable();
    Map<Long, CopiedBlock> bySerial = new TreeMap<>();
    Set<Long> owned = new HashSet<>();
    for (CopiedBlock block : segment.copy().blocks()) {
      bySerial.put(block.serial, block);
      block.plan().walk(0, new Ownership(block.memory(), owned));
    }
    StringBuilder out = new StringBuilder("[");
    for (CopiedBlock block : bySerial.values()) {
      if (owned.contains(block.serial)) continue;
      separate(out);
      block(out, segment, block);
    }
    return out.append(']').toString();
  }

  private static void separate(StringBuilder out) {
    char last = out.charAt(out.length() - 1);
    if (last != '[' && last != '{') out.append(',');
  }

  private static void block(StringBuilder out, Segment segment, CopiedBlock block) {
    out.append("{\"serial\":").append(block.serial).append(",\"name\":");
    text(out, block.name);
    out.append(",\"type\":");
    DescribedTypes.show(out, segment.copy().types(), block.type);
    out.append(",\"count\":").append(block.count).append(",\"units\":[");
    Value value = Value.of(segment, block);
    if (block.count == 1) units(out, value, block.type);
    else row(out, value);
    out.append("]}");
  }

  private static void row(StringBuilder out, Value row) {
    for (long i = 0; i < row.count; ++i) units(out, row.at(i), row.type);
  }

  /** The units of one value of the type. */
  private static void units(StringBuilder out, Value value, Type type) {
    if (type.element() != null && !Units.isBytes(type.element())) {
      row(out, value);
    } else if (!type.fields().isEmpty()) {
      for (Type.Member field : type.fields()) {
        units(out, value.field(field.name()), field.type());
      }
    } else {
      separate(out);
      if (type.element() == null) unit(out, value);
      else hexadecimal(out, value.bytes());
    }
  }

  static void unit(StringBuilder out, Value unit) {
    switch (unit.type.kind()) {
      case STRING, TEXT -> text(out, new String(unit.bytes(), StandardCharsets.ISO_8859_1));
      case POINTER -> pointer(out, unit);
      case UNION -> union(out, unit);
      case SEQUENCE -> sequence(out, unit);
      default -> number(out, unit);
    }
  }

  private static void pointer(StringBuilder out, Value unit) {
    unit.checkReadable();
    WirePointer wire = WirePointer.at(unit.block.memory(), unit.at);
    if (wire.isNull()) out.append("null");
    else text(out, mip(unit.segment, wire));
  }

  /** Where the bits lead, also if nothing is there any more. */
  private static String mip(Segment segment, WirePointer wire) {
    String url = segment.url();
    if (wire.slot() != 0) {
      String slot = segment.copy().slots().get(wire.slot() - 1);
      String server = SegmentUrl.parse(url).server().text();
      url = SegmentUrl.canonical(slot.startsWith("/") ? server + slot : slot);
    }
    return new Mip(SegmentUrl.parse(url), wire.serial(), null, wire.offset()).text();
  }

  private static void union(StringBuilder out, Value unit) {
    out.append("{\"case\":");
    number(out, unit.field(unit.type.choice().discriminant().name()));
    out.append(",\"units\":[");
    Value arm = unit.arm();
    if (arm != null) {
      int which = LittleEndian.getInt(unit.block.memory(), unit.at);
      units(out, arm, unit.type.choice().selected(which).type());
    }
    out.append("]}");
  }

  private static void sequence(StringBuilder out, Value unit) {
    Value row = unit.row();
    if (Units.isBytes(row.type)) {
      hexadecimal(out, row.bytes());
      return;
    }
    out.append('[');
    row(out, row);
    out.append(']');
  }

  private static void number(StringBuilder out, Value unit) {
    unit.checkReadable();
    byte[] memory = unit.block.memory();
    if (unit.type.kind() != TypeKind.PRIMITIVE) {
      out.append(unit.integer());
      return;
    }
    switch (unit.type.primitive()) {
      case FLOAT -> bits(out, LittleEndian.getInt(memory, unit.at) & 0xffffffffL, 8);
      case DOUBLE -> bits(out, LittleEndian.getLong(memory, unit.at), 16);
      case CHAR -> out.append(unit.integer() & 0xff);
      case UHYPER -> exact(out, Long.toUnsignedString(unit.integer()));
      default -> exact(out, Long.toString(unit.integer()));
    }
  }

  private static void bits(StringBuilder out, long bits, int digits) {
    out.append("\"0x").append(HexFormat.of().toHexDigits(bits, digits)).append('"');
  }

  /** A number that a double does not hold exactly is a text. */
  private static void exact(StringBuilder out, String digits) {
    int length = digits.startsWith("-") ? digits.length() - 1 : digits.length();
    boolean isExact = length < 16 || length == 16 && Math.abs(Long.parseLong(digits)) < EXACT;
    if (isExact) out.append(digits);
    else out.append('"').append(digits).append('"');
  }

  private static void hexadecimal(StringBuilder out, byte[] bytes) {
    out.append('"').append(HexFormat.of().formatHex(bytes)).append('"');
  }

  /** A string of JSON; control characters and those from U+007F on are escaped by number. */
  static void text(StringBuilder out, String text) {
    out.append('"');
    for (int i = 0; i < text.length(); ++i) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') out.append('\\').append(c);
      else if (c >= 0x20 && c < 0x7f) out.append(c);
      else out.append("\\u").append(HexFormat.of().toHexDigits(c));
    }
    out.append('"');
  }
}
