/** The vectors of spec/vectors, and how their meaning is written. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CopiedBlock, Copy } from "../src/diff/copy.js";
import { repeat, selectedArm, walk, type Leaf, type Plan } from "../src/types/plan.js";
import { TypeTable } from "../src/types/table.js";
import type { Type } from "../src/types/type.js";
import { getPointer, isNull } from "../src/wire/pointer.js";
import { typeDescriptor, type TypeDescriptor } from "../src/wire/protocol/descriptor.js";
import { Reader } from "../src/wire/protocol/xdr.js";
import { endOfString } from "../src/diff/units.js";

export const root = fileURLToPath(new URL("../../../", import.meta.url));

export interface BlockOf {
  serial: number;
  type: number;
  count: number;
  name: string;
}

export interface Vector {
  name: string;
  kind: string;
  rule: string;
  error?: string;
  role?: string;
  text?: string;
  bytes?: string | string[];
  context?: {
    types?: string[];
    slots?: string[];
    blocks?: BlockOf[];
    version?: number;
    type?: number;
    count?: number;
    max_diff_bytes?: number;
  };
  meaning?: Record<string, unknown>;
}

export function vectorsOf(folder: "good" | "malformed"): Vector[] {
  const path = `${root}spec/vectors/${folder}/`;
  const files = readdirSync(path).filter((file) => file.endsWith(".json"));
  return files.flatMap((file) => JSON.parse(readFileSync(path + file, "utf8")) as Vector[]);
}

export function fromHex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, "hex"));
}

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

export function bytesOf(vector: Vector): Uint8Array {
  const lines = typeof vector.bytes === "string" ? [vector.bytes] : (vector.bytes ?? []);
  return fromHex(lines.map((line) => line.replace(/;.*/, "").replaceAll(/\s/g, "")).join(""));
}

export function descriptorsOf(bytes: Uint8Array): TypeDescriptor[] {
  const r = new Reader(bytes);
  const found: TypeDescriptor[] = [];
  while (r.remaining > 0) found.push(typeDescriptor.decode(r));
  return found;
}

const good = vectorsOf("good");

export function contextTypes(vector: Vector): TypeTable {
  const table = new TypeTable();
  for (const name of vector.context?.types ?? []) {
    const named = good.find((other) => other.name === name && other.kind === "descriptor");
    if (named === undefined) throw new Error(`no descriptor vector ${name}`);
    table.append(table.check(descriptorsOf(bytesOf(named))));
  }
  return table;
}

export function contextCopy(vector: Vector): Copy {
  const copy = new Copy(2 ** 40);
  copy.types = contextTypes(vector);
  copy.slots = [...(vector.context?.slots ?? [])];
  copy.version = BigInt(vector.context?.version ?? 0);
  for (const { serial, type, count, name } of vector.context?.blocks ?? []) {
    copy.add(new CopiedBlock(serial, copy.types.get(type) as Type, count, name));
  }
  return copy;
}

/** As JSON has it: numbers that are not exact are strings of digits. */
export function number(value: number | bigint): number | string {
  const exact =
    BigInt.asIntN(64, BigInt(Number(value))) === BigInt(value) &&
    Number.isSafeInteger(Number(value));
  return exact ? Number(value) : String(value);
}

export function pointer(view: DataView, at: number): unknown {
  if (isNull(view, at)) return null;
  const { slot, serial, offset } = getPointer(view, at);
  return [slot, serial, number(offset)];
}

/** The scalar types of a type's units, in order: the plan does not tell int from float. */
function scalars(type: Type, table: TypeTable, out: Type[]): void {
  if (type.element !== null) for (let i = 0; i < type.count; ++i) scalars(type.element, table, out);
  else if (type.fields.length > 0)
    for (const { type: each } of type.fields) scalars(each, table, out);
  else out.push(type);
}

function scalar(type: Type, table: TypeTable, block: Bytes, at: number): unknown {
  const { view, memory } = block;
  const leaf = type.plan.pieces[0]?.body as Leaf;
  switch (leaf.kind) {
    case "bool":
      return view.getInt32(at, true) !== 0;
    case "enum":
      return view.getInt32(at, true);
    case "pointer":
    case "owned":
      return pointer(view, at);
    case "string":
      return Buffer.from(memory.subarray(at, endOfString(memory, at, leaf.width))).toString(
        "latin1",
      );
    case "union": {
      const value = view.getInt32(at, true);
      const arm = type.union?.arms.get(value) ?? type.union?.otherwise;
      const has = type.union?.arms.get(value) !== null && arm !== null && arm !== undefined;
      const isUnsigned = type.union?.discriminant.type.name === "uint";
      return {
        case: isUnsigned ? value >>> 0 : value,
        units: has ? unitsOf(arm.type, 1, table, block, at + leaf.union.armAt) : [],
      };
    }
    default:
      return numberAt(type.name, view, at);
  }
}

function numberAt(name: string, view: DataView, at: number): unknown {
  const read: Record<string, () => number | bigint> = {
    char: () => view.getInt8(at),
    uchar: () => view.getUint8(at),
    short: () => view.getInt16(at, true),
    ushort: () => view.getUint16(at, true),
    int: () => view.getInt32(at, true),
    uint: () => view.getUint32(at, true),
    hyper: () => view.getBigInt64(at, true),
    uhyper: () => view.getBigUint64(at, true),
    float: () => view.getFloat32(at, true),
    double: () => view.getFloat64(at, true),
  };
  const value = (read[name] as () => number | bigint)();
  return typeof value === "bigint" ? number(value) : value;
}

export interface Bytes {
  memory: Uint8Array;
  view: DataView;
}

/** The units of `count` elements, as vectors show them. */
export function unitsOf(
  type: Type,
  count: number,
  table: TypeTable,
  block: Bytes,
  base = 0,
): unknown[] {
  const kinds: Type[] = [];
  scalars(type, table, kinds);
  const values: unknown[] = [];
  walk(repeat(type.plan, count, type.size), 0, count * type.units, base, (leaf, at, units) => {
    for (let i = 0; i < units; ++i) {
      const kind = kinds[values.length % type.units] as Type;
      values.push(scalar(kind, table, block, at + i * leaf.width));
    }
  });
  return values;
}

/** The wire's slot form of memory: packed, each unit in its slot. */
export function slotForm(type: Type, count: number, block: Bytes): Uint8Array {
  const slots = new Uint8Array(type.slotBytes * count);
  const kinds: Type[] = [];
  scalars(type, new TypeTable(), kinds);
  let [out, unit] = [0, 0];
  const place = (plan: Plan, base: number) =>
    walk(plan, 0, plan.units, base, (leaf, at, many) => {
      for (let i = 0; i < many; ++i) {
        const from = at + i * leaf.width;
        if (leaf.kind !== "union") {
          slots.set(block.memory.subarray(from, from + leaf.width), out);
          out += leaf.width;
          continue;
        }
        slots.set(block.memory.subarray(from, from + 4), out);
        out += 4;
        const arm = selectedArm(leaf.union, block.view.getInt32(from, true));
        if (arm) place(arm, from + leaf.union.armAt);
      }
    });
  for (let element = 0; element < count; ++element) {
    walk(type.plan, 0, type.units, element * type.size, (leaf, at, many) => {
      for (let i = 0; i < many; ++i, ++unit) {
        const begin = out;
        const from = at + i * leaf.width;
        if (leaf.kind === "union") place(unionPlan(leaf), from);
        else slots.set(block.memory.subarray(from, from + leaf.width), out);
        out = begin + (kinds[unit % kinds.length] as Type).slotBytes;
      }
    });
  }
  return slots;
}

function unionPlan(leaf: Leaf): Plan {
  return { units: 1, pieces: [{ unit: 0, at: 0, units: 1, body: leaf }] };
}
