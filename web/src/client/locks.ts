/** The locks that a segment hands out. */
import type { Segment } from "./segment.js";

/** The symbols that `using` needs; older platforms lack them. */
const dispose: typeof Symbol.dispose = Symbol.dispose ?? Symbol.for("Symbol.dispose");
const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

/** `using lock = await segment.read();` */
export class ReadLock {
  private isHeld = true;

  constructor(
    readonly segment: Segment,
    private readonly give: () => void,
  ) {}

  /** The version that is read. */
  get version(): number {
    return this.segment.version;
  }

  release(): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    this.give();
  }

  [dispose](): void {
    this.release();
  }
}

/**
 * `await using lock = await segment.write(); ...; await lock.release();` A lock that is disposed of
 * without having been released is aborted: an exception on the way must not share half a change.
 */
export class WriteLock {
  constructor(
    readonly segment: Segment,
    private readonly end: {
      release: () => Promise<number>;
      abort: () => void;
      isHeld: () => boolean;
    },
  ) {}

  /** Shares the changes. Gives the version that they make. */
  release(): Promise<number> {
    return this.end.release();
  }

  /** Undoes the changes. */
  abort(): void {
    this.end.abort();
  }

  /** Undoes the changes, unless the lock was given back or lost. */
  abandon(): void {
    if (this.end.isHeld()) this.abort();
  }

  async [asyncDispose](): Promise<void> {
    this.abandon();
  }
}
