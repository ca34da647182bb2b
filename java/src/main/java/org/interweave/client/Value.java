package org.interweave.client;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.diff.CopiedBlock;
import org.interweave.types.Type;
import org.interweave.wire.LittleEndian;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;
import org.interweave.wire.protocol.DescriptorCodec.TypeKind;

/**
 * A value in a segment's copy, as its type's descriptor says: a record, an array, a number. It is a
 * view: it reads and writes the copy, under a lock of the segment. A view of a freed block fails.
 *
 * <p>Numbers are Byte, Short, Integer, Long, Float and Double. An unsigned number of 8, 16 or 32
 * bits is the next larger of them; one of 64 bits is a long of the same bits.
 */
public final class Value {
  final Segment segment;
  final CopiedBlock block;
  /** Of the value, or of each element of a row. */
  final Type type;
  /** The number of elements of a row; -1: the value is not a row. */
  final long count;
  final int at;
  final long unit;
  /** Arms of a union have no units, so that no pointer leads there. */
  final boolean isInArm;

  Value(
      Segment segment,
      CopiedBlock block,
      Type type,
      long count,
      int at,
      long unit,
      boolean isInArm) {
    boolean isArray = count < 0 && type.element() != null;
    this.segment = segment;
    this.block = block;
    this.type = isArray ? type.element() : type;
    this.count = isArray ? type.count() : count;
    this.at = at;
    this.unit = unit;
    this.isInArm = isInArm;
  }

  /** A whole block: its one element, or a row of them. */
  static Value of(Segment segment, CopiedBlock block) {
    return new Value(segment, block, block.type, block.count == 1 ? -1 : block.count, 0, 0, false);
  }

  void checkReadable() {
    segment.checkReadable();
    if (!block.isLive()) {
      throw InterweaveException.of(
          Error.NO_BLOCK, segment.url() + "#" + block.serial + " was freed");
    }
  }

  /** Before each store. */
  void checkWritable() {
    checkReadable();
    segment.touch(block);
  }

  InterweaveException misfit(String wanted) {
    return InterweaveException.of(
        Error.BAD_ARGUMENT,
        segment.url() + "#" + block.serial + ": a " + typeName() + " is not " + wanted);
  }

  /**
   * The name of the type.
   *
   * @return as in the .x file; of a row, that of its elements with `[]`
   */
  public String typeName() {
    String name = type.name().isEmpty() ? type.kind().name().toLowerCase() : type.name();
    return count < 0 ? name : name + "[" + count + "]";
  }

  // ---- parts ----

  /**
   * A field of a record, or the discriminant of a union.
   *
   * @param name as in the .x file
   * @return a view of it
   */
  public Value field(String name) {
    if (count < 0) {
      for (Type.Member field : type.fields()) {
        if (field.name().equals(name)) return part(field, isInArm);
      }
      if (type.choice() != null && type.choice().discriminant().name().equals(name)) {
        return part(type.choice().discriminant(), true);
      }
    }
    throw misfit("a record with a field `" + name + "`");
  }

  private Value part(Type.Member member, boolean isArm) {
    return new Value(
        segment, block, member.type(), -1, (int) (at + member.at()), unit + member.unit(), isArm);
  }

  /**
   * An element of an array, sequence or block of several elements.
   *
   * @param index from 0 on
   * @return a view of it
   */
  public Value at(long index) {
    Value row = row();
    if (index < 0 || index >= row.count) {
      throw InterweaveException.of(
          Error.BAD_ARGUMENT, "element " + index + " of " + row.count + " elements");
    }
    int place = (int) (row.at + index * row.type.size());
    long first = row.unit + index * row.type.units();
    return new Value(segment, row.block, row.type, -1, place, first, isInArm);
  }

  /**
   * How many elements an array, sequence or block has.
   *
   * @return the number
   */
  public long length() {
    return row().count;
  }

  /** The elements; those of a sequence are in another block. */
  Value row() {
    if (count >= 0) return this;
    if (type.kind() == TypeKind.SEQUENCE || type.kind() == TypeKind.TEXT) {
      return References.owned(this);
    }
    throw misfit("an array");
  }

  /**
   * The arm of a union that is selected.
   *
   * @return a view of it; null for a void arm
   */
  public Value arm() {
    checkReadable();
    if (count >= 0 || type.choice() == null) throw misfit("a union");
    Type.Member arm = type.choice().selected(LittleEndian.getInt(block.memory(), at));
    return arm == null || arm.type() == null ? null : part(arm, true);
  }

  /**
   * Gives a union another arm, all zeros.
   *
   * @param discriminant which arm
   * @return a view of the arm; null for a void one
   */
  public Value select(int discriminant) {
    checkWritable();
    if (count >= 0 || type.choice() == null) throw misfit("a union");
    if (type.choice().selected(discriminant) == null) {
      throw InterweaveException.of(
          Error.BAD_VALUE, "union " + type.name() + " has no arm for " + discriminant);
    }
    segment.changes().freeOwned(block, type, at);
    java.util.Arrays.fill(block.memory(), at, (int) (at + type.size()), (byte) 0);
    LittleEndian.putInt(block.memory(), at, discriminant);
    return arm();
  }

  // ---- values ----

  /**
   * The value as objects: Map for records and unions, List for arrays and sequences, Value or null
   * for pointers, String, Boolean, and numbers.
   *
   * @return a copy
   */
  public Object get() {
    checkReadable();
    if (count >= 0) return list(this);
    return switch (type.kind()) {
      case PRIMITIVE, ENUM -> Numbers.get(block.memory(), type, at);
      case STRING, TEXT -> text();
      case POINTER -> target();
      case SEQUENCE -> list(row());
      case RECORD -> record();
      case UNION -> union();
      case ARRAY -> throw misfit("a single value");
    };
  }

  private static List<Object> list(Value row) {
    List<Object> values = new ArrayList<>();
    for (long i = 0; i < row.count; ++i) values.add(row.at(i).get());
    return values;
  }

  private Map<String, Object> record() {
    Map<String, Object> values = new LinkedHashMap<>();
    for (Type.Member field : type.fields()) {
      values.put(field.name(), part(field, isInArm).get());
    }
    return values;
  }

  private Map<String, Object> union() {
    Type.Member discriminant = type.choice().discriminant();
    Type.Member arm = type.choice().selected(LittleEndian.getInt(block.memory(), at));
    Map<String, Object> values = new LinkedHashMap<>();
    values.put(discriminant.name(), part(discriminant, true).get());
    if (arm != null && arm.type() != null) values.put(arm.name(), part(arm, true).get());
    return values;
  }

  private void checkNumber() {
    boolean isNumber = type.kind() == TypeKind.PRIMITIVE || type.kind() == TypeKind.ENUM;
    if (count >= 0 || !isNumber) throw misfit("a number");
  }

  /**
   * An integer, bool or enum.
   *
   * @return its value; the bits of an unsigned number of 64 bits
   */
  public long integer() {
    checkReadable();
    checkNumber();
    return Numbers.integer(block.memory(), type, at);
  }

  /**
   * A number of any kind.
   *
   * @return its value, perhaps rounded
   */
  public double real() {
    checkReadable();
    checkNumber();
    return Numbers.real(block.memory(), type, at);
  }

  /**
   * A string, without what follows its first NUL.
   *
   * @return the text; bytes that are not UTF-8 are replaced
   */
  public String text() {
    byte[] bytes = bytes();
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /**
   * A string's bytes up to the first NUL, or a row of bytes.
   *
   * @return a copy
   */
  public byte[] bytes() {
    checkReadable();
    return Rows.bytes(this);
  }

  /**
   * Where a pointer leads: a block, an element, or a field inside.
   *
   * @return a view; null for a null pointer
   */
  public Value target() {
    checkReadable();
    if (count >= 0 || type.kind() != TypeKind.POINTER) throw misfit("a pointer");
    return References.target(this);
  }

  /**
   * Stores an integer into a number, bool or enum. BAD_VALUE if it is outside of the type.
   *
   * @param value the number
   */
  public void set(long value) {
    checkNumber();
    checkWritable();
    Numbers.set(block.memory(), type, at, value);
  }

  /**
   * Stores a number into a float or double.
   *
   * @param value the number
   */
  public void set(double value) {
    checkNumber();
    checkWritable();
    Numbers.set(block.memory(), type, at, value);
  }

  /**
   * Stores a bool.
   *
   * @param value true or false
   */
  public void set(boolean value) {
    if (count >= 0 || type.primitive() != Primitive.BOOL) throw misfit("a bool");
    checkWritable();
    LittleEndian.putInt(block.memory(), at, value ? 1 : 0);
  }

  /**
   * Stores a string.
   *
   * @param value the text, without NUL
   */
  public void set(String value) {
    set(value.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Stores a string's bytes, or as many bytes as a row has.
   *
   * @param value the bytes
   */
  public void set(byte[] value) {
    checkWritable();
    Rows.set(this, value);
  }

  /**
   * Lets a pointer lead to a value.
   *
   * @param target a view, perhaps in another segment; null for a null pointer
   */
  public void point(Value target) {
    if (count >= 0 || type.kind() != TypeKind.POINTER) throw misfit("a pointer");
    checkWritable();
    References.point(this, target);
  }

  /**
   * Gives a sequence so many elements, all zeros.
   *
   * @param length 0 or more
   * @return a view of the elements
   */
  public Value resize(long length) {
    if (count >= 0 || type.kind() != TypeKind.SEQUENCE) throw misfit("a sequence");
    checkWritable();
    References.replaceOwned(this, length);
    return row();
  }

  // ---- rows of numbers ----

  /**
   * The elements of a row of doubles.
   *
   * @return a copy
   */
  public double[] doubles() {
    checkReadable();
    return Rows.doubles(row());
  }

  /**
   * Stores all elements of a row of doubles.
   *
   * @param values as many as the row has
   */
  public void set(double[] values) {
    Value row = row();
    row.checkWritable();
    Rows.set(row, values);
  }

  /**
   * The elements of a row of floats.
   *
   * @return a copy
   */
  public float[] floats() {
    checkReadable();
    return Rows.floats(row());
  }

  /**
   * Stores all elements of a row of floats.
   *
   * @param values as many as the row has
   */
  public void set(float[] values) {
    Value row = row();
    row.checkWritable();
    Rows.set(row, values);
  }

  /**
   * The elements of a row of ints or enums; of uints, the same bits.
   *
   * @return a copy
   */
  public int[] ints() {
    checkReadable();
    return Rows.ints(row());
  }

  /**
   * Stores all elements of a row of ints or uints.
   *
   * @param values as many as the row has
   */
  public void set(int[] values) {
    Value row = row();
    row.checkWritable();
    Rows.set(row, values);
  }

  /**
   * The elements of a row of hypers; of uhypers, the same bits.
   *
   * @return a copy
   */
  public long[] longs() {
    checkReadable();
    return Rows.longs(row());
  }

  /**
   * Stores all elements of a row of hypers or uhypers.
   *
   * @param values as many as the row has
   */
  public void set(long[] values) {
    Value row = row();
    row.checkWritable();
    Rows.set(row, values);
  }

  // ---- identity ----

  /**
   * The machine-independent pointer to the value, equal text in every program [MIP-3].
   *
   * @return url#serial or url#serial#unit; BAD_POINTER inside of a union
   */
  public String mip() {
    if (!isInArm) return place();
    throw InterweaveException.of(
        Error.BAD_POINTER, place() + " is a union, and what is inside of it has no MIP");
  }

  private String place() {
    String whole = segment.url() + "#" + block.serial;
    return unit == 0 ? whole : whole + "#" + unit;
  }

  /** Whether both are views of the same value. */
  @Override
  public boolean equals(Object other) {
    return other instanceof Value that
        && that.block == block
        && that.at == at
        && that.type == type
        && that.count == count;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(block) * 31 + at;
  }

  @Override
  public String toString() {
    return typeName() + " " + place();
  }
}
