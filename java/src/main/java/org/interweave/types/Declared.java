package org.interweave.types;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.interweave.wire.protocol.DescriptorCodec.EnumMember;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;
import org.interweave.wire.protocol.DescriptorCodec.TypeKind;

/**
 * A type declared in a program, without an .x file. A pointer or sequence may name its target,
 * which is declared around it or stands in the segment.
 */
public final class Declared {
  /** A field of a record, or an arm of a union: `type` is null for a void arm. */
  record Part(String name, Declared type, List<Integer> values) {}

  final TypeKind kind;
  final String name;
  /** Of a primitive. */
  final Primitive primitive;
  /** Fields, or arms. */
  final List<Part> parts = new ArrayList<>();
  final List<EnumMember> members = new ArrayList<>();
  /** Of an array: the element; of a pointer or sequence: the target, if it is not a name. */
  Declared element;
  /** The target's name; null: `element` is it, or it is `void *`. */
  String targetName;
  /** Of an array: its count; of a string, text or sequence: its bound. */
  long count;
  /** Of a union. */
  Part discriminant;
  Part otherwise;

  private Declared(TypeKind kind, String name, Primitive primitive) {
    this.kind = kind;
    this.name = name;
    this.primitive = primitive;
  }

  public static Declared primitive(Primitive which) {
    return new Declared(TypeKind.PRIMITIVE, "", which);
  }

  /** Members in their order. */
  public static Declared enumeration(String name, Map<String, Integer> members) {
    Declared made = new Declared(TypeKind.ENUM, name, null);
    for (Map.Entry<String, Integer> each : members.entrySet()) {
      made.members.add(new EnumMember(each.getKey(), each.getValue()));
    }
    return made;
  }

  /** `string s<bound>`, in place. */
  public static Declared string(long bound) {
    Declared made = new Declared(TypeKind.STRING, "", null);
    made.count = bound;
    return made;
  }

  /** `string s<>`, in a block that the field owns; bound 0: none. */
  public static Declared text(long bound) {
    Declared made = new Declared(TypeKind.TEXT, "", null);
    made.count = bound;
    return made;
  }

  public static Declared array(Declared element, long count) {
    Declared made = new Declared(TypeKind.ARRAY, "", null);
    made.element = element;
    made.count = count;
    return made;
  }

  /** Without fields, which `with` adds. */
  public static Declared record(String name) {
    return new Declared(TypeKind.RECORD, name, null);
  }

  /** Without arms, which `with` adds. */
  public static Declared union(String name, String discriminant, Declared discriminantType) {
    Declared made = new Declared(TypeKind.UNION, name, null);
    made.discriminant = new Part(discriminant, discriminantType, List.of());
    return made;
  }

  /** To a type that is declared; null: `void *`. */
  public static Declared pointer(Declared target) {
    Declared made = new Declared(TypeKind.POINTER, "", null);
    made.element = target;
    return made;
  }

  /** To a type by its name. */
  public static Declared pointer(String target) {
    Declared made = new Declared(TypeKind.POINTER, "", null);
    made.targetName = target;
    return made;
  }

  /** `T x<bound>`, in a block that the field owns; bound 0: none. */
  public static Declared sequence(Declared element, long bound) {
    Declared made = new Declared(TypeKind.SEQUENCE, "", null);
    made.element = element;
    made.count = bound;
    return made;
  }

  /** Elements of a type by its name. */
  public static Declared sequence(String element, long bound) {
    Declared made = new Declared(TypeKind.SEQUENCE, "", null);
    made.targetName = element;
    made.count = bound;
    return made;
  }

  /** Lets a pointer or sequence lead to a type that was declared after it; null: `void *`. */
  public Declared to(Declared target) {
    element = target;
    targetName = null;
    return this;
  }

  /** The same type under a name. */
  public Declared named(String given) {
    Declared made = new Declared(kind, given, primitive);
    made.element = element;
    made.targetName = targetName;
    made.count = count;
    return made;
  }

  /** Adds a field to a record, or an arm for these values to a union; a null type is void. */
  public Declared with(String partName, Declared type, Integer... values) {
    parts.add(new Part(partName, type, List.of(values)));
    return this;
  }

  /** Adds a union's default arm. */
  public Declared otherwise(String partName, Declared type) {
    otherwise = new Part(partName, type, List.of());
    return this;
  }
}
