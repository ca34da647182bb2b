/**
 * Types as the conformance runner writes them (conformance/README.md): JSON to
 * declarations and back.
 */
import { InterweaveError } from "../src/wire/error.js";
import { Primitive, TypeKind, type UnionArm } from "../src/wire/protocol/descriptor.js";
import { ErrorCode } from "../src/wire/protocol/error.js";
import { t, type Declared, type DeclaredArm } from "../src/types/declare.js";
import type { Heap } from "../src/client/place.js";
import type { Type } from "../src/types/type.js";

type Json = string | null | { [member: string]: never };
type NamedArm = [name: string, type: Json, values?: number[]];

interface UnionJson {
  on: [string, Json];
  arms: NamedArm[];
  default?: NamedArm;
}

/** The types declared to this process. */
export class Declarations {
  private readonly texts = new Map<string, Json>();
  private readonly made = new Map<string, Declared>();

  add(list: ({ name: string } & Json)[]): void {
    for (const type of list) this.texts.set(type.name, type);
    for (const { name } of list) this.made.delete(name);
  }

  named(name: string): Declared {
    const found = (t as unknown as Record<string, Declared>)[name];
    if (name.toUpperCase() in Primitive && found !== undefined) return found;
    let made = this.made.get(name);
    if (made === undefined) {
      const text = this.texts.get(name);
      if (text === undefined) {
        throw new InterweaveError(ErrorCode.UNKNOWN_TYPE, `no type \`${name}\` is declared`);
      }
      this.made.set(name, (made = this.from(text, name)));
    }
    return made;
  }

  from(json: Json, name = ""): Declared {
    if (json === null) throw new InterweaveError(ErrorCode.BAD_ARGUMENT, "null is not a type here");
    if (typeof json === "string") return this.named(json);
    const body = json as Record<string, never>;
    if ("string" in body) return t.string(body["string"] as number);
    if ("text" in body) return t.text(body["text"] as number);
    if ("array" in body) return t.array(this.from(body["array"][0]), body["array"][1] as number);
    if ("enum" in body)
      return t.enumeration(name, Object.fromEntries(body["enum"] as [string, number][]));
    if ("record" in body) {
      const fields = body["record"] as [string, Json][];
      return t.record(
        name,
        Object.fromEntries(fields.map(([field, type]) => [field, this.from(type)])),
      );
    }
    if ("union" in body) return this.union(name, body["union"]);
    // What these lead to may be declared later, or be the type itself.
    const lead = (target: Json) => this.from(target);
    if ("pointer" in body) {
      const target = body["pointer"] as Json;
      return {
        kind: "pointer",
        get target() {
          return target === null ? null : lead(target);
        },
      };
    }
    if ("sequence" in body) {
      const [element, bound] = body["sequence"] as [Json, number];
      return {
        kind: "sequence",
        get element() {
          return lead(element);
        },
        bound,
      };
    }
    throw new InterweaveError(ErrorCode.BAD_ARGUMENT, `${JSON.stringify(json)} is no type`);
  }

  private union(name: string, { on, arms, default: otherwise }: UnionJson): Declared {
    const arm = ([armName, type, values = []]: NamedArm): DeclaredArm => ({
      name: armName,
      type: type === null ? null : this.from(type),
      values,
    });
    return t.union(
      name,
      [on[0], this.from(on[1])],
      arms.map(arm),
      otherwise === undefined ? null : arm(otherwise),
    );
  }
}

/** The name of a type, or what an anonymous one is made of. */
export function typeJson(type: Type, heap: Heap): unknown {
  if (type.name !== "") return type.name;
  const of = (serial: number) => {
    const found = heap.copy.types.get(serial);
    return found === undefined ? null : typeJson(found, heap);
  };
  const { body } = type.descriptor;
  const arm = ({ name, type: serial, values }: UnionArm) => [name, of(serial), values];
  switch (body.kind) {
    case TypeKind.STRING:
      return { string: body.bound };
    case TypeKind.TEXT:
      return { text: body.text_bound };
    case TypeKind.ARRAY:
      return { array: [of(body.array.element), body.array.count] };
    case TypeKind.SEQUENCE:
      return { sequence: [of(body.sequence.element), body.sequence.bound] };
    case TypeKind.POINTER:
      return { pointer: of(body.target) };
    case TypeKind.ENUM:
      return { enum: body.members.map(({ name, value }) => [name, value]) };
    case TypeKind.RECORD:
      return { record: body.fields.map(({ name, type: serial }) => [name, of(serial)]) };
    case TypeKind.UNION: {
      const { discriminant, discriminant_type, arms, otherwise } = body.choice;
      const rest = otherwise === null ? {} : { default: arm(otherwise).slice(0, 2) };
      return { union: { on: [discriminant, of(discriminant_type)], arms: arms.map(arm), ...rest } };
    }
    default:
      return null;
  }
}
