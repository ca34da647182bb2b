/** Pointers as places: followed when they are read, made when a place is stored [WIRE-5]. */
import type { CopiedBlock } from "../diff/copy.js";
import { spotAt } from "../swizzle/navigate.js";
import { isSameType, targetSerial } from "../types/type.js";
import { InterweaveError } from "../wire/error.js";
import { serverPart } from "../wire/mip.js";
import { getPointer, isNull, setPointer } from "../wire/pointer.js";
import { ErrorCode } from "../wire/protocol/error.js";
import { checkReadable, checkWritable, mipOfPlace, type Heap, type Place } from "./place.js";

/** Where a pointer leads: `count` values of the type from there on. */
export interface Target extends Place {
  readonly count: number;
}

/** The MIP that the pointer at a place stands for, followed or not; null: NULL. */
export function mipOfPointer(place: Place): string | null {
  checkReadable(place);
  const { heap, block, at } = place;
  if (isNull(block.view, at)) return null;
  const { slot, serial, offset } = getPointer(block.view, at);
  const text = heap.copy.slots[slot - 1];
  const url = slot === 0 ? heap.url : text?.startsWith("/") ? serverOf(heap) + text : text;
  return `${url}#${serial}${offset === 0n ? "" : `#${offset}`}`;
}

function serverOf({ url }: Heap): string {
  return url.startsWith("unix:") ? url.slice(0, url.indexOf(":/", 5) + 1) : serverPart(url);
}

function badPointer(place: Place, why: string): InterweaveError {
  return new InterweaveError(
    ErrorCode.BAD_POINTER,
    `the pointer at ${mipOfPlace(place)} leads to ${mipOfPointer(place)}, ${why}`,
  );
}

/** Returns the target of the pointer at a place; null: NULL. */
export function follow(place: Place): Target | null {
  checkReadable(place);
  const { heap, block, type, at } = place;
  if (isNull(block.view, at)) return null;
  const { slot, serial, offset } = getPointer(block.view, at);
  const text = heap.copy.slots[slot - 1];
  const other = slot === 0 ? heap : heap.segmentAt(text ?? "");
  if (other === null) {
    throw new InterweaveError(
      ErrorCode.NOT_OPEN,
      `the pointer at ${mipOfPlace(place)} leads to ${mipOfPointer(place)}, but that segment is ` +
        "not open here: open it first, and hold a lock on it",
    );
  }
  const target = other.copy.blocks.get(serial);
  if (target === undefined) throw badPointer(place, "where no block is");
  const wanted = heap.copy.types.get(targetSerial(type.descriptor.body)) ?? null;
  const unit = Number(offset);
  const spot = spotAt(target, unit, wanted);
  if (spot === null) throw badPointer(place, `where no ${wanted?.name || "such value"} begins`);
  return { heap: other, block: target, unit, isInArm: false, ...spot };
}

/** Stores a pointer to a place; null stores NULL. */
export function point(place: Place, target: Place | null): void {
  const changes = checkWritable(place);
  const { heap, block, type, at } = place;
  if (target === null) return setPointer(block.view, at, null);
  if (!target.block.isLive) throw new InterweaveError(ErrorCode.BAD_POINTER, "the block was freed");
  if (target.isInArm) {
    throw new InterweaveError(
      ErrorCode.BAD_POINTER,
      `a pointer cannot lead to what is inside of the union at ${mipOfPlace(target)}`,
    );
  }
  const wanted = heap.copy.types.get(targetSerial(type.descriptor.body)) ?? null;
  const spot = spotAt(target.block, target.unit, wanted);
  if (spot === null) {
    const found = spotAt(target.block, target.unit, null);
    const name = found === null ? "no value" : found.type.name || "a value of another type";
    throw new InterweaveError(
      ErrorCode.BAD_POINTER,
      `a pointer to ${wanted?.name || "that type"} cannot lead to ${mipOfPlace(target)}: ` +
        `there is ${name}`,
    );
  }
  const slot = target.heap === heap ? 0 : changes.slotOf(target.heap.slotTextFor(heap));
  const { serial } = target.block;
  setPointer(block.view, at, { slot, serial, offset: BigInt(target.unit) });
}

/** The block that a sequence or text owns [WIRE-7]; null: length 0. */
export function ownedBlock(place: Place): CopiedBlock | null {
  checkReadable(place);
  const { heap, block, type, at } = place;
  if (isNull(block.view, at)) return null;
  const { serial } = getPointer(block.view, at);
  const owned = heap.copy.blocks.get(serial);
  const element = heap.copy.types.get(targetSerial(type.descriptor.body));
  if (owned === undefined || element === undefined || !isSameType(owned.type, element)) {
    throw badPointer(place, "where no block of its elements is");
  }
  return owned;
}
