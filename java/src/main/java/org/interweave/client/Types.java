package org.interweave.client;

import java.util.Map;
import org.interweave.types.Declared;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;

/**
 * A type declared in a program, without an .x file:
 *
 * <pre>{@code
 * Types node = Types.record("node").with("key", Types.INT).with("next", Types.pointer("node"));
 * }</pre>
 *
 * <p>Two programs that declare the same name and structure mean the same type.
 */
public final class Types {
  public static final Types CHAR = of(Primitive.CHAR);
  public static final Types UCHAR = of(Primitive.UCHAR);
  public static final Types SHORT = of(Primitive.SHORT);
  public static final Types USHORT = of(Primitive.USHORT);
  public static final Types INT = of(Primitive.INT);
  public static final Types UINT = of(Primitive.UINT);
  public static final Types HYPER = of(Primitive.HYPER);
  public static final Types UHYPER = of(Primitive.UHYPER);
  public static final Types FLOAT = of(Primitive.FLOAT);
  public static final Types DOUBLE = of(Primitive.DOUBLE);
  public static final Types BOOL = of(Primitive.BOOL);

  private final Declared declared;

  private Types(Declared declared) {
    this.declared = declared;
  }

  private static Types of(Primitive primitive) {
    return new Types(Declared.primitive(primitive));
  }

  Declared declared() {
    return declared;
  }

  private static Declared declared(Types type) {
    return type == null ? null : type.declared;
  }

  /**
   * An enum.
   *
   * @param name the type's name
   * @param members names and numbers, in the map's order
   * @return the type
   */
  public static Types enumeration(String name, Map<String, Integer> members) {
    return new Types(Declared.enumeration(name, members));
  }

  /**
   * A string in place.
   *
   * @param bound its most bytes, at most 4,096
   * @return the type
   */
  public static Types string(long bound) {
    return new Types(Declared.string(bound));
  }

  /**
   * A string of any length, in a block that its field owns.
   *
   * @return the type
   */
  public static Types text() {
    return new Types(Declared.text(0));
  }

  /**
   * An array.
   *
   * @param element the type of its elements
   * @param count how many
   * @return the type
   */
  public static Types array(Types element, long count) {
    return new Types(Declared.array(element.declared, count));
  }

  /**
   * A pointer.
   *
   * @param target the name of the type that it leads to, which is declared around it or in the
   *     segment; null: any
   * @return the type
   */
  public static Types pointer(String target) {
    boolean isAny = target == null;
    return new Types(
        isAny ? Declared.pointer((Declared) null) : Declared.pointer(target));
  }

  /**
   * A pointer.
   *
   * @param target the type that it leads to
   * @return the type
   */
  public static Types pointer(Types target) {
    return new Types(Declared.pointer(target.declared));
  }

  /**
   * Elements of any number, in a block that their field owns.
   *
   * @param element the type of the elements
   * @return the type
   */
  public static Types sequence(Types element) {
    return new Types(Declared.sequence(element.declared, 0));
  }

  /**
   * Elements of any number, in a block that their field owns.
   *
   * @param element the name of their type, which is declared around it or in the segment
   * @return the type
   */
  public static Types sequence(String element) {
    return new Types(Declared.sequence(element, 0));
  }

  /**
   * A record, whose fields `with` adds.
   *
   * @param name the type's name
   * @return the type
   */
  public static Types record(String name) {
    return new Types(Declared.record(name));
  }

  /**
   * A union, whose arms `with` adds.
   *
   * @param name the type's name
   * @param discriminant the name of what selects the arm
   * @param type INT, UINT, BOOL or an enum
   * @return the type
   */
  public static Types union(String name, String discriminant, Types type) {
    return new Types(Declared.union(name, discriminant, type.declared));
  }

  /**
   * Adds a field to this record, or an arm to this union.
   *
   * @param name the field's name
   * @param type its type; null for a void arm
   * @param values which values of the discriminant select the arm
   * @return this
   */
  public Types with(String name, Types type, Integer... values) {
    declared.with(name, declared(type), values);
    return this;
  }

  /**
   * Adds the default arm to this union.
   *
   * @param name the arm's name
   * @param type its type; null for a void arm
   * @return this
   */
  public Types otherwise(String name, Types type) {
    declared.otherwise(name, declared(type));
    return this;
  }
}
