/** Follows a pointer from record to record: a linked list, as the rows of a table. */
import { follow } from "../src/client/pointers.js";
import type { Segment } from "../src/client/segment.js";
import { targetSerial, type Type } from "../src/types/type.js";
import { TypeKind } from "../src/wire/protocol/descriptor.js";
import { stepsTo } from "./cells.js";
import { fieldsOf, kindOf, resolve, type Spot, type Step } from "./spots.js";

/** A way along a list: through `first` to the first node (null: the value is it), then `next`. */
export interface Way {
  /** null: the value itself is the first node; "": the value is the pointer to it. */
  readonly first: string | null;
  readonly next: string;
}

export interface Node {
  readonly serial: number;
  readonly steps: readonly Step[];
}

export interface Chain {
  readonly nodes: readonly Node[];
  /** How the list ends: at NULL, where it began, elsewhere, or not yet. */
  readonly end: "NULL" | "a node that was there before" | "outside this segment" | "more";
}

/** The record that a pointer of the type leads to, if it leads to one. */
function targetOf(type: Type, { place }: Spot): Type | null {
  if (kindOf(type) !== TypeKind.POINTER) return null;
  const target = place.heap.copy.types.get(targetSerial(type.descriptor.body)) ?? null;
  return target !== null && target.fields.length > 0 ? target : null;
}

/** The fields of a record that lead to records of its own type. */
function nextFields(record: Type, spot: Spot): string[] {
  return record.fields
    .filter(({ type }) => targetOf(type, spot)?.serial === record.serial)
    .map(({ name }) => name);
}

/** All ways along lists that begin at a value. */
export function waysAlong(spot: Spot): Way[] {
  if (spot.isArray) return [];
  const { type } = spot.place;
  const own = targetOf(type, spot);
  if (own !== null) return nextFields(own, spot).map((next) => ({ first: "", next }));
  const ways: Way[] = nextFields(type, spot).map((next) => ({ first: null, next }));
  for (const { name, type: field } of type.fields) {
    const target = targetOf(field, spot);
    if (target === null || target.serial === type.serial) continue;
    ways.push(...nextFields(target, spot).map((next) => ({ first: name, next })));
  }
  return ways;
}

export function wayText({ first, next }: Way): string {
  return first === null || first === "" ? next : `${first}.${next}`;
}

/** Under a lock: the nodes, at most `most` of them. */
export function chainFrom(segment: Segment, start: Node, way: Way, most: number): Chain {
  const nodes: Node[] = [];
  const seen = new Set<string>();
  const add = (node: Node): boolean => {
    const id = JSON.stringify(node);
    if (seen.has(id)) return false;
    seen.add(id);
    nodes.push(node);
    return true;
  };
  let from: Spot | null = resolve(segment, start.serial, start.steps);
  let field = way.first;
  if (field === null) {
    add(start);
    field = way.next;
  }
  while (nodes.length < most && from !== null) {
    const name = field;
    const pointer =
      name === "" ? from : fieldsOf(from.place).find((each) => each.name === name)?.spot;
    const node = pointer === undefined ? null : nodeAt(segment, pointer);
    if (node === null || typeof node === "string") return { nodes, end: node ?? "NULL" };
    if (!add(node)) return { nodes, end: "a node that was there before" };
    from = resolve(segment, node.serial, node.steps);
    field = way.next;
  }
  return { nodes, end: "more" };
}

function nodeAt(segment: Segment, { place }: Spot): Node | null | "outside this segment" {
  try {
    const target = follow(place);
    if (target === null) return null;
    if (target.heap !== segment) return "outside this segment";
    const { serial } = target.block;
    return { serial, steps: stepsTo(resolve(segment, serial, []), target.unit) };
  } catch {
    return "outside this segment";
  }
}
