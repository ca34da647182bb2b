/**
 * What every failed call throws. The text says what was asked, what was found and what to do; the
 * code, of spec/protocol/error.x, is for programs.
 */
import { ErrorCode } from "./protocol/error.js";
import { XdrError } from "./protocol/xdr.js";

const names = new Map<number, string>(
  Object.entries(ErrorCode).map(([name, code]) => [code, name]),
);

/** The name in error.x: "NO_BLOCK". */
export function nameOfCode(code: number): string {
  return names.get(code) ?? "?";
}

export class InterweaveError extends Error {
  override name = "InterweaveError";

  constructor(
    readonly code: ErrorCode,
    text: string,
  ) {
    super(text);
  }

  /** "NO_BLOCK" */
  get codeName(): string {
    return nameOfCode(this.code);
  }
}

export function malformed(text: string): InterweaveError {
  return new InterweaveError(ErrorCode.MALFORMED, text);
}

/** Runs a decoder of XDR; what it refuses is MALFORMED. */
export function decoding<T>(what: string, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof XdrError) throw malformed(`${what}: ${error.message}`);
    throw error;
  }
}
