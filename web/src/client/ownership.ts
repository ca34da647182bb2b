/** Blocks owned by fields [WIRE-7]: made when a value is stored, freed with their owner. */
import type { Changes } from "../diff/changes.js";
import type { CopiedBlock, Copy } from "../diff/copy.js";
import { selectedArm, walk, type Leaf, type Plan } from "../types/plan.js";
import { targetSerial, type Type } from "../types/type.js";
import { InterweaveError } from "../wire/error.js";
import { getPointer, isNull, setPointer } from "../wire/pointer.js";
import { ErrorCode } from "../wire/protocol/error.js";
import { checkWritable, type Place } from "./place.js";

/** The serials of the blocks that units of a block own directly. */
export function ownedIn(block: CopiedBlock, plan: Plan, base: number): number[] {
  const serials: number[] = [];
  const visit = (leaf: Leaf, at: number, count: number): void => {
    for (let i = 0; i < count; ++i) {
      const place = at + i * leaf.width;
      if (leaf.kind === "owned" && !isNull(block.view, place)) {
        serials.push(getPointer(block.view, place).serial);
      } else if (leaf.kind === "union") {
        const arm = selectedArm(leaf.union, block.view.getInt32(place, true));
        if (arm) walk(arm, 0, arm.units, place + leaf.union.armAt, visit);
      }
    }
  };
  walk(plan, 0, plan.units, base, visit);
  return serials;
}

function freeSerials(copy: Copy, changes: Changes, serials: number[]): void {
  for (let serial = serials.pop(); serial !== undefined; serial = serials.pop()) {
    const block = copy.blocks.get(serial);
    if (block === undefined) continue;
    changes.free(block);
    serials.push(...ownedIn(block, block.plan, 0));
  }
}

/** Frees a block and all that it owns. */
export function freeBlock(copy: Copy, changes: Changes, block: CopiedBlock): void {
  freeSerials(copy, changes, [block.serial]);
}

/** Frees the blocks that the value at a place owns, before another value replaces it. */
export function freeOwned({ heap, block, type, at }: Place, changes: Changes): void {
  freeSerials(heap.copy, changes, ownedIn(block, type.plan, at));
}

/**
 * A new block for a sequence or text; the old one is freed once the new one is filled, perhaps from
 * it. None for length 0.
 */
export function replaceOwned(
  place: Place,
  count: number,
  fill: (block: CopiedBlock) => void,
): void {
  const changes = checkWritable(place);
  const { heap, block, type, at } = place;
  const { body } = type.descriptor;
  const bound =
    "sequence" in body ? body.sequence.bound : "text_bound" in body ? body.text_bound + 1 : 0;
  const isText = "text_bound" in body;
  if (bound > (isText ? 1 : 0) && count > bound) {
    throw new InterweaveError(ErrorCode.TOO_LARGE, `${count} elements where ${bound} are the most`);
  }
  const element = heap.copy.types.get(targetSerial(body)) as Type;
  const made = count === 0 ? null : changes.allocate(element, count, "");
  try {
    if (made !== null) fill(made);
  } catch (error) {
    if (made !== null) freeBlock(heap.copy, changes, made);
    throw error;
  }
  freeOwned(place, changes);
  setPointer(block.view, at, made === null ? null : { slot: 0, serial: made.serial, offset: 0n });
}
