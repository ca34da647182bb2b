package org.interweave.wire;

/**
 * A machine-independent pointer: a segment, a block by its serial or its name, and an offset in
 * units, unsigned (spec/format/mip.md). Without a block, serial 0 and no name, it is the segment.
 */
public record Mip(SegmentUrl url, long serial, String name, long offset) {
  public static Mip parse(String text) {
    SegmentUrl.checkLength(text);
    int hash = text.indexOf('#');
    if (hash < 0) return new Mip(SegmentUrl.parse(text), 0, null, 0);
    SegmentUrl url = SegmentUrl.parse(text.substring(0, hash));
    int second = text.indexOf('#', hash + 1);
    String block = text.substring(hash + 1, second < 0 ? text.length() : second);
    boolean isName = SegmentUrl.isBlockName(block);
    long serial = isName ? 0 : serial(text, block);
    long offset = second < 0 ? 0 : offset(text, text.substring(second + 1));
    return new Mip(url, serial, isName ? block : null, offset);
  }

  /** Canonical; a block's name is left as it is [MIP-3]. */
  public String text() {
    String segment = url.server().text() + url.path();
    if (serial == 0 && name == null) return segment;
    String block = segment + "#" + (name == null ? Long.toString(serial) : name);
    return offset == 0 ? block : block + "#" + Long.toUnsignedString(offset);
  }

  private static long serial(String text, String digits) {
    boolean isNumber = Digits.areAll(digits) && !digits.startsWith("0") && digits.length() <= 15;
    long serial = isNumber ? Long.parseLong(digits) : 0;
    if (serial < 1 || serial > WirePointer.MAX_SERIAL) {
      throw SegmentUrl.bad(text, "has neither a block's serial nor a block's name after '#'");
    }
    return serial;
  }

  private static long offset(String text, String digits) {
    if (!Digits.areAll(digits)) {
      throw SegmentUrl.bad(text, "has an offset that is not a decimal number");
    }
    int zeros = 0;
    while (zeros < digits.length() - 1 && digits.charAt(zeros) == '0') ++zeros;
    try {
      return Long.parseUnsignedLong(digits.substring(zeros));
    } catch (NumberFormatException tooLarge) {
      throw SegmentUrl.bad(text, "has an offset beyond 2^64");
    }
  }
}
