package org.interweave.vectors;

import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.interweave.wire.WirePointer;

/** Values as the vectors write them: enums by name, opaque bytes and hashes as hex. */
final class Shown {
  private static final long MAX_EXACT = (1L << 53) - 1;

  private Shown() {}

  static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  static String hash(long value) {
    return String.format("0x%016x", value);
  }

  /** An unsigned number; one that is not exact as a double is a text. */
  static Object unsigned(long value) {
    boolean isExact = value >= 0 && value <= MAX_EXACT;
    return isExact ? (Object) value : Long.toUnsignedString(value);
  }

  static Object signed(long value) {
    boolean isExact = Math.abs(value) <= MAX_EXACT && value != Long.MIN_VALUE;
    return isExact ? (Object) value : Long.toString(value);
  }

  /** A whole number as JSON's parser gives it. */
  static Object real(double value) {
    boolean isWhole = value == Math.rint(value) && Math.abs(value) <= MAX_EXACT;
    boolean isNegativeZero = value == 0 && 1 / value < 0;
    return isWhole && !isNegativeZero ? (Object) (long) value : (Object) value;
  }

  static Object pointer(byte[] memory, int at) {
    WirePointer pointer = WirePointer.at(memory, at);
    if (pointer.isNull()) return null;
    return List.of((long) pointer.slot(), pointer.serial(), unsigned(pointer.offset()));
  }

  static Object value(Object value) {
    return value(value, "");
  }

  private static Object value(Object value, String member) {
    if (value instanceof byte[] bytes) return hex(bytes);
    if (value instanceof Enum<?> one) return one.name();
    if (value instanceof Integer number) return number.longValue();
    if (value instanceof Double number) return real(number);
    if (value instanceof Long number) {
      boolean isHash = member.equals("hash") || member.equals("predecessor");
      return isHash ? hash(number) : unsigned(number);
    }
    if (value instanceof List<?> values) {
      List<Object> shown = new ArrayList<>();
      for (Object each : values) shown.add(value(each, member));
      return shown;
    }
    return value instanceof Record one ? members(one) : value;
  }

  static Map<String, Object> members(Record record) {
    Map<String, Object> members = new LinkedHashMap<>();
    for (RecordComponent component : record.getClass().getRecordComponents()) {
      String name = component.getName().replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
      name = name.replaceAll("_$", "");
      try {
        component.getAccessor().setAccessible(true);
        members.put(name, value(component.getAccessor().invoke(record), name));
      } catch (ReflectiveOperationException wrong) {
        throw new AssertionError(wrong);
      }
    }
    return members;
  }
}
