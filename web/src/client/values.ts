/**
 * Values of a segment as those of JavaScript: numbers, bigints for 64 bits, strings, records as
 * objects with a property a field, arrays of numbers as typed arrays on the copy itself, other
 * arrays as `ArrayView`, pointers followed. Every access checks that a lock is held.
 */
import { endOfString } from "../diff/units.js";
import { Primitive, TypeKind } from "../wire/protocol/descriptor.js";
import { targetSerial, type Member, type Type } from "../types/type.js";
import { InterweaveError } from "../wire/error.js";
import { ErrorCode } from "../wire/protocol/error.js";
import { inspected } from "./inspect.js";
import { badValue, misspelt, nameWithArticle, shown, within } from "./misfit.js";
import { freeOwned, replaceOwned } from "./ownership.js";
import {
  checkReadable,
  checkWritable,
  mipOfPlace,
  PLACE,
  placeOf,
  rememberPlace,
  type Place,
} from "./place.js";
import { follow, mipOfPointer, ownedBlock, point } from "./pointers.js";

export type NumericArray =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

interface NumericArrayClass {
  new (buffer: ArrayBufferLike, at: number, length: number): NumericArray;
}

interface Numeric {
  readonly array: NumericArrayClass;
  get(view: DataView, at: number): number | bigint;
  set(view: DataView, at: number, value: never): void;
  /** Inclusive; none for floating point. */
  readonly low?: number | bigint;
  readonly high?: number | bigint;
}

const numerics: Partial<Record<number, Numeric>> = {
  [Primitive.CHAR]: {
    array: Int8Array,
    get: (v, at) => v.getInt8(at),
    set: (v, at, x) => v.setInt8(at, x),
    low: -0x80,
    high: 0x7f,
  },
  [Primitive.UCHAR]: {
    array: Uint8Array,
    get: (v, at) => v.getUint8(at),
    set: (v, at, x) => v.setUint8(at, x),
    low: 0,
    high: 0xff,
  },
  [Primitive.SHORT]: {
    array: Int16Array,
    get: (v, at) => v.getInt16(at, true),
    set: (v, at, x) => v.setInt16(at, x, true),
    low: -0x8000,
    high: 0x7fff,
  },
  [Primitive.USHORT]: {
    array: Uint16Array,
    get: (v, at) => v.getUint16(at, true),
    set: (v, at, x) => v.setUint16(at, x, true),
    low: 0,
    high: 0xffff,
  },
  [Primitive.INT]: {
    array: Int32Array,
    get: (v, at) => v.getInt32(at, true),
    set: (v, at, x) => v.setInt32(at, x, true),
    low: -0x80000000,
    high: 0x7fffffff,
  },
  [Primitive.UINT]: {
    array: Uint32Array,
    get: (v, at) => v.getUint32(at, true),
    set: (v, at, x) => v.setUint32(at, x, true),
    low: 0,
    high: 0xffffffff,
  },
  [Primitive.HYPER]: {
    array: BigInt64Array,
    get: (v, at) => v.getBigInt64(at, true),
    set: (v, at, x) => v.setBigInt64(at, x, true),
    low: -(1n << 63n),
    high: (1n << 63n) - 1n,
  },
  [Primitive.UHYPER]: {
    array: BigUint64Array,
    get: (v, at) => v.getBigUint64(at, true),
    set: (v, at, x) => v.setBigUint64(at, x, true),
    low: 0n,
    high: (1n << 64n) - 1n,
  },
  [Primitive.FLOAT]: {
    array: Float32Array,
    get: (v, at) => v.getFloat32(at, true),
    set: (v, at, x) => v.setFloat32(at, x, true),
  },
  [Primitive.DOUBLE]: {
    array: Float64Array,
    get: (v, at) => v.getFloat64(at, true),
    set: (v, at, x) => v.setFloat64(at, x, true),
  },
};

const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
const fromUtf8 = new TextDecoder();
const toUtf8 = new TextEncoder();

function kindOf(type: Type): TypeKind {
  return type.descriptor.body.kind;
}

export function isNumeric(type: Type): boolean {
  return numerics[type.serial] !== undefined;
}

/**
 * The least and the most that an integer of the type can be; null: it is not a type of integers.
 */
export function integersOf({
  serial,
}: Type): { low: number | bigint; high: number | bigint } | null {
  const { low, high } = numerics[serial] ?? {};
  return low === undefined || high === undefined ? null : { low, high };
}

/** The place of a value inside another. */
export function inside(place: Place, type: Type, at: number, unit: number): Place {
  const { heap, block, isInArm } = place;
  const own = isInArm ? place.unit : place.unit + unit;
  return { heap, block, type, at: place.at + at, unit: own, isInArm };
}

/** The place of an arm inside its union, which stays one unit. */
export function insideArm(place: Place, { type, at }: Member): Place {
  return { ...inside(place, type, at, 0), isInArm: true };
}

/** `count` numbers as a typed array on the copy. */
function typedArray(place: Place, count: number): NumericArray {
  checkReadable(place);
  if (!isLittleEndian) {
    throw new InterweaveError(
      ErrorCode.UNIMPLEMENTED,
      "this machine is big-endian: read numbers one by one",
    );
  }
  const { heap, block, type, at } = place;
  heap.expose(block);
  const { array } = numerics[type.serial] as Numeric;
  const made = new array(block.memory.buffer, at, count);
  rememberPlace(made, place);
  return made;
}

/** `count` values of a type, side by side. */
export function elementsAt(place: Place, count: number): NumericArray | ArrayView {
  return isNumeric(place.type) ? typedArray(place, count) : ArrayView.of(place, count);
}

/** What a property is when it is read. */
export function read(place: Place): unknown {
  checkReadable(place);
  const {
    block: { view, memory },
    type,
    at,
  } = place;
  const numeric = numerics[type.serial];
  if (numeric !== undefined) return numeric.get(view, at);
  switch (kindOf(type)) {
    case TypeKind.ENUM:
      return view.getInt32(at, true);
    case TypeKind.STRING:
      return fromUtf8.decode(memory.subarray(at, endOfString(memory, at, type.size)));
    case TypeKind.ARRAY:
      return elementsAt({ ...place, type: type.element as Type }, type.count);
    case TypeKind.RECORD:
    case TypeKind.UNION:
      return recordAt(place);
    case TypeKind.POINTER: {
      const target = follow(place);
      return target === null ? null : targetValue(target);
    }
    case TypeKind.SEQUENCE: {
      const owned = ownedBlock(place);
      const element = place.heap.copy.types.get(targetSerial(type.descriptor.body)) as Type;
      if (owned === null) return [];
      return elementsAt(
        { heap: place.heap, block: owned, type: element, at: 0, unit: 0, isInArm: false },
        owned.count,
      );
    }
    case TypeKind.TEXT: {
      const owned = ownedBlock(place);
      if (owned === null) return "";
      return fromUtf8.decode(owned.memory.subarray(0, endOfString(owned.memory, 0, owned.count)));
    }
    default:
      return view.getInt32(at, true) !== 0;
  }
}

/**
 * What a pointer leads to: a record or array itself; numbers and the like from there to the end.
 */
function targetValue(target: Place & { count: number }): unknown {
  switch (kindOf(target.type)) {
    case TypeKind.RECORD:
    case TypeKind.UNION:
    case TypeKind.ARRAY:
      return read(target);
    default:
      return elementsAt(target, target.count);
  }
}

/** What happens when a property is assigned. */
export function write(place: Place, value: unknown): void {
  checkWritable(place);
  const {
    block: { view },
    type,
    at,
  } = place;
  const numeric = numerics[type.serial];
  if (numeric !== undefined) return writeNumber(place, numeric, value);
  switch (kindOf(type)) {
    case TypeKind.ENUM:
      return view.setInt32(at, memberOf(type, value), true);
    case TypeKind.STRING:
      return writeString(place, value);
    case TypeKind.ARRAY: {
      const values = listOf(value, type.count);
      const element = type.element as Type;
      return writeAll(values, (i) => inside(place, element, i * element.size, i * element.units));
    }
    case TypeKind.RECORD:
      return writeRecord(place, value);
    case TypeKind.UNION:
      return writeUnion(place, value);
    case TypeKind.POINTER:
      return writePointer(place, value);
    case TypeKind.SEQUENCE:
      return writeSequence(place, value);
    case TypeKind.TEXT:
      return writeText(place, value);
    default:
      if (typeof value !== "boolean") throw notOf(type, value, "true or false");
      return view.setInt32(at, value ? 1 : 0, true);
  }
}

/** Stores values side by side. */
function writeAll(values: readonly unknown[], placeAt: (index: number) => Place): void {
  let i = 0;
  within(
    () => `[${i}]`,
    () => {
      for (; i < values.length; ++i) write(placeAt(i), values[i]);
    },
  );
}

/** `wanted`: what values of the type are. */
export function notOf(type: Type, value: unknown, wanted: string): InterweaveError {
  return badValue(`${shown(value)} is not ${nameWithArticle(type)} (${wanted})`);
}

/** What numbers of a type are, for people. */
export function numbersText(type: Type): string {
  const integers = integersOf(type);
  if (integers === null) return "a number";
  return `an integer from ${integers.low} to ${integers.high}`;
}

function writeNumber({ block: { view }, type, at }: Place, numeric: Numeric, value: unknown): void {
  const { low, high } = numeric;
  const isBig = typeof low === "bigint";
  const isOfKind = isBig ? typeof value === "bigint" : typeof value === "number";
  const isInteger = low === undefined || typeof value === "bigint" || Number.isInteger(value);
  const number = value as number;
  if (
    !isOfKind ||
    !isInteger ||
    (low !== undefined && (number < low || number > (high as number)))
  ) {
    throw notOf(type, value, isBig ? `a bigint: ${numbersText(type)}` : numbersText(type));
  }
  numeric.set(view, at, value as never);
}

function memberOf(type: Type, value: unknown): number {
  const { body } = type.descriptor;
  const members = "members" in body ? body.members : [];
  const found = members.find((member) => member.name === value || member.value === value);
  if (found === undefined && value !== 0) {
    throw notOf(type, value, `one of ${members.map(({ name }) => name).join(", ")}`);
  }
  return found?.value ?? 0;
}

function bytesOf(value: unknown): Uint8Array {
  if (typeof value !== "string") throw badValue(`${shown(value)} is not a string`);
  const bytes = toUtf8.encode(value);
  if (bytes.includes(0)) throw badValue("a string holds a NUL");
  return bytes;
}

function writeString({ block: { memory }, type, at }: Place, value: unknown): void {
  const bytes = bytesOf(value);
  if (bytes.length > type.size) {
    throw new InterweaveError(
      ErrorCode.TOO_LARGE,
      `a string of ${bytes.length} bytes where ${type.size} are the most`,
    );
  }
  memory.set(bytes, at);
  memory.fill(0, at + bytes.length, at + type.size);
}

function listOf(value: unknown, count?: number): unknown[] {
  const isList = typeof value === "object" && value !== null && Symbol.iterator in value;
  if (!isList) throw badValue(`${shown(value)} is not an array`);
  const values = [...(value as Iterable<unknown>)];
  if (count !== undefined && values.length !== count) {
    throw badValue(`${values.length} elements where there are ${count}`);
  }
  return values;
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null)
    throw badValue(`${shown(value)} is not an object with the fields`);
  return value as Record<string, unknown>;
}

/** The names of a record's fields, or of a union's discriminant and arms. */
function memberNames({ fields, union }: Type): string[] {
  if (union === null) return fields.map(({ name }) => name);
  const arms = [...union.arms.values(), union.otherwise].flatMap((arm) => (arm ? [arm.name] : []));
  return [union.discriminant.name, ...new Set(arms)];
}

/** What somebody meant to store: of a view of a record its fields, of other objects their own. */
function storedNames(value: object): string[] {
  const type = placeOf(value)?.type;
  const isView = type !== undefined && prototypes.get(type) === Object.getPrototypeOf(value);
  return isView ? memberNames(type) : Object.keys(value);
}

/** A name that the type does not have would be a store that is lost. */
function checkNames(type: Type, value: object): void {
  const names = memberNames(type);
  const unknown = storedNames(value).find((name) => !names.includes(name));
  if (unknown !== undefined) throw misspelt(type, names, unknown);
}

/** What every object inherits is not a field. */
function hasField(value: object, name: string): boolean {
  return (
    name in value &&
    (!(name in Object.prototype) || placeOf(value) !== undefined || Object.hasOwn(value, name))
  );
}

/** Stores the fields that the object has, all of which must be fields of the record. */
function writeRecord(place: Place, value: unknown): void {
  const fields = objectOf(value);
  checkNames(place.type, fields);
  for (const { name, type, at, unit } of place.type.fields) {
    if (!hasField(fields, name)) continue;
    within(
      () => `.${name}`,
      () => write(inside(place, type, at, unit), fields[name]),
    );
  }
}

export function activeArm({ block, type, at }: Place): Member | null {
  const discriminant = block.view.getInt32(at, true);
  const arm = type.union?.arms.get(discriminant);
  return (arm === undefined ? type.union?.otherwise : arm) ?? null;
}

/**
 * The object has the discriminant, and the member of the arm that it selects unless that is void.
 */
function writeUnion(place: Place, value: unknown): void {
  const members = objectOf(value);
  checkNames(place.type, members);
  const { name, type } = place.type.union?.discriminant as { name: string; type: Type };
  if (!(name in members)) throw badValue(`a union's value needs its discriminant \`${name}\``);
  // Both are read first: the value may be a view of this very union.
  const kind = members[name];
  const { arms, otherwise } = place.type.union as NonNullable<Type["union"]>;
  const number = within(
    () => `.${name}`,
    () => numberOfCase(type, kind),
  );
  const arm = arms.get(number) ?? (arms.has(number) ? null : otherwise);
  if (arm === undefined && number !== 0)
    throw badValue(`the union has no arm for ${name} ${shown(kind)}`);
  for (const other of storedNames(members)) {
    if (other === name || other === arm?.name || members[other] === undefined) continue;
    const selected = arm ? `the arm \`${arm.name}\`` : "no arm";
    throw badValue(`${name} ${shown(kind)} selects ${selected}, not \`${other}\``);
  }
  const content = arm ? members[arm.name] : undefined;
  const changes = checkWritable(place);
  const { block, at } = place;
  if (placeOf(value)?.block === block && placeOf(value)?.at === at) return;
  freeOwned(place, changes);
  block.memory.fill(0, at, at + place.type.size);
  block.view.setInt32(at, number, true);
  if (arm && content !== undefined)
    within(
      () => `.${arm.name}`,
      () => write(insideArm(place, arm), content),
    );
}

function numberOfCase(type: Type, value: unknown): number {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (kindOf(type) === TypeKind.ENUM) return memberOf(type, value);
  if (typeof value !== "number" || !Number.isInteger(value))
    throw badValue(`${shown(value)} is not a case of the union`);
  return value | 0;
}

function writePointer(place: Place, value: unknown): void {
  if (value === null) return point(place, null);
  const target = placeOf(value);
  if (target === undefined) {
    throw badValue("a pointer takes null, a block, or a record or array of a segment");
  }
  point(place, target);
}

function writeSequence(place: Place, value: unknown): void {
  const values = listOf(value);
  const element = place.heap.copy.types.get(targetSerial(place.type.descriptor.body)) as Type;
  const old = ownedBlock(place);
  if (old?.count === values.length && placeOf(value)?.block === old) return;
  replaceOwned(place, values.length, (block) => {
    writeAll(values, (i) => {
      const [at, unit] = [i * element.size, i * element.units];
      return { heap: place.heap, block, type: element, at, unit, isInArm: false };
    });
  });
}

function writeText(place: Place, value: unknown): void {
  const bytes = bytesOf(value);
  const count = bytes.length === 0 ? 0 : bytes.length + 1;
  replaceOwned(place, count, (block) => block.memory.set(bytes));
}

/** A record or union: one object class a type, with a getter and a setter a field. */
export interface RecordView {
  readonly [PLACE]: Place;
  [field: string]: unknown;
}

const prototypes = new WeakMap<Type, object>();

function recordAt(place: Place): RecordView {
  let prototype = prototypes.get(place.type);
  if (prototype === undefined) prototypes.set(place.type, (prototype = prototypeOf(place.type)));
  const view = Object.create(prototype, { [PLACE]: { value: place } }) as RecordView;
  return Object.preventExtensions(view);
}

/** Where a store to a record ends up when no field has its name: it would be lost. */
function endOfChain(type: Type): object {
  return new Proxy(Object.create(null) as object, {
    set(_, name) {
      throw misspelt(type, memberNames(type), String(name));
    },
  });
}

function prototypeOf(type: Type): object {
  const prototype = Object.create(endOfChain(type)) as object;
  const define = (
    name: string,
    get: (place: Place) => unknown,
    set: (place: Place, v: unknown) => void,
  ) =>
    Object.defineProperty(prototype, name, {
      enumerable: true,
      get(this: RecordView) {
        return get(this[PLACE]);
      },
      set(this: RecordView, value: unknown) {
        within(
          () => `${type.name || "record"}.${name}`,
          () => set(this[PLACE], value),
        );
      },
    });
  for (const { name, type: field, at, unit } of type.fields) {
    define(
      name,
      (place) => read(inside(place, field, at, unit)),
      (place, value) => write(inside(place, field, at, unit), value),
    );
  }
  if (type.union !== null) defineUnion(type.union, define);
  Object.defineProperty(prototype, inspected, {
    value(this: RecordView) {
      return plain(this, 1);
    },
  });
  return prototype;
}

function defineUnion(
  union: NonNullable<Type["union"]>,
  define: (
    name: string,
    get: (place: Place) => unknown,
    set: (place: Place, v: unknown) => void,
  ) => void,
): void {
  const { name, type } = union.discriminant;
  define(
    name,
    (place) => read({ ...place, type }),
    (place, value) => {
      if (read({ ...place, type }) !== value) writeUnion(place, { [name]: value });
    },
  );
  const arms = new Set([...union.arms.values(), union.otherwise]);
  for (const arm of arms) {
    if (!arm) continue;
    define(
      arm.name,
      (place) => {
        checkReadable(place);
        return activeArm(place) === arm ? read(insideArm(place, arm)) : undefined;
      },
      (place, value) => {
        if (activeArm(place) !== arm) {
          throw badValue(
            `the arm \`${arm.name}\` is not active: assign the whole union, or \`${name}\` first`,
          );
        }
        write(insideArm(place, arm), value);
      },
    );
  }
}

/** An array of anything but numbers: `view[i]`, `view.length`, iteration. */
export class ArrayView<T = unknown> implements Iterable<T> {
  [index: number]: T;
  readonly [PLACE]: Place;

  private constructor(
    place: Place,
    readonly length: number,
  ) {
    this[PLACE] = place;
  }

  /** Of `count` values of the place's type. */
  static of(place: Place, count: number): ArrayView {
    return new Proxy(new ArrayView(place, count), indexed);
  }

  get(index: number): T {
    return read(this.placeAt(index)) as T;
  }

  set(index: number, value: T): void {
    const place = this.placeAt(index);
    within(
      () => mipOfPlace(place),
      () => write(place, value),
    );
  }

  /** Where an element is. */
  placeAt(index: number): Place {
    if (!Number.isInteger(index) || index < 0 || index >= this.length) {
      throw new InterweaveError(
        ErrorCode.BAD_ARGUMENT,
        `element ${index} of ${this.length} at ${mipOfPlace(this[PLACE])}`,
      );
    }
    const { type } = this[PLACE];
    return inside(this[PLACE], type, index * type.size, index * type.units);
  }

  /** The lengths of nested arrays of numbers, `[256, 256]`; of others the outermost. */
  get shape(): number[] {
    const shape = [this.length];
    for (let { type } = this[PLACE]; type.element !== null; type = type.element)
      shape.push(type.count);
    return shape;
  }

  /** Nested arrays of numbers as one typed array, row by row; undefined for others. */
  get flat(): NumericArray | undefined {
    let { type } = this[PLACE];
    let count = this.length;
    for (; type.element !== null; type = type.element) count *= type.count;
    return isNumeric(type) ? typedArray({ ...this[PLACE], type }, count) : undefined;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let i = 0; i < this.length; ++i) yield this.get(i);
  }
}

const indexed: ProxyHandler<ArrayView> = {
  get(view, key) {
    if (typeof key === "string" && /^[0-9]+$/.test(key)) {
      return Number(key) < view.length ? view.get(Number(key)) : undefined;
    }
    return Reflect.get(view, key, view) as unknown;
  },
  set(view, key, value) {
    if (typeof key !== "string" || !/^[0-9]+$/.test(key)) {
      throw new TypeError(
        `an array has no property \`${String(key)}\` to store to; its elements are [0] to ` +
          `[${view.length - 1}]`,
      );
    }
    view.set(Number(key), value);
    return true;
  },
};

/** A copy of a value as plain objects and arrays; pointers beyond the depth are shown by MIP. */
export function plain(value: unknown, depth = 4): unknown {
  if (value instanceof ArrayView) return Array.from(value, (each) => plain(each, depth));
  const place = placeOf(value);
  if (place === undefined || ArrayBuffer.isView(value)) return value;
  const view = value as RecordView;
  const shown = Object.keys(Object.getPrototypeOf(view) as object).map((name) => {
    const field = place.type.fields.find((each) => each.name === name);
    if (field === undefined || kindOf(field.type) !== TypeKind.POINTER)
      return [name, plain(view[name], depth)];
    if (depth > 0) return [name, plain(view[name], depth - 1)];
    return [name, mipOfPointer(inside(place, field.type, field.at, field.unit))];
  });
  // Whatever fields are called, `__proto__` too, they become properties.
  return Object.fromEntries(shown);
}
