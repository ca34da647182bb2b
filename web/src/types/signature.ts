/** The hash of a type's structure: FNV-1a over its signature [TYPE-3]. */
import { malformed } from "../wire/error.js";
import { TypeKind, type TypeBody, type UnionArm } from "../wire/protocol/descriptor.js";
import { Hash } from "./hash.js";

/** What a signature needs to know of other types. */
export interface Referred {
  /** The hash of an embedded type. */
  embedded(serial: number): bigint;
  /** Name and hash of a type pointed at. */
  target(serial: number): { name: string; hash: bigint };
}

export function primitiveHash(serial: number): bigint {
  return new Hash().u8(1).u8(serial).value;
}

function addTarget(hash: Hash, serial: number, types: Referred): void {
  if (serial === 0) {
    hash.u8(2);
    return;
  }
  const { name, hash: structure } = types.target(serial);
  if (name === "") hash.u8(0).u64(structure);
  else hash.u8(1).text(name);
}

function addArm(hash: Hash, arm: UnionArm, types: Referred): void {
  hash
    .text(arm.name)
    .u64(arm.type === 0 ? 0n : types.embedded(arm.type))
    .u32(arm.values.length);
  for (const value of arm.values) hash.u32(value);
}

export function hashOf(body: TypeBody, types: Referred): bigint {
  const hash = new Hash().u8(body.kind);
  switch (body.kind) {
    case TypeKind.ENUM:
      hash.u32(body.members.length);
      for (const { name, value } of body.members) hash.text(name).u32(value);
      break;
    case TypeKind.STRING:
      hash.u32(body.bound);
      break;
    case TypeKind.ARRAY:
      hash.u64(types.embedded(body.array.element)).u32(body.array.count);
      break;
    case TypeKind.RECORD:
      hash.u32(body.fields.length);
      for (const { name, type } of body.fields) hash.text(name).u64(types.embedded(type));
      break;
    case TypeKind.UNION: {
      const { discriminant, discriminant_type, arms, otherwise } = body.choice;
      hash.text(discriminant).u64(types.embedded(discriminant_type)).u32(arms.length);
      for (const arm of arms) addArm(hash, arm, types);
      hash.u8(otherwise === null ? 0 : 1);
      if (otherwise !== null) addArm(hash, otherwise, types);
      break;
    }
    case TypeKind.POINTER:
      addTarget(hash, body.target, types);
      break;
    case TypeKind.SEQUENCE:
      hash.u32(body.sequence.bound);
      addTarget(hash, body.sequence.element, types);
      break;
    case TypeKind.TEXT:
      hash.u32(body.text_bound);
      break;
    default:
      throw malformed("a primitive needs no descriptor");
  }
  return hash.value;
}
