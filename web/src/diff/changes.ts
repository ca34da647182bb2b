/**
 * The changes that a writer makes to a copy between grant and release. They are found by comparing
 * blocks with their pristine copies, and sent as one diff. They are committed once the server
 * acknowledges them, or undone [COPY-2, COPY-3].
 *
 * A block gets its pristine copy before the first store to it. Stores through a typed array are not
 * seen, so blocks for which the program has one get theirs when the lock is granted.
 */
import { walk } from "../types/plan.js";
import type { Type } from "../types/type.js";
import { InterweaveError } from "../wire/error.js";
import { isBlockName } from "../wire/mip.js";
import type { TypeDescriptor } from "../wire/protocol/descriptor.js";
import { ErrorCode } from "../wire/protocol/error.js";
import { ByteWriter } from "../wire/varint.js";
import { DiffBuilder } from "./build.js";
import { CopiedBlock, type Copy } from "./copy.js";
import { collectUnits } from "./units.js";

export class Changes {
  private readonly touched = new Set<CopiedBlock>();
  private readonly created = new Set<CopiedBlock>();
  private readonly freed: CopiedBlock[] = [];
  private readonly firstType: number;
  private readonly firstSlot: number;
  /** Serials of the grant that are not used yet, [next, end). */
  private serials: { next: number; end: number };

  constructor(
    private readonly copy: Copy,
    exposed: Iterable<CopiedBlock>,
    first: number,
    count: number,
  ) {
    this.firstType = copy.types.nextSerial;
    this.firstSlot = copy.slots.length;
    this.serials = { next: first, end: first + count };
    for (const block of exposed) if (block.isLive) this.touch(block);
  }

  /** Makes the block's pristine copy, before a store to the block. */
  touch(block: CopiedBlock): void {
    if (block.pristine !== null || this.created.has(block)) return;
    block.pristine = block.memory.slice();
    this.touched.add(block);
  }

  /** How many more blocks can be made. */
  get serialsLeft(): number {
    return this.serials.end - this.serials.next;
  }

  addSerials(first: number, count: number): void {
    this.serials = { next: first, end: first + count };
  }

  allocate(type: Type, count: number, name: string): CopiedBlock {
    if (!Number.isSafeInteger(count) || count < 1) {
      throw new InterweaveError(ErrorCode.BAD_ARGUMENT, `a block of ${count} elements`);
    }
    if (name !== "" && !isBlockName(name)) {
      throw new InterweaveError(
        ErrorCode.BAD_NAME,
        `\`${name}\` is not a name: at most 255 bytes, no digit first, no '#', ` +
          "no control characters",
      );
    }
    if (this.copy.names.has(name)) {
      throw new InterweaveError(ErrorCode.BAD_NAME, `the name \`${name}\` is taken`);
    }
    this.copy.checkSize(type, count, this.copy.bytes + type.size * count);
    if (this.serialsLeft === 0) {
      throw new InterweaveError(
        ErrorCode.TOO_LARGE,
        "the lock's block serials are used up: call `await segment.reserveBlocks(count)` before",
      );
    }
    const block = new CopiedBlock(this.serials.next++, type, count, name);
    this.created.add(block);
    this.copy.add(block);
    return block;
  }

  free(block: CopiedBlock): void {
    this.copy.remove(block.serial);
    if (!this.created.delete(block)) this.freed.push(block);
  }

  addTypes(descriptors: readonly TypeDescriptor[]): void {
    this.copy.types.append(this.copy.types.check(descriptors));
  }

  /** The index of the slot with the text, which is added if it is missing. */
  slotOf(text: string): number {
    const known = this.copy.slots.indexOf(text);
    return known >= 0 ? known + 1 : this.copy.slots.push(text);
  }

  /** The release's diff; null: nothing changed. */
  collect(): Uint8Array | null {
    const { copy } = this;
    const diff = new DiffBuilder();
    for (const type of copy.types.all.slice(this.firstType - 64)) diff.addType(type.descriptor);
    const slots = copy.slots.slice(this.firstSlot);
    if (slots.length > 0) diff.addSlots(this.firstSlot + 1, slots);
    for (const block of this.freed) diff.free(block.serial);
    for (const { serial, type, count, name } of this.created) {
      diff.addBlock(serial, type.serial, count, name);
    }
    for (const block of [...this.touched, ...this.created]) {
      const runs = block.isLive ? runsOf(block) : null;
      if (runs !== null) diff.change(block.serial, runs);
    }
    return diff.finish(copy.version);
  }

  /** Makes the changes the version, because the server acknowledged them. */
  commit(version: bigint): void {
    for (const block of this.touched) block.pristine = null;
    for (const block of [...this.touched, ...this.created]) block.changedIn = version;
    this.copy.version = version;
  }

  /** Puts everything back as it was when the lock was granted. */
  undo(): void {
    for (const block of this.created) this.copy.remove(block.serial);
    for (const block of this.freed) this.copy.add(block);
    for (const block of this.touched) {
      if (block.pristine !== null) block.memory.set(block.pristine);
      block.pristine = null;
    }
    this.copy.types.truncate(this.firstType);
    this.copy.slots.length = this.firstSlot;
  }
}

/** Compares memory in words where it is aligned to them. */
class Comparison {
  private readonly words: Int32Array;
  private readonly pristineWords: Int32Array;

  constructor(
    private readonly memory: Uint8Array,
    private readonly pristine: Uint8Array,
  ) {
    const count = memory.length >> 2;
    this.words = new Int32Array(memory.buffer, 0, count);
    this.pristineWords = new Int32Array(pristine.buffer, 0, count);
  }

  /**
   * Searches `units` units side by side from `at` on, beginning with number `unit`, for the first
   * that differs (or, with `differs` false, is equal). Returns `units` if it finds nothing.
   */
  find(differs: boolean, at: number, width: number, unit: number, units: number): number {
    const isInWords = ((at | width) & 3) === 0;
    const [a, b] = isInWords ? [this.words, this.pristineWords] : [this.memory, this.pristine];
    const step = isInWords ? width >> 2 : width;
    const base = isInWords ? at >> 2 : at;
    for (; unit < units; ++unit) {
      const begin = base + unit * step;
      let k = 0;
      while (k < step && a[begin + k] === b[begin + k]) ++k;
      if (k < step === differs) break;
    }
    return unit;
  }
}

/** The runs of units that differ from the pristine copy, or in a new block from zero. */
function runsOf(block: CopiedBlock): Uint8Array | null {
  const pristine = block.pristine ?? new Uint8Array(block.memory.length);
  const comparison = new Comparison(block.memory, pristine);
  const out = new ByteWriter();
  let [unit, first, end] = [0, -1, 0];
  const finishRun = () => {
    if (first < 0) return;
    out.varint(first - end);
    out.varint(unit - first);
    collectUnits(block.plan, first, unit - first, block.memory, block.view, out);
    [first, end] = [-1, unit];
  };
  walk(block.plan, 0, block.units, 0, ({ width }, at, units) => {
    const begin = unit;
    for (let i = 0; i < units;) {
      const isInRun = first >= 0;
      i = comparison.find(!isInRun, at, width, i, units);
      unit = begin + i;
      if (i === units) break;
      if (isInRun) finishRun();
      else first = unit;
    }
  });
  finishRun();
  return out.length === 0 ? null : out.finish();
}
