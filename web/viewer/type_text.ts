/** Types as an interface file declares them, whole: with the bodies of what has no name. */
import type { Heap } from "../src/client/place.js";
import type { Type } from "../src/types/type.js";
import { TypeKind } from "../src/wire/protocol/descriptor.js";
import { kindOf, typeText } from "./spots.js";

/** `double x[3][4]`, `node_t *next`, `string label<31>`. */
function declared(type: Type, name: string, heap: Heap, indent: string): string {
  const { body } = type.descriptor;
  if (type.name !== "") return `${type.name} ${name}`;
  const targetOf = (serial: number) => heap.copy.types.get(serial);
  switch (body.kind) {
    case TypeKind.STRING:
      return `string ${name}<${body.bound}>`;
    case TypeKind.TEXT:
      return `string ${name}<>`;
    case TypeKind.ARRAY:
      return declared(type.element as Type, `${name}[${type.count}]`, heap, indent);
    case TypeKind.POINTER: {
      const target = targetOf(body.target);
      return target === undefined ? `void *${name}` : declared(target, `*${name}`, heap, indent);
    }
    case TypeKind.SEQUENCE: {
      const element = targetOf(body.sequence.element);
      const bound = body.sequence.bound === 0 ? "" : String(body.sequence.bound);
      if (element === undefined) return `${typeText(type, heap)} ${name}`;
      return declared(element, `${name}<${bound}>`, heap, indent);
    }
    default:
      return `${bodied(type, "", heap, indent)} ${name}`;
  }
}

/** `struct name { ... }`, and as much of enums and unions. */
function bodied(type: Type, name: string, heap: Heap, indent: string): string {
  const inner = `${indent}  `;
  const { body } = type.descriptor;
  const head = (word: string, more = "") => [word, name, more].filter(Boolean).join(" ");
  const block = (word: string, lines: string[]) =>
    `${word} {\n${lines.map((line) => `${inner}${line}\n`).join("")}${indent}}`;
  const field = (of: Type, called: string) => `${declared(of, called, heap, inner)};`;
  if ("members" in body) {
    return block(
      head("enum"),
      body.members.map(({ name: member, value }) => `${member} = ${value},`),
    );
  }
  if (type.union !== null) {
    const { discriminant, arms, otherwise } = type.union;
    const lines = [...arms].map(([value, arm]) => {
      return `case ${value}: ${arm === null ? "void;" : field(arm.type, arm.name)}`;
    });
    if (otherwise !== undefined)
      lines.push(
        `default: ${otherwise === null ? "void;" : field(otherwise.type, otherwise.name)}`,
      );
    const on = declared(discriminant.type, discriminant.name, heap, inner);
    return block(head("union", `switch (${on})`), lines);
  }
  return block(
    head("struct"),
    type.fields.map((each) => field(each.type, each.name)),
  );
}

/** The declaration of a type that has a name. */
export function declarationOf(type: Type, heap: Heap): string {
  const kinds: number[] = [TypeKind.RECORD, TypeKind.UNION, TypeKind.ENUM];
  if (kinds.includes(kindOf(type))) return `${bodied(type, type.name, heap, "")};`;
  return `typedef ${declared({ ...type, name: "" }, type.name, heap, "")};`;
}
