/**
 * Is a cached copy recent enough? The coherence models as one pure function of what is known about
 * the copy and of the local clock (spec/coherence.md: COH-1..7, FRESH-1..5). Times are milliseconds
 * of that clock; -Infinity is never.
 */
import { CoherenceModel } from "../wire/protocol/lock.js";
import type { VersionStamp } from "../wire/protocol/segment.js";

export interface Bound {
  readonly model: CoherenceModel;
  /** Versions (Delta), seconds (Temporal), per cent (Diff). */
  readonly x: number;
}

export const FULL: Bound = { model: CoherenceModel.FULL, x: 0 };

/** What is known about a copy. */
export interface Knowledge {
  readonly hasCopy: boolean;
  readonly copy: VersionStamp;
  /** The newest version heard of, which was the newest at `newestAsOf`. */
  readonly newest: VersionStamp;
  readonly newestAsOf: number;
  /** `copy` was the newest at this moment. */
  readonly confirmed: number;
  /** The server has promised to tell when this bound is broken, and has not done so. */
  readonly promise: Bound | null;
  /** The last message from the server on this connection. */
  readonly heard: number;
  readonly heartbeatMs: number;
}

export function isSameStamp(a: VersionStamp, b: VersionStamp): boolean {
  return a.incarnation === b.incarnation && a.number === b.number && a.chain === b.chain;
}

export function isSameBound(a: Bound | null, b: Bound | null): boolean {
  return a?.model === b?.model && a?.x === b?.x;
}

/** The promise holds only while the server is heard [FRESH-3]. */
function promiseAt(known: Knowledge, now: number): Bound | null {
  return now - known.heard <= 2 * known.heartbeatMs ? known.promise : null;
}

/** At most x versions behind, as of a moment during the acquire or by the server's promise. */
function isWithinVersions(x: number, known: Knowledge, began: number, now: number): boolean {
  if (known.copy.incarnation !== known.newest.incarnation) return false;
  const behind = known.newest.number - known.copy.number;
  // The same number with another content is not the same version [COH-11].
  if (behind < 0n || (behind === 0n && !isSameStamp(known.copy, known.newest))) return false;
  if (Number(behind) > x) return false;
  if (known.newestAsOf >= began) return true;
  const promise = promiseAt(known, now);
  return (
    promise?.model === CoherenceModel.FULL ||
    (promise?.model === CoherenceModel.DELTA && promise.x <= x)
  );
}

/** The latest moment at which the copy is known to have been the newest [FRESH-2, FRESH-3]. */
export function confirmedAt(known: Knowledge): number {
  const isWatched =
    known.promise?.model === CoherenceModel.FULL && isSameStamp(known.copy, known.newest);
  return isWatched ? Math.max(known.confirmed, known.heard) : known.confirmed;
}

/** True if no message is needed. `began` is when the acquire was called. */
export function isRecent(bound: Bound, known: Knowledge, began: number, now: number): boolean {
  if (!known.hasCopy) return false;
  switch (bound.model) {
    case CoherenceModel.FULL:
      return isWithinVersions(0, known, began, now);
    case CoherenceModel.STRICT:
      return false;
    case CoherenceModel.NULL_COHERENCE:
      return true;
    case CoherenceModel.DELTA:
      return isWithinVersions(bound.x, known, began, now);
    case CoherenceModel.TEMPORAL:
      return now - confirmedAt(known) <= bound.x * 1000;
    case CoherenceModel.DIFF: {
      if (isWithinVersions(0, known, began, now)) return true;
      const promise = promiseAt(known, now);
      return promise?.model === CoherenceModel.DIFF && promise.x <= bound.x;
    }
  }
}

/**
 * When time alone will make a copy that is recent enough too old [COH-5]; Infinity: it will not.
 */
export function recentUntil(bound: Bound, known: Knowledge): number {
  if (bound.model !== CoherenceModel.TEMPORAL) return Infinity;
  return confirmedAt(known) + bound.x * 1000;
}

/**
 * What to ask the server to watch for a reader with this bound. Temporal is decided on the local
 * clock, so its reader wants to hear of every first newer version.
 */
export function promiseFor(bound: Bound): Bound {
  const isWatched = bound.model === CoherenceModel.DELTA || bound.model === CoherenceModel.DIFF;
  return isWatched ? bound : FULL;
}

/** Whether a server can watch for this model. */
export function canSubscribe({ model }: Bound): boolean {
  return model !== CoherenceModel.STRICT && model !== CoherenceModel.NULL_COHERENCE;
}
