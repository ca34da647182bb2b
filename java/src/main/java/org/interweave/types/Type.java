package org.interweave.types;

import java.util.List;
import java.util.Map;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;
import org.interweave.wire.protocol.DescriptorCodec.TypeBody;
import org.interweave.wire.protocol.DescriptorCodec.TypeDescriptor;
import org.interweave.wire.protocol.DescriptorCodec.TypeKind;

/** One type of a segment: its descriptor, and what follows from it. */
public final class Type {
  /**
   * A field, or an arm of a union (of a void arm `type` is null), and where it lies: in units and
   * in bytes from the record's beginning. A union is one unit.
   */
  public record Member(String name, Type type, long unit, long at) {}

  /** Of a union; `otherwise` is null if it has no default arm. */
  public record Choice(Member discriminant, Map<Integer, Member> arms, Member otherwise) {
    /** The arm that a value selects; null if there is none. */
    public Member selected(int value) {
      return arms.getOrDefault(value, otherwise);
    }
  }

  private final TypeDescriptor descriptor;
  private final Shape shape;

  Type(TypeDescriptor descriptor, Shape shape) {
    this.descriptor = descriptor;
    this.shape = shape;
  }

  public TypeDescriptor descriptor() {
    return descriptor;
  }

  public long serial() {
    return descriptor.serial();
  }

  /** "" for an anonymous type. */
  public String name() {
    return descriptor.name();
  }

  public long hash() {
    return descriptor.hash();
  }

  public TypeKind kind() {
    return descriptor.body().kind();
  }

  /** Null for a type that is not a primitive. */
  public Primitive primitive() {
    return kind() == TypeKind.PRIMITIVE ? Primitive.of((int) serial()) : null;
  }

  public long units() {
    return shape.units;
  }

  /** In wire format. */
  public long slotBytes() {
    return shape.slotBytes;
  }

  /** In memory, in bytes. */
  public long size() {
    return shape.size;
  }

  /** What the address of a value is a multiple of. */
  public int align() {
    return shape.align;
  }

  public Plan plan() {
    return shape.plan;
  }

  /** How deep types are embedded. */
  public int depth() {
    return shape.depth;
  }

  /** Of an array; null for others. */
  public Type element() {
    return shape.element;
  }

  /** Of an array's elements; 1 for others. */
  public long count() {
    return shape.count;
  }

  /** Of a record. */
  public List<Member> fields() {
    return shape.fields;
  }

  /** Of a union; null for others. */
  public Choice choice() {
    return shape.choice;
  }

  /** The same type as two programs would say it: the name, and the structure. */
  public boolean isSameAs(Type other) {
    return this == other || name().equals(other.name()) && hash() == other.hash();
  }

  /** What a pointer or a sequence leads to; 0: `void *`, or no pointer. */
  public long targetSerial() {
    TypeBody body = descriptor.body();
    if (body instanceof TypeBody.OfTarget pointer) return pointer.target();
    if (body instanceof TypeBody.OfSequence sequence) return sequence.sequence().element();
    return kind() == TypeKind.TEXT ? Primitive.CHAR.number : 0;
  }
}
