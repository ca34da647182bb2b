/** Where a value of a segment is, and what values ask of their segment. */
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
  /** What another segment's slot table calls this one, seen from a segment of that server. */
  slotTextFor(reader: Heap): string;
  /** The open segment with that slot text; null: it is not open here. */
  segmentAt(slotText: string): Heap | null;
  /** NO_LOCK unless a reader or writer lock is held. */
  checkReadable(): void;
  /** NO_LOCK unless the writer lock is held. */
  changes(): Changes;
  /** Somebody was handed memory of the block that can be stored to. */
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

/** Before a value is read. */
export function checkReadable({ heap, block }: Place): void {
  heap.checkReadable();
  if (!block.isLive) {
    throw new InterweaveError(
      ErrorCode.NO_BLOCK,
      `block ${block.serial} of ${heap.url} was freed; ask the segment for what is there now`,
    );
  }
}

/** Before a value is stored. */
export function checkWritable(place: Place): Changes {
  const changes = place.heap.changes();
  checkReadable(place);
  changes.touch(place.block);
  return changes;
}

/** The canonical MIP of a place [MIP-3]; of one in an arm, that of its union. */
export function mipOfPlace({ heap, block, unit }: Place): string {
  return `${heap.url}#${block.serial}${unit === 0 ? "" : `#${unit}`}`;
}
