package org.interweave.types;

import org.interweave.InterweaveException;
import org.interweave.wire.protocol.DescriptorCodec.EnumMember;
import org.interweave.wire.protocol.DescriptorCodec.Field;
import org.interweave.wire.protocol.DescriptorCodec.TypeBody;
import org.interweave.wire.protocol.DescriptorCodec.UnionArm;
import org.interweave.wire.protocol.DescriptorCodec.UnionBody;

/** The hash of a type's structure: FNV-1a over its signature [TYPE-3]. */
final class Signature {
  /** What a signature needs to know of other types. */
  interface Referred {
    /** The hash of an embedded type. */
    long embeddedHash(long serial);

    /** Name and hash of a type pointed at. */
    Target target(long serial);
  }

  record Target(String name, long hash) {}

  private final Hash hash = new Hash();
  private final Referred types;

  private Signature(Referred types) {
    this.types = types;
  }

  static long ofPrimitive(int serial) {
    return new Hash().u8(1).u8(serial).value();
  }

  static long of(TypeBody body, Referred types) {
    Signature signature = new Signature(types);
    signature.hash.u8(body.kind().number);
    signature.add(body);
    return signature.hash.value();
  }

  private void add(TypeBody body) {
    if (body instanceof TypeBody.OfMembers one) {
      hash.u32(one.members().size());
      for (EnumMember member : one.members()) hash.text(member.name()).u32(member.value());
    } else if (body instanceof TypeBody.OfBound one) {
      hash.u32(one.bound());
    } else if (body instanceof TypeBody.OfArray one) {
      hash.u64(types.embeddedHash(one.array().element())).u32(one.array().count());
    } else if (body instanceof TypeBody.OfFields one) {
      hash.u32(one.fields().size());
      for (Field field : one.fields()) {
        hash.text(field.name()).u64(types.embeddedHash(field.type()));
      }
    } else if (body instanceof TypeBody.OfChoice one) {
      addUnion(one.choice());
    } else if (body instanceof TypeBody.OfTarget one) {
      addTarget(one.target());
    } else if (body instanceof TypeBody.OfSequence one) {
      hash.u32(one.sequence().bound());
      addTarget(one.sequence().element());
    } else if (body instanceof TypeBody.OfTextBound one) {
      hash.u32(one.textBound());
    } else {
      throw InterweaveException.malformed("a primitive needs no descriptor");
    }
  }

  private void addUnion(UnionBody union) {
    hash.text(union.discriminant())
        .u64(types.embeddedHash(union.discriminantType()))
        .u32(union.arms().size());
    for (UnionArm arm : union.arms()) addArm(arm);
    hash.u8(union.otherwise() == null ? 0 : 1);
    if (union.otherwise() != null) addArm(union.otherwise());
  }

  private void addArm(UnionArm arm) {
    long structure = arm.type() == 0 ? 0 : types.embeddedHash(arm.type());
    hash.text(arm.name()).u64(structure).u32(arm.values().size());
    for (int value : arm.values()) hash.u32(value);
  }

  private void addTarget(long serial) {
    if (serial == 0) {
      hash.u8(2);
      return;
    }
    Target target = types.target(serial);
    if (target.name.isEmpty()) hash.u8(0).u64(target.hash);
    else hash.u8(1).text(target.name);
  }
}
