/** Errors about a value that a program stores, with its place: "node_t.kids[0].name: ...". */
import type { Type } from "../types/type.js";
import { InterweaveError } from "../wire/error.js";
import { ErrorCode } from "../wire/protocol/error.js";

const MOST_SHOWN = 60;
/** The errors about values, to which the place is added. */
const ABOUT_VALUES: number[] = [ErrorCode.BAD_VALUE, ErrorCode.TOO_LARGE, ErrorCode.BAD_POINTER];

class Misfit extends InterweaveError {
  constructor(
    code: ErrorCode,
    readonly path: string,
    readonly why: string,
  ) {
    super(code, path === "" ? why : `${path}: ${why}`);
  }
}

export function badValue(why: string): InterweaveError {
  return new Misfit(ErrorCode.BAD_VALUE, "", why);
}

/** Stores a part of a value. Errors name the part, ".field" or "[index]"; the whole comes last. */
export function within<T>(part: () => string, store: () => T): T {
  try {
    return store();
  } catch (error) {
    if (!(error instanceof InterweaveError) || !ABOUT_VALUES.includes(error.code)) throw error;
    const { path, why } = error instanceof Misfit ? error : { path: "", why: error.message };
    throw new Misfit(error.code, part() + path, why);
  }
}

/** A value in an error's text. Objects have no text of their own: views are without `toString`. */
export function shown(value: unknown): string {
  switch (typeof value) {
    case "string": {
      const text = JSON.stringify(value);
      return text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN)}..."`;
    }
    case "bigint":
      return `${value}n`;
    case "function":
      return "a function";
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) || ArrayBuffer.isView(value) ? "an array" : "an object";
    default:
      return String(value);
  }
}

/** "an int", "a uint" */
export function nameWithArticle({ name }: Type): string {
  return `${/^[aeio]/i.test(name) ? "an" : "a"} ${name || "value of that type"}`;
}

/** The error for a store to a field that does not exist. */
export function misspelt(type: Type, names: readonly string[], wrong: string): TypeError {
  const kind = type.union === null ? ["record", "field"] : ["union", "member"];
  const named = type.name === "" ? kind[0] : `${kind[0]} \`${type.name}\``;
  return new TypeError(
    `the ${named} has no ${kind[1]} \`${wrong}\`; it has ${names.join(", ") || "none"}`,
  );
}
