/**
 * Varints and the cursor that reads the bytes of diffs (spec/format/diff.md): LEB128, unsigned, at
 * most 10 bytes, the shortest form [DIFF-1].
 */
import { malformed } from "./error.js";
import { MAX_SERIAL } from "./pointer.js";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const MAX_U64 = (1n << 64n) - 1n;

/** Reads bytes from the front; never beyond the end. */
export class Cursor {
  readonly view: DataView;
  at = 0;

  constructor(readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }

  /** Steps over so many bytes; where they begin. */
  skip(count: number): number {
    const at = this.at;
    if (count > this.bytes.length - at) {
      throw malformed(`${count} bytes are wanted where ${this.bytes.length - at} are left`);
    }
    this.at = at + count;
    return at;
  }

  take(count: number): Uint8Array {
    const at = this.skip(count);
    return this.bytes.subarray(at, at + count);
  }

  byte(): number {
    return this.view.getUint8(this.skip(1));
  }

  text(count: number): string | undefined {
    const bytes = this.take(count);
    try {
      return utf8.decode(bytes);
    } catch {
      return undefined;
    }
  }

  /** A varint that is a count, a length or a serial here: beyond 2^53 it is more than anything. */
  varint(): number {
    const bytes = this.bytes;
    const first = bytes[this.at];
    if (first !== undefined && first < 0x80) {
      this.at += 1;
      return first;
    }
    const value = this.varint64();
    return value > BigInt(Number.MAX_SAFE_INTEGER) ? Infinity : Number(value);
  }

  varint64(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (byte === 0 && shift > 0n) throw malformed("a varint is not in its shortest form");
        if (value > MAX_U64) break;
        return value;
      }
    }
    throw malformed("a varint has more than 64 bits");
  }

  /** The serial that is that varint's distance from another. */
  serialAfter(previous: number): number {
    const serial = BigInt(previous) + unzigzag(this.varint64());
    if (serial < 1n || serial > BigInt(MAX_SERIAL)) {
      throw malformed(`${serial} is not the serial of a block`);
    }
    return Number(serial);
  }
}

export function unzigzag(value: bigint): bigint {
  return (value >> 1n) ^ -(value & 1n);
}

/** Bytes of a diff under construction. */
export class ByteWriter {
  private bytes = new Uint8Array(256);
  length = 0;

  /** Room for so many more bytes; where they begin. */
  private room(count: number): number {
    const at = this.length;
    this.length += count;
    if (this.length > this.bytes.length) {
      const grown = new Uint8Array(Math.max(this.length, 2 * this.bytes.length));
      grown.set(this.bytes.subarray(0, at));
      this.bytes = grown;
    }
    return at;
  }

  byte(value: number): void {
    const at = this.room(1);
    this.bytes[at] = value;
  }

  put(bytes: Uint8Array): void {
    const at = this.room(bytes.length);
    this.bytes.set(bytes, at);
  }

  varint(value: number | bigint): void {
    if (typeof value === "number" && value < 0x80) return this.byte(value);
    let rest = BigInt(value);
    while (rest >= 0x80n) {
      this.byte(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    this.byte(Number(rest));
  }

  zigzag(value: number): void {
    this.varint(value < 0 ? -2n * BigInt(value) - 1n : 2n * BigInt(value));
  }

  finish(): Uint8Array {
    return this.bytes.slice(0, this.length);
  }
}
