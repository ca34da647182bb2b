/** The place of a value in a segment, and the interface of a segment that values use. */
import type { Changes } from "../diff/changes.js";
import type { CopiedBlock, Copy } from "../diff/copy.js";
import type { Type } from "../types/type.js";
import { InterweaveError } from "../wire/error.js";
import { ErrorCode } from "../wire/protocol/error.js";

/** A segment, as its values see it. */
export interface Heap {
  readonly copy: Copy;
  /** `iw://host:port/path` [MIP-3] */
  readonly url: string;
  /** This segment's name in the slot table of the segment `reader`. */
  slotTextFor(reader: Heap): string;
  /** The open segment with the slot text; null: it is not open here. */
  segmentAt(slotText: string): Heap | null;
  /** NO_LOCK unless a reader or writer lock is held. */
  checkReadable(): void;
  /** NO_LOCK unless the writer lock is held. */
  changes(): Changes;
  /** Notes that the program was handed memory of the block to which it can store. */
  expose(block: CopiedBlock): void;
}

/** A value in a segment. */
export interface Place {
  readonly heap: Heap;
  readonly block: CopiedBlock;
  readonly type: Type;
  /** In bytes, and in units, from the block's beginning. */
  readonly at: number;
  readonly unit: number;
  /** In an arm of the union that is the unit: it has no MIP of its own [MIP-4]. */
  readonly isInArm: boolean;
}

/** The member of views that holds their place: no field can have its name. */
export const PLACE = Symbol("interweave.place");

/** The places of typed arrays that were handed out. */
const placesOfArrays = new WeakMap<object, Place>();

export function rememberPlace(array: object, place: Place): void {
  placesOfArrays.set(array, place);
}

export function placeOf(value: unknown): Place | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as { [PLACE]?: Place })[PLACE] ?? placesOfArrays.get(value);
}

/** Checks, before a value is read, that a lock is held and that the block exists. */
export function checkReadable({ heap, block }: Place): void {
  heap.checkReadable();
  if (!block.isLive) {
    throw new InterweaveError(
      ErrorCode.NO_BLOCK,
      `block ${block.serial} of ${heap.url} was freed; ask the segment for what is there now`,
    );
  }
}

/** Checks, before a value is stored, that the writer lock is held and that the block exists. */
export function checkWritable(place: Place): Changes {
  const changes = place.heap.changes();
  checkReadable(place);
  changes.touch(place.block);
  return changes;
}

/** The canonical MIP of a place [MIP-3]. For a place in an arm it is the union's MIP. */
export function mipOfPlace({ heap, block, unit }: Place): string {
  return `${heap.url}#${block.serial}${unit === 0 ? "" : `#${unit}`}`;
}
