/**
 * Types declared in a program, without an .x file:
 *
 *     const node = t.record("node_t", { key: t.int, next: t.pointer("node_t") });
 *
 * `intern` finds a declared type in a segment's table, or makes the descriptors that are missing.
 */
import { InterweaveError } from "../wire/error.js";
import {
  Primitive,
  TypeKind,
  type TypeBody,
  type TypeDescriptor,
} from "../wire/protocol/descriptor.js";
import { ErrorCode } from "../wire/protocol/error.js";
import { primitives } from "./construction.js";
import { hashOf, type Referred } from "./signature.js";
import type { TypeTable } from "./table.js";
import type { Type } from "./type.js";

export interface DeclaredArm {
  readonly name: string;
  /** null: void */
  readonly type: Declared | null;
  readonly values: readonly number[];
}

/**
 * A declared type. A pointer names its target, which may be declared later, or be null: `void *`.
 * An array, string, pointer or sequence may have a name of its own, that of a typedef.
 */
export type Declared =
  | { readonly kind: "primitive"; readonly serial: Primitive }
  | {
      readonly kind: "enum";
      readonly name: string;
      readonly members: Readonly<Record<string, number>>;
    }
  | { readonly kind: "string" | "text"; readonly bound: number; readonly name?: string }
  | {
      readonly kind: "array";
      readonly element: Declared;
      readonly count: number;
      readonly name?: string;
    }
  | {
      readonly kind: "record";
      readonly name: string;
      readonly fields: Readonly<Record<string, Declared>>;
    }
  | {
      readonly kind: "union";
      readonly name: string;
      readonly discriminant: string;
      readonly discriminantType: Declared;
      readonly arms: readonly DeclaredArm[];
      readonly otherwise: Omit<DeclaredArm, "values"> | null;
    }
  | {
      readonly kind: "pointer";
      readonly target: Declared | string | null;
      readonly name?: string;
    }
  | {
      readonly kind: "sequence";
      readonly element: Declared | string;
      readonly bound: number;
      readonly name?: string;
    };

declare const VALUE: unique symbol;

/** A declared type whose values are `T` in TypeScript, as generated code has it. */
export type DeclaredAs<T> = Declared & { readonly [VALUE]?: T };

/** What a pointer or sequence leads to; a function names what is declared later. */
type Later<T> = T | (() => Declared);

function primitive(serial: Primitive): Declared {
  return { kind: "primitive", serial };
}

/** The types there are. */
export const t = {
  char: primitive(Primitive.CHAR),
  uchar: primitive(Primitive.UCHAR),
  short: primitive(Primitive.SHORT),
  ushort: primitive(Primitive.USHORT),
  int: primitive(Primitive.INT),
  uint: primitive(Primitive.UINT),
  hyper: primitive(Primitive.HYPER),
  uhyper: primitive(Primitive.UHYPER),
  float: primitive(Primitive.FLOAT),
  double: primitive(Primitive.DOUBLE),
  bool: primitive(Primitive.BOOL),
  enumeration: (name: string, members: Record<string, number>): Declared => ({
    kind: "enum",
    name,
    members,
  }),
  /** `string s<bound>`, in place; at most 4,096 bytes. */
  string: (bound: number): Declared => ({ kind: "string", bound }),
  /** `string s<>`, in a block that the field owns. */
  text: (bound = 0): Declared => ({ kind: "text", bound }),
  array: (element: Declared, ...counts: number[]): Declared =>
    counts.reduceRight<Declared>(
      (inner, count) => ({ kind: "array", element: inner, count }),
      element,
    ),
  record: (name: string, fields: Record<string, Declared>): Declared => ({
    kind: "record",
    name,
    fields,
  }),
  union: (
    name: string,
    [discriminant, discriminantType]: [string, Declared],
    arms: readonly DeclaredArm[],
    otherwise: Omit<DeclaredArm, "values"> | null = null,
  ): Declared => ({ kind: "union", name, discriminant, discriminantType, arms, otherwise }),
  pointer: (target: Later<Declared | string | null>): Declared => ({
    kind: "pointer",
    get target() {
      return typeof target === "function" ? target() : target;
    },
  }),
  /** `T x<bound>`, in a block that the field owns; 0: no bound. */
  sequence: (element: Later<Declared | string>, bound = 0): Declared => ({
    kind: "sequence",
    get element() {
      return typeof element === "function" ? element() : element;
    },
    bound,
  }),
  /** `typedef int row[3]`: the same type by a name of its own. */
  named: (name: string, type: Declared): Declared =>
    Object.defineProperties({} as Declared, {
      // Not what they are now: targets may be declared later.
      ...Object.getOwnPropertyDescriptors(type),
      name: { value: name, enumerable: true },
    }),
} as const;

function nameOf(type: Declared): string {
  return ("name" in type ? type.name : undefined) ?? "";
}

function unknown(name: string): InterweaveError {
  return new InterweaveError(
    ErrorCode.UNKNOWN_TYPE,
    `no type \`${name}\` is declared here or in the segment`,
  );
}

/** The descriptors of one declaration that a table lacks. */
class Interning {
  readonly descriptors: TypeDescriptor[] = [];
  private readonly serials = new Map<Declared, number>();
  private readonly hashes = new Map<Declared, bigint>();
  /** Named types that occur anywhere in the declaration. */
  private readonly named = new Map<string, Declared>();
  /** Pointers and sequences whose target has no serial yet. */
  private readonly open: { setTarget: (serial: number) => void; target: Declared }[] = [];

  constructor(
    private readonly table: TypeTable,
    root: Declared,
  ) {
    this.collectNames(root);
  }

  private collectNames(type: Declared): void {
    const name = nameOf(type);
    if (name !== "") {
      if (this.named.has(name)) return;
      this.named.set(name, type);
    }
    const parts: (Declared | string | null)[] =
      type.kind === "record"
        ? Object.values(type.fields)
        : type.kind === "union"
          ? [type.otherwise?.type ?? null, ...type.arms.map((arm) => arm.type)]
          : type.kind === "pointer"
            ? [type.target]
            : type.kind === "array" || type.kind === "sequence"
              ? [type.element]
              : [];
    for (const part of parts) {
      if (part !== null && typeof part !== "string") this.collectNames(part);
    }
  }

  intern(type: Declared): number {
    const serial = this.serialOf(type);
    for (let next = this.open.shift(); next !== undefined; next = this.open.shift()) {
      next.setTarget(this.serialOf(next.target));
    }
    return serial;
  }

  private serialOf(type: Declared): number {
    if (type.kind === "primitive") return type.serial;
    const known = this.serials.get(type);
    if (known !== undefined) return known;
    const name = nameOf(type);
    const twin = name === "" ? undefined : this.named.get(name);
    if (twin !== undefined && twin !== type && this.serials.has(twin)) return this.serialOf(twin);
    const hash = this.hash(type);
    const found = this.table.byHash(name, hash);
    if (found !== undefined) {
      this.serials.set(type, found.serial);
      return found.serial;
    }
    const body = this.body(type);
    const serial = this.table.nextSerial + this.descriptors.length;
    this.descriptors.push({ serial, name, hash, predecessor: 0n, body });
    this.serials.set(type, serial);
    return serial;
  }

  /** What a pointer leads to; a name is looked for in the declaration, then in the segment. */
  private target(target: Declared | string | null): Declared | { serial: number } {
    if (target === null) return { serial: 0 };
    if (typeof target !== "string") return target;
    const declared = this.named.get(target);
    if (declared !== undefined) return declared;
    const found = this.table.byName(target);
    if (found === undefined) throw unknown(target);
    return found;
  }

  private setOrDefer(target: Declared | string | null, setTarget: (serial: number) => void): void {
    const found = this.target(target);
    if ("serial" in found) setTarget(found.serial);
    else this.open.push({ setTarget, target: found });
  }

  private body(type: Exclude<Declared, { kind: "primitive" }>): TypeBody {
    switch (type.kind) {
      case "enum": {
        const members = Object.entries(type.members).map(([name, value]) => ({ name, value }));
        return { kind: TypeKind.ENUM, members };
      }
      case "string":
        return { kind: TypeKind.STRING, bound: type.bound };
      case "text":
        return { kind: TypeKind.TEXT, text_bound: type.bound };
      case "array": {
        const element = this.serialOf(type.element);
        return { kind: TypeKind.ARRAY, array: { element, count: type.count } };
      }
      case "record": {
        const fields = Object.entries(type.fields).map(([name, field]) => ({
          name,
          type: this.serialOf(field),
        }));
        return { kind: TypeKind.RECORD, fields };
      }
      case "union":
        return { kind: TypeKind.UNION, choice: this.unionBody(type) };
      case "pointer": {
        const body = { kind: TypeKind.POINTER, target: 0 };
        this.setOrDefer(type.target, (serial) => (body.target = serial));
        return body;
      }
      case "sequence": {
        const sequence = { element: 0, bound: type.bound };
        this.setOrDefer(type.element, (serial) => (sequence.element = serial));
        return { kind: TypeKind.SEQUENCE, sequence };
      }
    }
  }

  private unionBody(type: Extract<Declared, { kind: "union" }>) {
    const arm = ({ name, type: of, values }: DeclaredArm) => ({
      name,
      type: of === null ? 0 : this.serialOf(of),
      values: [...values],
    });
    return {
      discriminant: type.discriminant,
      discriminant_type: this.serialOf(type.discriminantType),
      arms: type.arms.map(arm),
      otherwise: type.otherwise === null ? null : arm({ ...type.otherwise, values: [] }),
    };
  }

  /** The hash of a structure, of which nothing needs to have a serial yet. */
  private hash(type: Declared, depth = 0): bigint {
    if (type.kind === "primitive") return primitives[type.serial - 1]?.hash ?? 0n;
    let hash = this.hashes.get(type);
    if (hash === undefined) this.hashes.set(type, (hash = this.newHash(type, depth)));
    return hash;
  }

  private newHash(type: Exclude<Declared, { kind: "primitive" }>, depth: number): bigint {
    if (depth > 64) {
      throw new InterweaveError(
        ErrorCode.BAD_ARGUMENT,
        "types are embedded more than 64 deep, or a type without a name contains itself",
      );
    }
    // Parts are numbered as they come, and asked for by their number.
    const parts: (Declared | { serial: number })[] = [];
    const number = (part: Declared | { serial: number }) => parts.push(part);
    const referred: Referred = {
      embedded: (index) => this.hash(parts[index - 1] as Declared, depth + 1),
      target: (index) => {
        const part = parts[index - 1] as Declared | { serial: number };
        if ("serial" in part && !("kind" in part)) {
          const { name, hash } = this.table.get(part.serial) ?? { name: "", hash: 0n };
          return { name, hash };
        }
        const declared = part as Declared;
        if (declared.kind === "primitive") {
          return { name: primitives[declared.serial - 1]?.name ?? "", hash: 0n };
        }
        const name = nameOf(declared);
        return { name, hash: name === "" ? this.hash(declared, depth + 1) : 0n };
      },
    };
    return hashOf(this.numbered(type, number), referred);
  }

  /** The body with numbers of parts where serials will be. */
  private numbered(
    type: Exclude<Declared, { kind: "primitive" }>,
    number: (part: Declared | { serial: number }) => number,
  ): TypeBody {
    const arm = ({ name, type: of, values }: DeclaredArm) => ({
      name,
      type: of === null ? 0 : number(of),
      values: [...values],
    });
    switch (type.kind) {
      case "array":
        return {
          kind: TypeKind.ARRAY,
          array: { element: number(type.element), count: type.count },
        };
      case "record": {
        const fields = Object.entries(type.fields).map(([name, field]) => ({
          name,
          type: number(field),
        }));
        return { kind: TypeKind.RECORD, fields };
      }
      case "union":
        return {
          kind: TypeKind.UNION,
          choice: {
            discriminant: type.discriminant,
            discriminant_type: number(type.discriminantType),
            arms: type.arms.map(arm),
            otherwise: type.otherwise === null ? null : arm({ ...type.otherwise, values: [] }),
          },
        };
      case "pointer":
        return {
          kind: TypeKind.POINTER,
          target: type.target === null ? 0 : number(this.target(type.target)),
        };
      case "sequence": {
        const element = number(this.target(type.element));
        return { kind: TypeKind.SEQUENCE, sequence: { element, bound: type.bound } };
      }
      default:
        return this.body(type);
    }
  }
}

/** The type's serial, and the descriptors that the table lacks for it. */
export function intern(
  table: TypeTable,
  type: Declared,
): { serial: number; descriptors: TypeDescriptor[] } {
  const interning = new Interning(table, type);
  const serial = interning.intern(type);
  return { serial, descriptors: interning.descriptors };
}

const found = new WeakMap<TypeTable, Map<Declared, Type>>();

/** The type of a table that is the declared one; undefined: it has none. */
export function declaredIn(table: TypeTable, type: Declared): Type | undefined {
  let known = found.get(table);
  if (known === undefined) found.set(table, (known = new Map<Declared, Type>()));
  const before = known.get(type);
  if (before !== undefined) return before;
  const { serial, descriptors } = intern(table, type);
  const now = descriptors.length === 0 ? table.get(serial) : undefined;
  if (now !== undefined) known.set(type, now);
  return now;
}
