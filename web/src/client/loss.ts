/** Finds what a server that came back lacks of a copy. The copy is then lost [LOST-1, LOST-2]. */
import type { CopiedBlock, Copy, CreatedBlock } from "../diff/copy.js";
import { isSameType } from "../types/type.js";
import type { VersionStamp } from "../wire/protocol/segment.js";
import { ownedIn } from "./ownership.js";

/**
 * Compares the copy's version with the server's `newest` (null: the server lacks the segment).
 * Returns a text that says what was found; null: nothing is lost.
 */
export function versionLost(had: VersionStamp, newest: VersionStamp | null): string | null {
  if (had.number === 0n) return null;
  if (newest === null) return `the server came back without it, and here is version ${had.number}`;
  if (newest.number >= had.number) return null;
  return `the server came back with version ${newest.number}, and here is version ${had.number}`;
}

/** The serials of blocks that fields own. They come and go with their fields. */
function ownedBlocks({ blocks }: Copy): Set<number> {
  const owned = new Set<number>();
  for (const block of blocks.values())
    for (const serial of ownedIn(block, block.plan, 0)) owned.add(serial);
  return owned;
}

function isSame(block: CopiedBlock, found: CreatedBlock | undefined): boolean {
  return (
    found !== undefined &&
    found.count === block.count &&
    found.name === block.name &&
    isSameType(found.type, block.type)
  );
}

/** `created`: the blocks of a complete copy of another incarnation. */
export function blockLost(copy: Copy, created: ReadonlyMap<number, CreatedBlock>): string | null {
  const owned = ownedBlocks(copy);
  for (const block of copy.blocks.values()) {
    if (owned.has(block.serial) || isSame(block, created.get(block.serial))) continue;
    const name = block.name === "" ? "" : ` (\`${block.name}\`)`;
    const how = created.has(block.serial) ? "with another block" : "without block";
    return `the server came back ${how} ${block.serial}${name} of version ${copy.version}`;
  }
  return null;
}
