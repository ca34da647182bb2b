/** One type of a segment: its descriptor and what follows from it. */
import {
  Primitive,
  TypeKind,
  type TypeBody,
  type TypeDescriptor,
} from "../wire/protocol/descriptor.js";
import type { Plan } from "./plan.js";

/** A field, or an arm of a union, and where it lies. */
export interface Member {
  readonly name: string;
  readonly type: Type;
  /** In units from the record's beginning; in a union all is one unit. */
  readonly unit: number;
  /** In bytes. */
  readonly at: number;
}

export interface UnionMembers {
  readonly discriminant: { readonly name: string; readonly type: Type };
  /** By case; null for a void arm. */
  readonly arms: ReadonlyMap<number, Member | null>;
  /** undefined: the union has no default arm. */
  readonly otherwise: Member | null | undefined;
}

export interface Type {
  readonly serial: number;
  /** "" for an anonymous type. */
  readonly name: string;
  readonly hash: bigint;
  readonly descriptor: TypeDescriptor;
  readonly units: number;
  /** In wire format. */
  readonly slotBytes: number;
  /** In memory: bytes, and what their address is a multiple of. */
  readonly size: number;
  readonly align: number;
  readonly plan: Plan;
  readonly depth: number;
  /** Of an array. */
  readonly element: Type | null;
  readonly count: number;
  /** Of a record. */
  readonly fields: readonly Member[];
  readonly union: UnionMembers | null;
}

/** What a pointer or a sequence leads to; null: `void *`, or no pointer. */
export function targetSerial(body: TypeBody): number {
  switch (body.kind) {
    case TypeKind.POINTER:
      return body.target;
    case TypeKind.SEQUENCE:
      return body.sequence.element;
    case TypeKind.TEXT:
      return Primitive.CHAR;
    default:
      return 0;
  }
}

/** As two programs would say it: the name, and the structure. */
export function isSameType(a: Type, b: Type): boolean {
  return a === b || (a.name === b.name && a.hash === b.hash);
}
