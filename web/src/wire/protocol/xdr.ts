/**
 * The runtime of the generated codecs: XDR (RFC 4506) in memory, as combinators.
 *
 * Decoding is strict, because the bytes come from the network: declared bounds hold, padding is
 * zero, booleans and optionals are 0 or 1, text is UTF-8, recursion ends at `MAX_DEPTH`, and a count
 * is believed only if the bytes for that many elements are there. Encoding a value beyond its bound
 * is a mistake of the caller's: a RangeError.
 */

/** How deep recursive types may nest. */
export const MAX_DEPTH = 128;

/** Bytes that are not a value of the type wanted. */
export class XdrError extends Error {
  override name = "XdrError";
}

/** Encodes and decodes one type. */
export interface Codec<T> {
  encode(w: Writer, value: T): void;
  decode(r: Reader): T;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const toUtf8 = new TextEncoder();

/** Bytes under construction. */
export class Writer {
  private bytes = new Uint8Array(128);
  private view = new DataView(this.bytes.buffer);
  private length = 0;

  /** Room for so many more bytes; where they begin. */
  private room(count: number): number {
    const at = this.length;
    this.length += count;
    if (this.length > this.bytes.length) {
      const grown = new Uint8Array(Math.max(this.length, 2 * this.bytes.length));
      grown.set(this.bytes.subarray(0, at));
      this.bytes = grown;
      this.view = new DataView(grown.buffer);
    }
    return at;
  }

  i32(value: number): void {
    const at = this.room(4);
    this.view.setInt32(at, value);
  }

  i64(value: bigint): void {
    const at = this.room(8);
    this.view.setBigInt64(at, value);
  }

  f32(value: number): void {
    const at = this.room(4);
    this.view.setFloat32(at, value);
  }

  f64(value: number): void {
    const at = this.room(8);
    this.view.setFloat64(at, value);
  }

  /** Bytes, and the zeros that fill their last unit of four. */
  padded(value: Uint8Array): void {
    const count = (value.length + 3) & ~3;
    const at = this.room(count);
    this.bytes.set(value, at);
    this.bytes.fill(0, at + value.length, at + count);
  }

  finish(): Uint8Array {
    return this.bytes.slice(0, this.length);
  }
}

/** Bytes being decoded. After an error its position means nothing. */
export class Reader {
  private readonly view: DataView;
  at = 0;
  depth = 0;

  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** How many bytes are not yet decoded. */
  get remaining(): number {
    return this.bytes.length - this.at;
  }

  /** Fails unless all bytes are decoded. */
  finish(): void {
    if (this.remaining > 0) throw new XdrError("bytes follow the value");
  }

  private take(count: number): number {
    const at = this.at;
    if (count > this.remaining) throw new XdrError("the bytes end too early");
    this.at += count;
    return at;
  }

  i32(): number {
    return this.view.getInt32(this.take(4));
  }

  u32(): number {
    return this.view.getUint32(this.take(4));
  }

  i64(): bigint {
    return this.view.getBigInt64(this.take(8));
  }

  u64(): bigint {
    return this.view.getBigUint64(this.take(8));
  }

  f32(): number {
    return this.view.getFloat32(this.take(4));
  }

  f64(): number {
    return this.view.getFloat64(this.take(8));
  }

  /** A view of the bytes, whose padding is zero. */
  padded(count: number): Uint8Array {
    const at = this.take(count);
    for (let pad = this.take(-count & 3); pad < this.at; ++pad) {
      if (this.bytes[pad] !== 0) throw new XdrError("padding is not zero");
    }
    return this.bytes.subarray(at, at + count);
  }

  length(bound: number): number {
    const length = this.u32();
    if (length > bound) throw new XdrError("a length or count is above its bound");
    return length;
  }

  /** Fails unless so many elements of at least so many bytes can follow. */
  expect(count: number, least: number): void {
    if (count * least > this.remaining) throw new XdrError("the bytes end too early");
  }
}

/** The encoding of one value. */
export function toBytes<T>(codec: Codec<T>, value: T): Uint8Array {
  const w = new Writer();
  codec.encode(w, value);
  return w.finish();
}

/** The value that the bytes encode, all of them. */
export function fromBytes<T>(codec: Codec<T>, bytes: Uint8Array): T {
  const r = new Reader(bytes);
  const value = codec.decode(r);
  r.finish();
  return value;
}

function integer(low: number, high: number): Codec<number> {
  const unsigned = low === 0;
  return {
    encode(w, value) {
      if (!Number.isInteger(value) || value < low || value > high) {
        throw new RangeError(`${value} is no integer from ${low} to ${high}`);
      }
      w.i32(value);
    },
    decode(r) {
      const value = unsigned ? r.u32() : r.i32();
      if (value < low || value > high) throw new XdrError("a number is too large for its type");
      return value;
    },
  };
}

function long(low: bigint, high: bigint): Codec<bigint> {
  return {
    encode(w, value) {
      if (value < low || value > high) throw new RangeError(`${value} is not of 64 bits`);
      w.i64(BigInt.asIntN(64, value));
    },
    decode: (r) => (low === 0n ? r.u64() : r.i64()),
  };
}

export const i8 = integer(-0x80, 0x7f);
export const u8 = integer(0, 0xff);
export const i16 = integer(-0x8000, 0x7fff);
export const u16 = integer(0, 0xffff);
export const i32 = integer(-0x80000000, 0x7fffffff);
export const u32 = integer(0, 0xffffffff);
export const i64 = long(-(1n << 63n), (1n << 63n) - 1n);
export const u64 = long(0n, (1n << 64n) - 1n);
export const f32: Codec<number> = { encode: (w, v) => w.f32(v), decode: (r) => r.f32() };
export const f64: Codec<number> = { encode: (w, v) => w.f64(v), decode: (r) => r.f64() };

export const bool: Codec<boolean> = {
  encode: (w, value) => w.i32(value ? 1 : 0),
  decode(r) {
    const value = r.u32();
    if (value > 1) throw new XdrError("a bool is neither 0 nor 1");
    return value === 1;
  },
};

/** `opaque[size]` */
export function fixed(size: number): Codec<Uint8Array> {
  return {
    encode(w, value) {
      if (value.length !== size) throw new RangeError(`${value.length} bytes, not ${size}`);
      w.padded(value);
    },
    decode: (r) => r.padded(size).slice(),
  };
}

function putLength(w: Writer, length: number, bound: number): void {
  if (length > bound) {
    throw new RangeError(`a value of length ${length} is longer than its bound of ${bound}`);
  }
  w.i32(length);
}

/** `opaque<bound>` */
export function opaque(bound: number): Codec<Uint8Array> {
  return {
    encode(w, value) {
      putLength(w, value.length, bound);
      w.padded(value);
    },
    decode: (r) => r.padded(r.length(bound)).slice(),
  };
}

/** `string<bound>`, of UTF-8 */
export function string(bound: number): Codec<string> {
  return {
    encode(w, value) {
      const bytes = toUtf8.encode(value);
      putLength(w, bytes.length, bound);
      w.padded(bytes);
    },
    decode(r) {
      const bytes = r.padded(r.length(bound));
      try {
        return utf8.decode(bytes);
      } catch {
        throw new XdrError("a string is not UTF-8");
      }
    },
  };
}

function counted<T>(r: Reader, count: number, least: number, element: Codec<T>): T[] {
  r.expect(count, least);
  const values: T[] = [];
  for (let i = 0; i < count; ++i) values.push(element.decode(r));
  return values;
}

/** `T[count]`; an element takes `least` bytes or more. */
export function elements<T>(count: number, least: number, element: Codec<T>): Codec<T[]> {
  return {
    encode(w, values) {
      if (values.length !== count) throw new RangeError(`${values.length} elements, not ${count}`);
      for (const value of values) element.encode(w, value);
    },
    decode: (r) => counted(r, count, least, element),
  };
}

/** `T<bound>`; an element takes `least` bytes or more. */
export function array<T>(bound: number, least: number, element: Codec<T>): Codec<T[]> {
  return {
    encode(w, values) {
      putLength(w, values.length, bound);
      for (const value of values) element.encode(w, value);
    },
    decode: (r) => counted(r, r.length(bound), least, element),
  };
}

/** `T *` */
export function optional<T>(target: Codec<T>): Codec<T | null> {
  return {
    encode(w, value) {
      w.i32(value === null ? 0 : 1);
      if (value !== null) target.encode(w, value);
    },
    decode(r) {
      const mark = r.u32();
      if (mark > 1) throw new XdrError("an optional is neither 0 nor 1");
      return mark === 1 ? target.decode(r) : null;
    },
  };
}

export function enumeration<E extends number>(members: Record<string, E>): Codec<E> {
  const values = new Set<number>(Object.values(members));
  return {
    encode(w, value) {
      if (!values.has(value)) throw new RangeError(`${value} is not a member of its enum`);
      w.i32(value);
    },
    decode(r) {
      const value = r.i32();
      if (!values.has(value)) throw new XdrError("a number is not a member of its enum");
      return value as E;
    },
  };
}

type Fields<T> = { [K in keyof T]: Codec<T[K]> };

export function struct<T extends object>(fields: Fields<T>): Codec<T> {
  const entries = Object.entries(fields) as [keyof T, Codec<T[keyof T]>][];
  return {
    encode(w, value) {
      for (const [name, codec] of entries) codec.encode(w, value[name]);
    },
    decode(r) {
      const value = {} as T;
      for (const [name, codec] of entries) value[name] = codec.decode(r);
      return value;
    },
  };
}

type Discriminant = number | boolean;
/** The cases that select it, and unless it is void its member's name and codec. */
type Arm = readonly [
  cases: readonly Discriminant[],
  member?: string,
  // The arms of one union differ in type; the generated code puts each with its own.
  codec?: Codec<any>,
];

/** A union as `{ [discriminant]: case, [member]: value }`. */
export function union<T extends object>(
  discriminant: string,
  selector: Codec<any>,
  arms: readonly Arm[],
  otherwise?: Arm,
): Codec<T> {
  const selected = new Map<Discriminant, Arm>();
  for (const arm of arms) for (const value of arm[0]) selected.set(value, arm);
  const armOf = (value: Discriminant) => selected.get(value) ?? otherwise;
  return {
    encode(w, value) {
      const members = value as Record<string, unknown>;
      const kind = members[discriminant] as Discriminant;
      const arm = armOf(kind);
      if (arm === undefined) throw new RangeError(`a union has no arm for ${kind}`);
      selector.encode(w, kind);
      if (arm[1] !== undefined) arm[2]?.encode(w, members[arm[1]]);
    },
    decode(r) {
      const kind = selector.decode(r) as Discriminant;
      const arm = armOf(kind);
      if (arm === undefined) throw new XdrError("a discriminant selects no arm");
      const members: Record<string, unknown> = { [discriminant]: kind };
      if (arm[1] !== undefined) members[arm[1]] = arm[2]?.decode(r);
      return members as T;
    },
  };
}

/** Of a type that may contain itself: ends at `MAX_DEPTH`. */
export function nested<T>(codec: Codec<T>): Codec<T> {
  return {
    encode: (w, value) => codec.encode(w, value),
    decode(r) {
      if (r.depth === MAX_DEPTH) throw new XdrError("the value is nested too deeply");
      ++r.depth;
      const value = codec.decode(r);
      --r.depth;
      return value;
    },
  };
}

/** A codec that is defined further down. */
export function lazy<T>(codec: () => Codec<T>): Codec<T> {
  return { encode: (w, value) => codec().encode(w, value), decode: (r) => codec().decode(r) };
}
