/** What people type, as a value of a type. Numbers are those that `interweave set` takes. */
import { integersOf, notOf, numbersText } from "../src/client/values.js";
import { Primitive, TypeKind } from "../src/wire/protocol/descriptor.js";
import type { Type } from "../src/types/type.js";

/** Of JSON, as the texts of `interweave set`. */
const INTEGER = /^(?:0|-?[1-9][0-9]*)$/;
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const BLANKS = /^[ \t\n\r]+|[ \t\n\r]+$/g;

/** The numbers that JSON has no text for. */
const NAMED = new Map([
  ["NaN", NaN],
  ["inf", Infinity],
  ["-inf", -Infinity],
]);

function integer(type: Type, text: string, low: number | bigint, high: number | bigint) {
  const value = INTEGER.test(text) ? BigInt(text) : null;
  if (value === null || value < low || value > high) throw notOf(type, text, numbersText(type));
  return typeof low === "bigint" ? value : Number(value);
}

function floating(type: Type, text: string): number {
  const value = NAMED.get(text) ?? (NUMBER.test(text) ? Number(text) : Infinity);
  // A number too large for a double is not meant to be infinity.
  if (!Number.isFinite(value) && !NAMED.has(text)) {
    throw notOf(type, text, "a number, NaN, inf or -inf");
  }
  return value;
}

/** Throws if the text is not a value of the type, and says why. */
export function typedValue(type: Type, text: string): unknown {
  if (type.descriptor.body.kind !== TypeKind.PRIMITIVE) return text;
  const trimmed = text.replace(BLANKS, "");
  if (type.serial === Primitive.BOOL) {
    if (trimmed !== "true" && trimmed !== "false") throw notOf(type, text, "true or false");
    return trimmed === "true";
  }
  const integers = integersOf(type);
  if (integers === null) return floating(type, trimmed);
  return integer(type, trimmed, integers.low, integers.high);
}

/** The text of a number that is to be edited: it is read back as the same number. */
export function numberTyped(value: number | bigint): string {
  for (const [name, named] of NAMED) if (Object.is(named, value)) return name;
  return Object.is(value, -0) ? "-0" : String(value);
}
