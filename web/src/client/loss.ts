/** What a server that comes back may lack of a copy: then the copy is lost [LOST-1, LOST-2]. */
import type { CopiedBlock, Copy, CreatedBlock } from "../diff/copy.js";
import { isSameType } from "../types/type.js";
import type { VersionStamp } from "../wire/protocol/segment.js";
import { ownedIn } from "./ownership.js";

/** `newest`: of the server; null: it has no such segment. The text says what was found; null: no loss. */
export function versionLost(had: VersionStamp, newest: VersionStamp | null): string | null {
  if (had.number === 0n) return null;
  if (newest === null) return `the server came back without it, and here is version ${had.number}`;
  if (newest.number >= had.number) return null;
  return `the server came back with version ${newest.number}, and here is version ${had.number}`;
}

/** Blocks that fields own come and go with their fields. */
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
