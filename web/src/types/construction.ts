/**
 * From a descriptor to a type: every check of [TYPE-2] but those of serial, hash and name, and the
 * layout in memory.
 */
import { malformed } from "../wire/error.js";
import {
  MAX_FIELDS,
  MAX_STRING_BOUND,
  Primitive,
  TypeKind,
  type TypeBody,
  type TypeDescriptor,
  type UnionArm,
  type UnionBody,
} from "../wire/protocol/descriptor.js";
import { POINTER_BYTES } from "../wire/pointer.js";
import { leafPlan, repeat, sequence, type Leaf, type Plan } from "./plan.js";
import { primitiveHash } from "./signature.js";
import type { Member, Type, UnionMembers } from "./type.js";

/** The types that a descriptor may refer to. */
export interface Known {
  /** A primitive or a type of a lower serial. */
  embedded(serial: number): Type;
  /** Fails unless the type is known or follows in the same section. */
  checkTarget(serial: number): void;
}

/** What construction finds out; name, serial and hash are the descriptor's. */
type Shape = Omit<Type, "serial" | "name" | "hash" | "descriptor">;

const POINTER: Leaf = { kind: "pointer", width: POINTER_BYTES };
const OWNED: Leaf = { kind: "owned", width: POINTER_BYTES };
const BOOL: Leaf = { kind: "bool", width: 4 };
const PLAIN = new Map<number, Leaf>([1, 2, 4, 8].map((width) => [width, { kind: "plain", width }]));
const WIDTHS = [0, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 4];

function leafShape(leaf: Leaf, align: number): Shape {
  const { width } = leaf;
  return {
    units: 1,
    slotBytes: width,
    size: width,
    align,
    plan: leafPlan(leaf),
    depth: 0,
    element: null,
    count: 1,
    fields: [],
    union: null,
  };
}

export const primitives: readonly Type[] = Object.entries(Primitive).map(([name, serial]) => {
  const width = WIDTHS[serial] as number;
  const leaf = serial === Primitive.BOOL ? BOOL : (PLAIN.get(width) as Leaf);
  const hash = primitiveHash(serial);
  const lower = name.toLowerCase();
  const body = { kind: TypeKind.PRIMITIVE };
  const descriptor: TypeDescriptor = { serial, name: lower, hash, predecessor: 0n, body };
  return { serial, name: lower, hash, descriptor, ...leafShape(leaf, width) };
});

export function shapeOf(body: TypeBody, known: Known): Shape {
  switch (body.kind) {
    case TypeKind.ENUM: {
      checkDistinct(body.members, "member");
      const members = new Set(body.members.map((member) => member.value));
      return leafShape({ kind: "enum", width: 4, members }, 4);
    }
    case TypeKind.STRING:
      if (body.bound < 1 || body.bound > MAX_STRING_BOUND) {
        throw malformed(`a string's bound is from 1 to ${MAX_STRING_BOUND}`);
      }
      return leafShape({ kind: "string", width: body.bound }, 1);
    case TypeKind.ARRAY:
      return arrayShape(known.embedded(body.array.element), body.array.count);
    case TypeKind.RECORD:
      if (body.fields.length === 0 || body.fields.length > MAX_FIELDS) {
        throw malformed(`a record has from 1 to ${MAX_FIELDS} fields`);
      }
      checkDistinct(body.fields, "field");
      return recordShape(
        body.fields.map(({ name, type }) => ({ name, type: known.embedded(type) })),
      );
    case TypeKind.UNION:
      return unionShape(body.choice, known);
    case TypeKind.POINTER:
      if (body.target !== 0) known.checkTarget(body.target);
      return leafShape(POINTER, 8);
    case TypeKind.SEQUENCE:
      known.checkTarget(body.sequence.element);
      return leafShape(OWNED, 8);
    case TypeKind.TEXT:
      return leafShape(OWNED, 8);
    default:
      throw malformed(`kind ${body.kind} needs no descriptor`);
  }
}

function arrayShape(element: Type, count: number): Shape {
  if (count === 0) throw malformed("an array has no elements");
  return {
    units: element.units * count,
    slotBytes: element.slotBytes * count,
    size: element.size * count,
    align: element.align,
    plan: repeat(element.plan, count, element.size),
    depth: element.depth + 1,
    element,
    count,
    fields: [],
    union: null,
  };
}

function roundUp(value: number, align: number): number {
  return Math.ceil(value / align) * align;
}

function recordShape(parts: readonly { name: string; type: Type }[]): Shape {
  const fields: Member[] = [];
  let [at, unit, slotBytes, align, depth] = [0, 0, 0, 1, 0];
  for (const { name, type } of parts) {
    at = roundUp(at, type.align);
    fields.push({ name, type, unit, at });
    at += type.size;
    unit += type.units;
    slotBytes += type.slotBytes;
    align = Math.max(align, type.align);
    depth = Math.max(depth, type.depth);
  }
  const plan = sequence(fields.map(({ type, at }) => ({ plan: type.plan, at, size: type.size })));
  return {
    units: unit,
    slotBytes,
    size: roundUp(at, align),
    align,
    plan,
    depth: depth + 1,
    element: null,
    count: 1,
    fields,
    union: null,
  };
}

function unionShape(body: UnionBody, known: Known): Shape {
  const { arms, otherwise } = body;
  if (arms.length === 0 || arms.length > MAX_FIELDS) {
    throw malformed(`a union has from 1 to ${MAX_FIELDS} arms`);
  }
  const all = otherwise === null ? arms : [...arms, otherwise];
  checkDistinct(
    all.filter((arm) => arm.type !== 0),
    "arm",
  );
  if (otherwise !== null && otherwise.values.length > 0) {
    throw malformed("the default arm has case values");
  }
  const types = all.map((arm) => (arm.type === 0 ? null : known.embedded(arm.type)));
  const largest = (of: (type: Type) => number, least: number) =>
    types.reduce((most, type) => (type === null ? most : Math.max(most, of(type))), least);
  const align = largest((type) => type.align, 4);
  const armAt = roundUp(
    4,
    largest((type) => type.align, 1),
  );
  const slotBytes = 4 + largest((type) => type.slotBytes, 0);
  const size = roundUp(armAt + largest((type) => type.size, 0), align);
  const members = all.map((arm, index) => armMember(arm, types[index] ?? null, armAt));
  const discriminant = discriminantOf(body, known);
  const union: UnionMembers = {
    discriminant: { name: body.discriminant, type: discriminant },
    arms: casesOf(arms, members),
    otherwise: otherwise === null ? undefined : (members[arms.length] ?? null),
  };
  const planOf = (member: Member | null) => member?.type.plan ?? null;
  const leaf: Leaf = {
    kind: "union",
    width: size,
    union: {
      discriminant: discriminant.plan.pieces[0]?.body as Leaf,
      arms: new Map([...union.arms].map(([value, member]) => [value, planOf(member)])),
      otherwise: union.otherwise === undefined ? undefined : planOf(union.otherwise),
      armAt,
    },
  };
  const plan: Plan = leafPlan(leaf);
  return {
    units: 1,
    slotBytes,
    size,
    align,
    plan,
    depth: largest((type) => type.depth, 0) + 1,
    element: null,
    count: 1,
    fields: [],
    union,
  };
}

function armMember(arm: UnionArm, type: Type | null, at: number): Member | null {
  return type === null ? null : { name: arm.name, type, unit: 0, at };
}

function casesOf(arms: readonly UnionArm[], members: readonly (Member | null)[]) {
  const cases = new Map<number, Member | null>();
  arms.forEach((arm, index) => {
    for (const value of arm.values) {
      if (cases.has(value)) throw malformed(`case ${value} occurs twice`);
      cases.set(value, members[index] ?? null);
    }
  });
  return cases;
}

function discriminantOf(body: UnionBody, known: Known): Type {
  const serial = body.discriminant_type;
  const type = known.embedded(serial);
  const allowed: number[] = [Primitive.INT, Primitive.UINT, Primitive.BOOL];
  if (allowed.includes(serial) || type.descriptor.body.kind === TypeKind.ENUM) return type;
  throw malformed("a union's discriminant is an int, a uint, a bool or an enum");
}

function checkDistinct(named: readonly { name: string }[], what: string): void {
  const seen = new Set<string>();
  for (const { name } of named) {
    if (seen.has(name)) throw malformed(`${what} \`${name}\` occurs twice`);
    seen.add(name);
  }
}
