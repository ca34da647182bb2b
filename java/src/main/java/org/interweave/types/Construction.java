package org.interweave.types;

import static org.interweave.InterweaveException.malformed;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.interweave.wire.protocol.DescriptorCodec;
import org.interweave.wire.protocol.DescriptorCodec.EnumMember;
import org.interweave.wire.protocol.DescriptorCodec.Field;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;
import org.interweave.wire.protocol.DescriptorCodec.TypeBody;
import org.interweave.wire.protocol.DescriptorCodec.TypeDescriptor;
import org.interweave.wire.protocol.DescriptorCodec.TypeKind;
import org.interweave.wire.protocol.DescriptorCodec.UnionArm;
import org.interweave.wire.protocol.DescriptorCodec.UnionBody;

/**
 * From a descriptor to a type: every check of [TYPE-2] but those of serial, hash and name, and the
 * layout in memory.
 */
final class Construction {
  /** The types that a descriptor may refer to. */
  interface Known {
    /** A primitive or a type of a lower serial. */
    Type embedded(long serial);

    /** Fails unless the type is known or follows in the same section. */
    void checkTarget(long serial);
  }

  private static final int[] WIDTHS = {0, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 4};

  private final Known known;

  private Construction(Known known) {
    this.known = known;
  }

  static Type primitive(Primitive primitive) {
    int width = WIDTHS[primitive.number];
    Leaf leaf = primitive == Primitive.BOOL ? Leaf.BOOL : Leaf.number(width);
    TypeBody body = new TypeBody.Empty(TypeKind.PRIMITIVE);
    String name = primitive.name().toLowerCase(Locale.ROOT);
    long hash = Signature.ofPrimitive(primitive.number);
    TypeDescriptor descriptor = new TypeDescriptor(primitive.number, name, hash, 0, body);
    return new Type(descriptor, Shape.of(leaf, width));
  }

  static Shape shape(TypeBody body, Known known) {
    Construction construction = new Construction(known);
    if (body instanceof TypeBody.OfMembers one) return ofEnum(one.members());
    if (body instanceof TypeBody.OfBound one) return ofString(one.bound());
    if (body instanceof TypeBody.OfArray one) {
      return ofArray(known.embedded(one.array().element()), one.array().count());
    }
    if (body instanceof TypeBody.OfFields one) return construction.ofRecord(one.fields());
    if (body instanceof TypeBody.OfChoice one) return construction.ofUnion(one.choice());
    if (body instanceof TypeBody.OfTarget one) {
      if (one.target() != 0) known.checkTarget(one.target());
      return Shape.of(Leaf.POINTER, 8);
    }
    if (body instanceof TypeBody.OfSequence one) known.checkTarget(one.sequence().element());
    else if (body.kind() != TypeKind.TEXT) {
      throw malformed("kind " + body.kind() + " needs no descriptor");
    }
    return Shape.of(Leaf.OWNED, 8);
  }

  private static Shape ofEnum(List<EnumMember> members) {
    Set<String> names = new HashSet<>();
    Set<Integer> values = new HashSet<>();
    for (EnumMember member : members) {
      checkDistinct(names, member.name(), "member");
      values.add(member.value());
    }
    return Shape.of(Leaf.enumeration(values), 4);
  }

  private static Shape ofString(long bound) {
    if (bound < 1 || bound > DescriptorCodec.MAX_STRING_BOUND) {
      throw malformed("a string's bound is from 1 to " + DescriptorCodec.MAX_STRING_BOUND);
    }
    return Shape.of(Leaf.string(bound), 1);
  }

  private static Shape ofArray(Type element, long count) {
    if (count == 0) throw malformed("an array has no elements");
    Shape shape = new Shape();
    shape.units = Extent.times(element.units(), count);
    shape.slotBytes = Extent.times(element.slotBytes(), count);
    shape.size = Extent.times(element.size(), count);
    shape.align = element.align();
    shape.plan = element.plan().repeated(count, element.size());
    shape.depth = element.depth() + 1;
    shape.element = element;
    shape.count = count;
    return shape;
  }

  private Shape ofRecord(List<Field> described) {
    if (described.isEmpty()) {
      throw malformed("a record has from 1 to " + DescriptorCodec.MAX_FIELDS + " fields");
    }
    Set<String> names = new HashSet<>();
    List<Type.Member> fields = new ArrayList<>();
    List<Plan.Part> parts = new ArrayList<>();
    Shape shape = new Shape();
    shape.units = 0;
    shape.align = 1;
    long at = 0;
    for (Field field : described) {
      checkDistinct(names, field.name(), "field");
      Type type = known.embedded(field.type());
      at = Extent.roundUp(at, type.align());
      fields.add(new Type.Member(field.name(), type, shape.units, at));
      parts.add(new Plan.Part(type.plan(), at, type.size()));
      at += type.size();
      shape.units += type.units();
      shape.slotBytes += type.slotBytes();
      shape.align = Math.max(shape.align, type.align());
      shape.depth = Math.max(shape.depth, type.depth());
    }
    shape.depth += 1;
    shape.size = Extent.roundUp(at, shape.align);
    shape.plan = Plan.sequence(parts);
    shape.fields = List.copyOf(fields);
    return shape;
  }

  private Shape ofUnion(UnionBody body) {
    if (body.arms().isEmpty()) {
      throw malformed("a union has from 1 to " + DescriptorCodec.MAX_FIELDS + " arms");
    }
    List<UnionArm> all = new ArrayList<>(body.arms());
    if (body.otherwise() != null) all.add(body.otherwise());
    checkArms(all, body.otherwise());
    Shape shape = new Shape();
    shape.align = 4;
    int armAlign = 1;
    long armSize = 0;
    for (UnionArm arm : all) {
      if (arm.type() == 0) continue;
      Type type = known.embedded(arm.type());
      armAlign = Math.max(armAlign, type.align());
      armSize = Math.max(armSize, type.size());
      shape.slotBytes = Math.max(shape.slotBytes, type.slotBytes());
      shape.depth = Math.max(shape.depth, type.depth());
    }
    long armAt = Extent.roundUp(4, armAlign);
    shape.align = Math.max(shape.align, armAlign);
    shape.slotBytes += 4;
    shape.depth += 1;
    shape.size = Extent.roundUp(armAt + armSize, shape.align);
    chooseArms(shape, body, armAt);
    return shape;
  }

  private static void checkArms(List<UnionArm> arms, UnionArm otherwise) {
    Set<String> names = new HashSet<>();
    for (UnionArm arm : arms) {
      if (arm.type() != 0) checkDistinct(names, arm.name(), "arm");
    }
    if (otherwise != null && !otherwise.values().isEmpty()) {
      throw malformed("the default arm has case values");
    }
  }

  private void chooseArms(Shape shape, UnionBody body, long armAt) {
    Type discriminant = discriminant(body);
    Map<Integer, Type.Member> members = new HashMap<>();
    Map<Integer, Plan> plans = new HashMap<>();
    for (UnionArm arm : body.arms()) {
      Type.Member member = arm(arm, armAt);
      for (int value : arm.values()) {
        if (members.put(value, member) != null) throw malformed("case " + value + " occurs twice");
        plans.put(value, plan(member));
      }
    }
    Type.Member otherwise = body.otherwise() == null ? null : arm(body.otherwise(), armAt);
    Leaf chosen = discriminant.plan().firstLeaf();
    Plan otherPlan = otherwise == null ? null : plan(otherwise);
    Leaf.Choice choice = new Leaf.Choice(chosen, plans, otherPlan, armAt);
    Type.Member first = new Type.Member(body.discriminant(), discriminant, 0, 0);
    shape.choice = new Type.Choice(first, members, otherwise);
    shape.plan = Plan.of(Leaf.union(shape.size, choice));
  }

  private Type.Member arm(UnionArm arm, long at) {
    return new Type.Member(arm.name(), arm.type() == 0 ? null : known.embedded(arm.type()), 0, at);
  }

  private static Plan plan(Type.Member arm) {
    return arm.type() == null ? Plan.VOID : arm.type().plan();
  }

  private Type discriminant(UnionBody body) {
    Type type = known.embedded(body.discriminantType());
    Primitive primitive = type.primitive();
    boolean isNumber =
        primitive == Primitive.INT || primitive == Primitive.UINT || primitive == Primitive.BOOL;
    if (isNumber || type.kind() == TypeKind.ENUM) return type;
    throw malformed("a union's discriminant is an int, a uint, a bool or an enum");
  }

  private static void checkDistinct(Set<String> seen, String name, String what) {
    if (!seen.add(name)) throw malformed(what + " `" + name + "` occurs twice");
  }
}
