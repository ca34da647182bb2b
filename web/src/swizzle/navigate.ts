/**
 * From a unit of a block to the value of a type that begins there, and back: pointers may lead to
 * blocks, to elements, and to fields inside.
 */
import type { CopiedBlock } from "../diff/copy.js";
import { isSameType, type Type } from "../types/type.js";

/** A value in memory. */
export interface Spot {
  readonly type: Type;
  /** In bytes from the block's beginning. */
  readonly at: number;
  /** How many values of the type follow one another from here, this one included. */
  readonly count: number;
}

/** Finds the value at a unit; null: none of that type begins there. A null type: the outermost. */
export function spotAt(block: CopiedBlock, unit: number, wanted: Type | null): Spot | null {
  if (unit < 0 || unit >= block.units) return null;
  let spot = elementOf(block.type, block.count, 0, unit);
  for (;;) {
    const isThere = spot.rest === 0;
    if (isThere && (wanted === null || isSameType(spot.type, wanted))) return spot;
    const inner = inside(spot);
    if (inner === null) return null;
    spot = inner;
  }
}

/** A spot that may begin before the unit: `rest` units before. */
type Around = Spot & { readonly rest: number };

function elementOf(type: Type, count: number, at: number, unit: number): Around {
  const index = Math.floor(unit / type.units);
  const rest = unit - index * type.units;
  return { type, at: at + index * type.size, count: count - index, rest };
}

function inside({ type, at, rest }: Around): Around | null {
  if (type.element !== null) return elementOf(type.element, type.count, at, rest);
  const field = type.fields.findLast(({ unit }) => unit <= rest);
  if (field === undefined) return null;
  return { type: field.type, at: at + field.at, count: 1, rest: rest - field.unit };
}
