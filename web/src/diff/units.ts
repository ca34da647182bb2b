/**
 * Values in travelling form (spec/format/wire-format.md) and in memory: checks, and conversion both
 * ways. `checkUnits` checks the travelling form once, and `placeUnits` relies on that check.
 */
import {
  selectedArm,
  SHORT_STRING,
  walk,
  type Leaf,
  type Plan,
  type UnionPlan,
} from "../types/plan.js";
import { InterweaveError } from "../wire/error.js";
import { ErrorCode } from "../wire/protocol/error.js";
import { getPointer, isNull, POINTER_BYTES } from "../wire/pointer.js";
import type { ByteWriter, Cursor } from "../wire/varint.js";

function badValue(text: string): InterweaveError {
  return new InterweaveError(ErrorCode.BAD_VALUE, text);
}

/** [WIRE-4]; zero is the value of memory that was never written. */
function checkNumber(leaf: Leaf, value: number): void {
  if (leaf.kind === "bool" && (value & ~1) !== 0) throw badValue(`a bool is ${value}, not 0 or 1`);
  if (leaf.kind === "enum" && value !== 0 && !leaf.members.has(value)) {
    throw badValue(`${value} is not a member of its enum`);
  }
}

function armFor(union: UnionPlan, discriminant: number): Plan | null {
  checkNumber(union.discriminant, discriminant);
  const arm = selectedArm(union, discriminant);
  if (arm === undefined && discriminant !== 0) {
    throw badValue(`a union has no arm for ${discriminant}`);
  }
  return arm ?? null;
}

/** [WIRE-6]; `slots` is the length of the slot table. */
export function checkPointer(view: DataView, at: number, slots: number, isOwned: boolean): void {
  if (isNull(view, at)) return;
  const { slot, serial, offset } = getPointer(view, at);
  let wrong = "";
  if (slot > slots) wrong = `slot ${slot} is not in the table of ${slots}`;
  else if (serial === 0) wrong = "no block, but not NULL";
  else if (isOwned && (slot !== 0 || offset !== 0n)) {
    wrong = "an owned block lies in its own segment, offset 0";
  } else return;
  throw new InterweaveError(
    ErrorCode.BAD_POINTER,
    `a pointer (slot ${slot}, serial ${serial}, offset ${offset}) is refused: ${wrong}`,
  );
}

function checkShortStrings(bytes: Uint8Array, bound: number): void {
  for (let at = 0; at < bytes.length; at += bound) {
    const end = bytes.indexOf(0, at);
    if (end < 0) return;
    if (end >= at + bound) {
      at = Math.floor(end / bound) * bound - bound;
      continue;
    }
    for (let i = end; i < at + bound; ++i) {
      if (bytes[i] !== 0) throw badValue("bytes follow the end of a string");
    }
  }
}

function checkLongString(input: Cursor, bound: number): void {
  const length = input.view.getUint16(input.skip(2), true);
  if (length > bound) throw badValue(`a string of ${length} bytes where ${bound} is the most`);
  if (input.take(length).includes(0)) throw badValue("a NUL inside a string");
}

function checkUnion(input: Cursor, union: UnionPlan, slots: number): void {
  const arm = armFor(union, input.view.getInt32(input.skip(4), true));
  if (arm !== null) walk(arm, 0, arm.units, 0, checker(input, slots));
}

function checker(input: Cursor, slots: number) {
  return (leaf: Leaf, _at: number, units: number): void => {
    switch (leaf.kind) {
      case "plain":
        input.skip(leaf.width * units);
        return;
      case "bool":
      case "enum":
        for (let at = input.skip(4 * units); at < input.at; at += 4) {
          checkNumber(leaf, input.view.getInt32(at, true));
        }
        return;
      case "pointer":
      case "owned":
        for (let at = input.skip(POINTER_BYTES * units); at < input.at; at += POINTER_BYTES) {
          checkPointer(input.view, at, slots, leaf.kind === "owned");
        }
        return;
      case "string":
        if (leaf.width <= SHORT_STRING)
          checkShortStrings(input.take(leaf.width * units), leaf.width);
        else for (let i = 0; i < units; ++i) checkLongString(input, leaf.width);
        return;
      case "union":
        for (let i = 0; i < units; ++i) checkUnion(input, leaf.union, slots);
    }
  };
}

/** Takes `count` units off the cursor, which must lie within the plan. */
export function checkUnits(
  plan: Plan,
  first: number,
  count: number,
  input: Cursor,
  slots: number,
): void {
  walk(plan, first, count, 0, checker(input, slots));
}

function placer(input: Cursor, memory: Uint8Array) {
  return (leaf: Leaf, at: number, units: number): void => {
    const { width } = leaf;
    if (leaf.kind === "union") {
      for (let i = 0; i < units; ++i) placeUnion(input, leaf.union, memory, at + i * width, width);
    } else if (leaf.kind === "string" && width > SHORT_STRING) {
      for (let i = 0; i < units; ++i) {
        const bytes = input.take(input.view.getUint16(input.skip(2), true));
        memory.set(bytes, at + i * width);
        memory.fill(0, at + i * width + bytes.length, at + (i + 1) * width);
      }
    } else {
      memory.set(input.take(width * units), at);
    }
  };
}

function placeUnion(
  input: Cursor,
  union: UnionPlan,
  memory: Uint8Array,
  at: number,
  size: number,
): void {
  memory.fill(0, at, at + size);
  const discriminant = input.view.getInt32(input.at, true);
  memory.set(input.take(4), at);
  const arm = armFor(union, discriminant);
  if (arm !== null) walk(arm, 0, arm.units, at + union.armAt, placer(input, memory));
}

/** Writes `count` units, which `checkUnits` found right, into memory. */
export function placeUnits(
  plan: Plan,
  first: number,
  count: number,
  input: Cursor,
  memory: Uint8Array,
): void {
  walk(plan, first, count, 0, placer(input, memory));
}

/** The end of a string of at most that bound. */
export function endOfString(memory: Uint8Array, at: number, bound: number): number {
  const end = memory.subarray(at, at + bound).indexOf(0);
  return end < 0 ? at + bound : at + end;
}

function collector(memory: Uint8Array, view: DataView, out: ByteWriter) {
  const collect = (leaf: Leaf, at: number, units: number): void => {
    const { width } = leaf;
    if (leaf.kind === "union") {
      for (let i = 0; i < units; ++i) collectUnion(leaf.union, at + i * width);
    } else if (leaf.kind === "string" && width > SHORT_STRING) {
      for (let i = 0; i < units; ++i) {
        const begin = at + i * width;
        const bytes = memory.subarray(begin, endOfString(memory, begin, width));
        out.byte(bytes.length & 0xff);
        out.byte(bytes.length >> 8);
        out.put(bytes);
      }
    } else {
      if (leaf.kind === "bool" || leaf.kind === "enum") {
        for (let i = 0; i < units; ++i) checkNumber(leaf, view.getInt32(at + 4 * i, true));
      }
      out.put(memory.subarray(at, at + width * units));
    }
  };
  const collectUnion = (union: UnionPlan, at: number): void => {
    out.put(memory.subarray(at, at + 4));
    const arm = armFor(union, view.getInt32(at, true));
    if (arm !== null) walk(arm, 0, arm.units, at + union.armAt, collect);
  };
  return collect;
}

/** Appends `count` units of memory in travelling form. */
export function collectUnits(
  plan: Plan,
  first: number,
  count: number,
  memory: Uint8Array,
  view: DataView,
  out: ByteWriter,
): void {
  walk(plan, first, count, 0, collector(memory, view, out));
}

/**
 * Takes the next run's gap and count off a block's diff; `position` is the unit after the previous
 * run. null at the end.
 */
export function nextRun(
  units: number,
  position: number,
  input: Cursor,
): { first: number; count: number } | null {
  if (input.isAtEnd) return null;
  const [gap, count] = [input.varint(), input.varint()];
  const first = position + gap;
  if (count > 0 && first + count <= units) return { first, count };
  throw new InterweaveError(
    ErrorCode.MALFORMED,
    `a run of ${count} units, ${gap} after unit ${position}, in a block of ${units} units`,
  );
}
