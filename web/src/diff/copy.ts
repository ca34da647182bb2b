/**
 * The cached copy of one segment: its types, slot table and blocks. Diffs bring it up to date. A
 * diff is checked whole before anything changes [DIFF-1], so a checked diff cannot fail. A block
 * that a complete copy creates again keeps its place, so that views of it stay valid.
 */
import { MAX_EXTENT, TypeTable } from "../types/table.js";
import { repeat, type Plan } from "../types/plan.js";
import { isSameType, type Type } from "../types/type.js";
import { InterweaveError, malformed } from "../wire/error.js";
import { ErrorCode } from "../wire/protocol/error.js";
import { Diff, type NewBlock } from "./parse.js";
import { checkUnits, nextRun, placeUnits } from "./units.js";

const MAX_SLOTS = 65535;

/** An array of `count` elements of one type. */
export class CopiedBlock {
  readonly memory: Uint8Array;
  readonly view: DataView;
  /** Of all elements. */
  readonly plan: Plan;
  /** As the server has it, while a writer may store to the block; see `Changes`. */
  pristine: Uint8Array | null = null;
  /** False after the block is freed. References to it then lead nowhere. */
  isLive = true;
  /** The version that changed the block last; 0: none since the copy was complete. */
  changedIn = 0n;

  constructor(
    readonly serial: number,
    readonly type: Type,
    readonly count: number,
    readonly name: string,
  ) {
    this.memory = new Uint8Array(type.size * count);
    this.view = new DataView(this.memory.buffer);
    this.plan = repeat(type.plan, count, type.size);
  }

  get units(): number {
    return this.type.units * this.count;
  }
}

/** A block that a diff makes. */
export type CreatedBlock = NewBlock & { readonly type: Type };

/** The contents of a diff, checked. */
interface Checked {
  readonly types: Type[];
  readonly slots: string[];
  readonly freed: readonly number[];
  readonly created: Map<number, CreatedBlock>;
}

export class Copy {
  types = new TypeTable();
  slots: string[] = [];
  /** By serial, in the order in which they came. */
  blocks = new Map<number, CopiedBlock>();
  names = new Map<string, CopiedBlock>();
  version = 0n;
  /** Of all blocks in memory. */
  bytes = 0;

  /** `maxBytes` bounds the memory of all blocks [DIFF-2]. */
  constructor(readonly maxBytes: number) {}

  /**
   * Applies a diff. A diff from version 0 replaces everything. If `accept` throws when it sees the
   * diff's blocks, nothing changes.
   */
  apply(bytes: Uint8Array, accept: (created: Checked["created"]) => void = () => undefined): void {
    const diff = new Diff(bytes);
    if (diff.isMetadataOnly) throw malformed("a diff of metadata alone makes no version");
    if (diff.from !== 0n) return this.commit(diff, this.check(diff), null);
    const fresh = new Copy(this.maxBytes);
    const checked = fresh.check(diff);
    accept(checked.created);
    fresh.commit(diff, checked, this.blocks);
    for (const [serial, block] of this.blocks) {
      if (fresh.blocks.get(serial) !== block) block.isLive = false;
    }
    this.types = fresh.types;
    this.slots = fresh.slots;
    this.blocks = fresh.blocks;
    this.names = fresh.names;
    this.version = fresh.version;
    this.bytes = fresh.bytes;
  }

  private check(diff: Diff): Checked {
    if (diff.from !== this.version) {
      throw malformed(`the diff is from version ${diff.from}, here is version ${this.version}`);
    }
    const types = this.checkTypes(diff);
    const slots = this.checkSlots(diff);
    const live = diff.live();
    const freed = this.checkFreed(diff, live);
    const created = this.checkBlocks(diff, types, freed, live);
    this.checkChanges(diff, freed, created, this.slots.length + slots.length);
    return { types, slots, freed: [...freed], created };
  }

  /** The types that are new; those that are announced again must agree [DIFF-8]. */
  private checkTypes(diff: Diff): Type[] {
    const announced = diff.types();
    const next = this.types.nextSerial;
    const known = announced.filter((descriptor) => descriptor.serial < next);
    for (const { serial, name, hash } of known) {
      const type = this.types.get(serial);
      if (type?.name !== name || type.hash !== hash || serial < 64) {
        throw malformed(`type ${serial} is announced again as another`);
      }
    }
    return this.types.check(announced.slice(known.length));
  }

  private checkSlots(diff: Diff): string[] {
    const announced = diff.slots();
    if (announced === null) return [];
    const { first, texts } = announced;
    const known = this.slots.length - (first - 1);
    const again = this.slots.slice(first - 1);
    if (first < 1 || known < 0 || again.some((text, index) => (texts[index] ?? text) !== text)) {
      throw malformed(`the segment's next slot is ${this.slots.length + 1}, not ${first}`);
    }
    const added = texts.slice(known);
    if (this.slots.length + added.length > MAX_SLOTS) {
      throw new InterweaveError(ErrorCode.TOO_LARGE, `more than ${MAX_SLOTS} slots`);
    }
    return added;
  }

  private checkFreed(diff: Diff, live: [number, number][] | null): Set<number> {
    if (live !== null) {
      const isLive = inRanges(live);
      return new Set([...this.blocks.keys()].filter((serial) => !isLive(serial)));
    }
    const freed = new Set<number>();
    for (const serial of diff.freed()) {
      if (!this.blocks.has(serial)) {
        throw malformed(`block ${serial} is freed, but the copy has no such block`);
      }
      if (freed.has(serial)) throw malformed(`block ${serial} is freed twice`);
      freed.add(serial);
    }
    return freed;
  }

  private checkBlocks(
    diff: Diff,
    types: readonly Type[],
    freed: ReadonlySet<number>,
    live: [number, number][] | null,
  ): Checked["created"] {
    const first = this.types.nextSerial;
    const isLive = live === null ? () => true : inRanges(live);
    const created: Checked["created"] = new Map();
    const names = new Set<string>();
    let bytes = this.bytes;
    for (const serial of freed) bytes -= this.blocks.get(serial)?.memory.length ?? 0;
    for (const block of diff.newBlocks()) {
      const { serial, typeSerial, count, name } = block;
      const type = this.types.get(typeSerial) ?? types[typeSerial - first];
      if (type === undefined) throw malformed(`block ${serial}: no type ${typeSerial}`);
      if (this.blocks.has(serial) || created.has(serial)) {
        throw malformed(`block ${serial} is created, but exists`);
      }
      if (!isLive(serial)) throw malformed(`block ${serial} is created, but is not listed as live`);
      const holder = this.names.get(name);
      if (name !== "" && (names.has(name) || (holder !== undefined && !freed.has(holder.serial)))) {
        throw new InterweaveError(ErrorCode.BAD_NAME, `the name \`${name}\` is taken`);
      }
      bytes += type.size * count;
      this.checkSize(type, count, bytes);
      names.add(name);
      created.set(serial, { ...block, type });
    }
    return created;
  }

  /** Throws if the block would be too large, or would make the copy too large. */
  checkSize(type: Type, count: number, bytesInAll: number): void {
    if (type.units * count > MAX_EXTENT || type.slotBytes * count > MAX_EXTENT) {
      throw new InterweaveError(ErrorCode.TOO_LARGE, "a block has at most 2^40 units and bytes");
    }
    if (bytesInAll > this.maxBytes) {
      throw new InterweaveError(
        ErrorCode.TOO_LARGE,
        `the copy would take ${bytesInAll} bytes, ${this.maxBytes} are allowed: open the segment ` +
          "with a larger maxBytes",
      );
    }
  }

  private checkChanges(
    diff: Diff,
    freed: ReadonlySet<number>,
    created: Checked["created"],
    slots: number,
  ): void {
    const seen = new Set<number>();
    for (const { serial, runs } of diff.changes()) {
      if (seen.has(serial)) throw malformed(`block ${serial} occurs twice in CHANGES`);
      seen.add(serial);
      const old = freed.has(serial) ? undefined : this.blocks.get(serial);
      const block = created.get(serial) ?? old;
      if (block === undefined) {
        throw malformed(`block ${serial} is changed, but the copy has no such block`);
      }
      const plan = repeat(block.type.plan, block.count, block.type.size);
      for (let position = 0; ;) {
        const run = nextRun(plan.units, position, runs);
        if (run === null) break;
        checkUnits(plan, run.first, run.count, runs, slots);
        position = run.first + run.count;
      }
    }
  }

  private commit(
    diff: Diff,
    checked: Checked,
    places: ReadonlyMap<number, CopiedBlock> | null,
  ): void {
    this.types.append(checked.types);
    this.slots.push(...checked.slots);
    for (const serial of checked.freed) this.remove(serial);
    for (const { serial, typeSerial, type, count, name } of checked.created.values()) {
      const place = places?.get(serial);
      const stays =
        place !== undefined &&
        place.count === count &&
        place.name === name &&
        place.type.serial === typeSerial &&
        isSameType(place.type, type);
      if (stays) place.memory.fill(0);
      const block = stays ? place : new CopiedBlock(serial, type, count, name);
      if (diff.from !== 0n) block.changedIn = diff.to;
      this.add(block);
    }
    for (const { serial, runs } of diff.changes()) {
      const block = this.blocks.get(serial) as CopiedBlock;
      for (let position = 0; ;) {
        const run = nextRun(block.units, position, runs);
        if (run === null) break;
        placeUnits(block.plan, run.first, run.count, runs, block.memory);
        position = run.first + run.count;
      }
      if (diff.from !== 0n) block.changedIn = diff.to;
    }
    this.version = diff.to;
  }

  add(block: CopiedBlock): void {
    this.blocks.set(block.serial, block);
    if (block.name !== "") this.names.set(block.name, block);
    this.bytes += block.memory.length;
    block.isLive = true;
  }

  remove(serial: number): void {
    const block = this.blocks.get(serial);
    if (block === undefined) return;
    this.blocks.delete(serial);
    if (this.names.get(block.name) === block) this.names.delete(block.name);
    this.bytes -= block.memory.length;
    block.isLive = false;
  }
}

/** Whether a serial lies in one of the ranges, which ascend. */
function inRanges(ranges: readonly [number, number][]): (serial: number) => boolean {
  return (serial) => {
    let [low, high] = [0, ranges.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ranges[middle] as [number, number])[1] <= serial) low = middle + 1;
      else high = middle;
    }
    return low < ranges.length && (ranges[low] as [number, number])[0] <= serial;
  };
}
