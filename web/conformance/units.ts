/** Units as the conformance runner names and writes them (conformance/README.md). */
import { freeOwned, replaceOwned } from "../src/client/ownership.js";
import { checkWritable, type Heap, type Place } from "../src/client/place.js";
import { mipOfPointer, ownedBlock } from "../src/client/pointers.js";
import { activeArm, inside, insideArm, read, write } from "../src/client/values.js";
import type { CopiedBlock } from "../src/diff/copy.js";
import { endOfString } from "../src/diff/units.js";
import { targetSerial, type Type } from "../src/types/type.js";
import { InterweaveError } from "../src/wire/error.js";
import { setPointer } from "../src/wire/pointer.js";
import { Primitive, TypeKind } from "../src/wire/protocol/descriptor.js";
import { ErrorCode } from "../src/wire/protocol/error.js";

/** Where a MIP leads: its segment's text in a slot table (null: its own), serial and offset. */
export type Lead = (mip: string) => { slotText: string | null; serial: number; offset: bigint };

export function badArgument(text: string): InterweaveError {
  return new InterweaveError(ErrorCode.BAD_ARGUMENT, text);
}

function kindOf(type: Type): TypeKind {
  return type.descriptor.body.kind;
}

export function wholeOf(heap: Heap, block: CopiedBlock): Place {
  return { heap, block, type: block.type, at: 0, unit: 0, isInArm: false };
}

/** The unit of so many values of the place's type. */
function unitOf(place: Place, count: number, unit: number): Place {
  const { type } = place;
  if (unit < 0 || unit >= count * type.units) throw badArgument(`the value has no unit ${unit}`);
  const index = Math.floor(unit / type.units);
  const rest = unit - index * type.units;
  const element = inside(place, type, index * type.size, index * type.units);
  if (type.element !== null) return unitOf({ ...element, type: type.element }, type.count, rest);
  const field = type.fields.findLast(({ unit: begin }) => begin <= rest);
  if (field === undefined) return element;
  return unitOf(inside(element, field.type, field.at, field.unit), 1, rest - field.unit);
}

/** `BLOCK["#"UNIT]("/"UNIT)*` */
export function placeAt(heap: Heap, text: string): Place {
  const [first = "", ...steps] = text.split("/");
  const [blockText = "", unit = "0"] = first.split("#");
  let place = unitOf(...blockAt(heap, blockText), Number(unit));
  for (const step of steps) place = stepInto(place, Number(step));
  return place;
}

export function findBlock(heap: Heap, text: string): CopiedBlock {
  const { blocks, names } = heap.copy;
  const block = /^[0-9]/.test(text) ? blocks.get(Number(text)) : names.get(text);
  if (block !== undefined) return block;
  throw new InterweaveError(ErrorCode.NO_BLOCK, `the segment has no block ${text}`);
}

function blockAt(heap: Heap, text: string): [Place, number] {
  const block = findBlock(heap, text);
  return [wholeOf(heap, block), block.count];
}

function stepInto(place: Place, unit: number): Place {
  if (kindOf(place.type) === TypeKind.UNION) {
    const arm = activeArm(place);
    if (arm === null) throw badArgument("the union has no active arm");
    return unitOf(insideArm(place, arm), 1, unit);
  }
  const owned = ownedBlock(place);
  if (owned === null) throw badArgument("the unit holds nothing");
  return unitOf(wholeOf(place.heap, owned), owned.count, unit);
}

function exact(value: number | bigint): number | string {
  const size = value < 0 ? -value : value;
  return size >= 2 ** 53 ? String(value) : Number(value);
}

function bitsText(place: Place): string {
  const { view } = place.block;
  const isFloat = place.type.serial === Primitive.FLOAT;
  const bits = isFloat ? BigInt(view.getUint32(place.at, true)) : view.getBigUint64(place.at, true);
  return `0x${bits.toString(16).padStart(isFloat ? 8 : 16, "0")}`;
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

function isBytes(type: Type | null): boolean {
  return type?.serial === Primitive.UCHAR;
}

/** One unit as the runner writes it. */
export function unitValue(place: Place): unknown {
  const { block, type, at, heap } = place;
  switch (kindOf(type)) {
    case TypeKind.STRING:
      return latin1(block.memory.subarray(at, endOfString(block.memory, at, type.size)));
    case TypeKind.POINTER:
      return mipOfPointer(place);
    case TypeKind.TEXT: {
      const owned = ownedBlock(place);
      return owned === null
        ? ""
        : latin1(owned.memory.subarray(0, endOfString(owned.memory, 0, owned.count)));
    }
    case TypeKind.SEQUENCE: {
      const owned = ownedBlock(place);
      if (isBytes(heap.copy.types.get(targetSerial(type.descriptor.body)) ?? null)) {
        return Buffer.from(owned?.memory ?? []).toString("hex");
      }
      return owned === null ? [] : unitList(wholeOf(heap, owned), owned.count);
    }
    case TypeKind.UNION: {
      const arm = activeArm(place);
      const discriminant = unitValue({ ...place, type: type.union?.discriminant.type as Type });
      return {
        case: discriminant,
        units: arm === null ? [] : unitList(insideArm(place, arm), 1),
      };
    }
    case TypeKind.ENUM:
      return block.view.getInt32(at, true);
    default:
      return numberValue(place);
  }
}

function numberValue(place: Place): unknown {
  const { type, block, at } = place;
  switch (type.serial) {
    case Primitive.FLOAT:
    case Primitive.DOUBLE:
      return bitsText(place);
    case Primitive.CHAR:
      return block.memory[at];
    case Primitive.BOOL:
      return block.view.getInt32(at, true);
    default:
      return exact(read(place) as number | bigint);
  }
}

/** The units of values side by side: arrays of uchar as one text each. */
export function unitList(place: Place, count: number): unknown[] {
  const { type } = place;
  const list: unknown[] = [];
  for (let i = 0; i < count; ++i) {
    const one = inside(place, type, i * type.size, i * type.units);
    if (type.element !== null && isBytes(type.element)) {
      list.push(
        Buffer.from(one.block.memory.subarray(one.at, one.at + type.count)).toString("hex"),
      );
    } else if (type.element !== null) {
      list.push(...unitList({ ...one, type: type.element }, type.count));
    } else if (type.fields.length > 0) {
      for (const field of type.fields)
        list.push(...unitList(inside(one, field.type, field.at, field.unit), 1));
    } else {
      list.push(unitValue(one));
    }
  }
  return list;
}

/** How many members of a list a value takes. */
function listLength(type: Type): number {
  if (type.element !== null)
    return isBytes(type.element) ? 1 : type.count * listLength(type.element);
  if (type.fields.length === 0) return 1;
  return type.fields.reduce((sum, field) => sum + listLength(field.type), 0);
}

/** Stores units as they come in a list. */
function putList(place: Place, count: number, values: Iterator<unknown>, lead: Lead): void {
  const { type } = place;
  for (let i = 0; i < count; ++i) {
    const one = inside(place, type, i * type.size, i * type.units);
    if (type.element !== null && isBytes(type.element)) {
      checkWritable(one);
      one.block.memory.set(hexBytes(next(values), type.count), one.at);
    } else if (type.element !== null) {
      putList({ ...one, type: type.element }, type.count, values, lead);
    } else if (type.fields.length > 0) {
      for (const field of type.fields)
        putList(inside(one, field.type, field.at, field.unit), 1, values, lead);
    } else {
      putUnit(one, next(values), lead);
    }
  }
}

function next(values: Iterator<unknown>): unknown {
  const { value, done } = values.next();
  if (done === true) throw badArgument("too few units");
  return value;
}

function hexBytes(value: unknown, count?: number): Buffer {
  const bytes = Buffer.from(String(value), "hex");
  if (count !== undefined && bytes.length !== count)
    throw badArgument(`${bytes.length} bytes, not ${count}`);
  return bytes;
}

export function putUnit(place: Place, value: unknown, lead: Lead): void {
  checkWritable(place);
  const { block, type, at, heap } = place;
  switch (kindOf(type)) {
    case TypeKind.STRING: {
      const bytes = Buffer.from(value as string, "latin1");
      if (bytes.length > type.size) throw badArgument("the string is longer than its bound");
      block.memory.set(bytes, at);
      return void block.memory.fill(0, at + bytes.length, at + type.size);
    }
    case TypeKind.POINTER:
      return putPointer(place, value as string | null, lead);
    case TypeKind.TEXT: {
      const bytes = Buffer.from(value as string, "latin1");
      return replaceOwned(place, bytes.length === 0 ? 0 : bytes.length + 1, ({ memory }) =>
        memory.set(bytes),
      );
    }
    case TypeKind.SEQUENCE: {
      const element = heap.copy.types.get(targetSerial(type.descriptor.body)) as Type;
      if (isBytes(element)) {
        const bytes = hexBytes(value);
        return replaceOwned(place, bytes.length, ({ memory }) => memory.set(bytes));
      }
      const list = value as unknown[];
      const count = list.length / listLength(element);
      if (!Number.isInteger(count)) throw badArgument("no whole number of elements");
      return replaceOwned(place, count, (made) =>
        putList(wholeOf(heap, made), count, list[Symbol.iterator](), lead),
      );
    }
    case TypeKind.UNION:
      return putUnion(place, value as { case: number; units: unknown[] }, lead);
    default:
      return putNumber(place, value);
  }
}

function putUnion(place: Place, value: { case: number; units: unknown[] }, lead: Lead): void {
  freeOwned(place, checkWritable(place));
  const { block, at, type } = place;
  block.memory.fill(0, at, at + type.size);
  block.view.setInt32(at, value.case | 0, true);
  const arm = activeArm(place);
  if (arm !== null) putList(insideArm(place, arm), 1, value.units[Symbol.iterator](), lead);
}

function putPointer(place: Place, mip: string | null, lead: Lead): void {
  const { block, at } = place;
  if (mip === null) return setPointer(block.view, at, null);
  const { slotText, serial, offset } = lead(mip);
  const slot = slotText === null ? 0 : checkWritable(place).slotOf(slotText);
  setPointer(block.view, at, { slot, serial, offset });
}

/** Whatever bits are wanted: what they must not be is found at the release. */
function putNumber(place: Place, value: unknown): void {
  const {
    block: { view, memory },
    type,
    at,
  } = place;
  switch (type.serial) {
    case Primitive.FLOAT:
      return view.setUint32(at, Number(value), true);
    case Primitive.DOUBLE:
      return view.setBigUint64(at, BigInt(value as string), true);
    case Primitive.CHAR:
      memory[at] = Number(value);
      return;
    case Primitive.HYPER:
    case Primitive.UHYPER:
      return write(place, BigInt(value as string | number));
    default:
      if (type.serial <= Primitive.UINT) return write(place, Number(value));
      return view.setInt32(at, Number(value), true);
  }
}

/** The blocks that are owned by fields of others. */
export function ownedSerials(heap: Heap): Set<number> {
  const owned = new Set<number>();
  const look = (place: Place, count: number): void => {
    const { type } = place;
    for (let i = 0; i < count; ++i) {
      const one = inside(place, type, i * type.size, i * type.units);
      const kind = kindOf(type);
      if (kind === TypeKind.ARRAY) look({ ...one, type: type.element as Type }, type.count);
      else if (kind === TypeKind.RECORD)
        type.fields.forEach((f) => look(inside(one, f.type, f.at, f.unit), 1));
      else if (kind === TypeKind.UNION) {
        const arm = activeArm(one);
        if (arm !== null) look(insideArm(one, arm), 1);
      } else if (kind === TypeKind.SEQUENCE || kind === TypeKind.TEXT) {
        const block = ownedBlock(one);
        if (block !== null) owned.add(block.serial);
      } else return;
    }
  };
  for (const block of heap.copy.blocks.values()) look(wholeOf(heap, block), block.count);
  return owned;
}
