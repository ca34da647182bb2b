/**
 * What the viewer shows: values of a segment, named by block and a path of fields and elements, and
 * resolved anew for every version.
 */
import {
  activeArm,
  elementsAt,
  inside,
  insideArm,
  isNumeric,
  type NumericArray,
} from "../src/client/values.js";
import type { Heap, Place } from "../src/client/place.js";
import type { CopiedBlock } from "../src/diff/copy.js";
import type { Type } from "../src/types/type.js";
import { TypeKind } from "../src/wire/protocol/descriptor.js";

/** `count` values of the place's type, side by side; one value alone has `isArray` false. */
export interface Spot {
  readonly place: Place;
  readonly count: number;
  readonly isArray: boolean;
}

/** A field's name, or an element's index. */
export type Step = string | number;

export function kindOf(type: Type): TypeKind {
  return type.descriptor.body.kind;
}

/** An array is the values that it has. */
export function spotOf(place: Place): Spot {
  const { type } = place;
  if (type.element === null) return { place, count: 1, isArray: false };
  return { place: { ...place, type: type.element }, count: type.count, isArray: true };
}

/** By name or serial, as a page's address gives it: names do not begin with a digit. */
export function findBlock({ copy }: Heap, which: string): CopiedBlock | null {
  const serial = /^[0-9]+$/.test(which) ? Number(which) : null;
  return (serial === null ? copy.names.get(which) : copy.blocks.get(serial)) ?? null;
}

export function blockSpot(heap: Heap, serial: number): Spot | null {
  const block = heap.copy.blocks.get(serial);
  if (block === undefined) return null;
  const place = { heap, block, type: block.type, at: 0, unit: 0, isInArm: false };
  return block.count === 1 ? spotOf(place) : { place, count: block.count, isArray: true };
}

/** The fields of a record, or the discriminant and active arm of a union. */
export function fieldsOf(place: Place): { name: string; spot: Spot }[] {
  const { type } = place;
  if (type.union === null) {
    return type.fields.map(({ name, type: field, at, unit }) => ({
      name,
      spot: spotOf(inside(place, field, at, unit)),
    }));
  }
  const { discriminant } = type.union;
  const arm = activeArm(place);
  const fields = [{ name: discriminant.name, spot: spotOf({ ...place, type: discriminant.type }) }];
  if (arm !== null) fields.push({ name: arm.name, spot: spotOf(insideArm(place, arm)) });
  return fields;
}

export function elementOf({ place, count }: Spot, index: number): Spot | null {
  if (index < 0 || index >= count) return null;
  const { type } = place;
  return spotOf(inside(place, type, index * type.size, index * type.units));
}

export function resolve(heap: Heap, serial: number, steps: readonly Step[]): Spot | null {
  let spot = blockSpot(heap, serial);
  for (const step of steps) {
    if (spot === null) return null;
    if (typeof step === "number") spot = elementOf(spot, step);
    else spot = fieldsOf(spot.place).find(({ name }) => name === step)?.spot ?? null;
  }
  return spot;
}

/** The lengths of nested arrays down to numbers; null: not an array of numbers. */
export function shapeOf({ place, count, isArray }: Spot): number[] | null {
  if (!isArray) return null;
  const shape = [count];
  let { type } = place;
  for (; type.element !== null; type = type.element) shape.push(type.count);
  return isNumeric(type) ? shape : null;
}

/** All numbers of nested arrays, row by row. */
export function numbersOf({ place, count }: Spot): NumericArray {
  let { type } = place;
  for (; type.element !== null; type = type.element) count *= type.count;
  return elementsAt({ ...place, type }, count) as NumericArray;
}

/** `field.sub[3]` and back. */
export function pathText(steps: readonly Step[]): string {
  return steps
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`))
    .join("")
    .replace(/^\./, "");
}

export function parsePath(text: string): Step[] {
  return [...text.matchAll(/\[([0-9]+)\]|([^.[\]]+)/g)].map(([, index, name]) =>
    index === undefined ? (name as string) : Number(index),
  );
}

export function typeText(type: Type, heap: Heap): string {
  const { body } = type.descriptor;
  const named = (serial: number) => {
    const target = heap.copy.types.get(serial);
    return target === undefined ? "void" : typeText(target, heap);
  };
  if (type.name !== "") return type.name;
  switch (body.kind) {
    case TypeKind.STRING:
      return `string<${body.bound}>`;
    case TypeKind.ARRAY:
      // The outer length stands first.
      return named(body.array.element).replace(/(\[|$)/, `[${body.array.count}]$1`);
    case TypeKind.POINTER: {
      const target = heap.copy.types.get(body.target);
      return `${target === undefined ? "void" : target.name || "…"} *`;
    }
    case TypeKind.SEQUENCE: {
      const { element, bound } = body.sequence;
      return `${heap.copy.types.get(element)?.name || "…"}<${bound === 0 ? "" : bound}>`;
    }
    case TypeKind.TEXT:
      return "string<>";
    case TypeKind.RECORD:
      return "struct";
    case TypeKind.UNION:
      return "union";
    default:
      return "enum";
  }
}

export function spotTypeText({ place, count, isArray }: Spot): string {
  const text = typeText(place.type, place.heap);
  return isArray ? text.replace(/(\[|$)/, `[${count}]$1`) : text;
}
