/**
 * What a client knows about its copy of one segment: the copy's version, the newest version, when
 * it was so, and the diffs that have arrived and wait to be applied.
 *
 * Diffs come in version order [FRAME-5] and wait in one queue: each begins at the version at which
 * the one before it ends, or is a complete copy. Time is an argument.
 */
import { Adaptation } from "../coherence/adaptation.js";
import { isSameStamp, type Bound, type Knowledge } from "../coherence/freshness.js";
import { CoherenceModel, type ReaderAcquired } from "../wire/protocol/lock.js";
import type { VersionStamp } from "../wire/protocol/segment.js";

export const NO_VERSION: VersionStamp = { incarnation: 0n, number: 0n, chain: 0n };

export interface StagedDiff {
  readonly from: VersionStamp;
  readonly now: VersionStamp;
  readonly bytes: Uint8Array;
  /** Its bytes are to be credited back [NOT-4]. */
  readonly wasPushed: boolean;
  /** `now` was the newest at this moment. */
  readonly asOf: number;
}

/**
 * The first frame of a message has come whose diff the server counts the client as having [NOT-6].
 * `from` is null for an answer, which does not say yet at which version its diff begins.
 */
interface Coming {
  readonly stream: number;
  readonly from: VersionStamp | null;
  readonly now: VersionStamp;
}

/** What a question says that the client has, and how many diffs the client had lost by then. */
export interface Asked {
  readonly have: VersionStamp;
  readonly lost: number;
}

/** The same number with another chain is another history, which has replaced ours [COH-11]. */
function isAfter(a: VersionStamp, b: VersionStamp): boolean {
  if (a.incarnation !== b.incarnation || a.number > b.number) return true;
  return a.number === b.number && a.chain !== b.chain;
}

export class CopyState {
  readonly adaptation = new Adaptation();
  hasCopy = false;
  have = NO_VERSION;
  newest = NO_VERSION;
  /** The version that the program saw last, also if the copy is of no version any more. */
  had = NO_VERSION;
  /** The server watches this bound. */
  subscription: Bound | null = null;
  private newestAsOf = -Infinity;
  private confirmed = -Infinity;
  /** `reach` was the newest at this moment. */
  private reachAsOf = -Infinity;
  // While one of these is true, the server's silence does not mean that `reach` is recent enough.
  /** It has nothing more to say for now [NOT-1]. */
  private isTold = false;
  /** It counts the client as having more than `reach`. */
  private isOverrated = false;
  /** Its first notification may be on its way [NOT-5]. */
  private isUnsure = false;
  /** So it is while a diff is coming. There is one at a time [FRAME-5]. */
  private coming: Coming | null = null;
  private staged: StagedDiff[] = [];
  private creditBytes = 0;
  /** So often a diff was lost. */
  private lost = 0;

  knowledge(heard: number, heartbeatMs: number): Knowledge {
    const { hasCopy, have: copy, newest, newestAsOf, confirmed } = this;
    // The promise is about `reach` [FRESH-3].
    const promise = this.hasStaged ? null : this.promise;
    return { hasCopy, copy, newest, newestAsOf, confirmed, promise, heard, heartbeatMs };
  }

  /** What would be known once the waiting diffs were applied. */
  withStaged(known: Knowledge): Knowledge {
    if (this.staged.length === 0) return known;
    const { promise, reach: copy, reachAsOf: confirmed } = this;
    return { ...known, hasCopy: true, copy, confirmed, promise };
  }

  private get promise(): Bound | null {
    if (this.isTold || this.isOverrated || this.isUnsure || this.coming !== null) return null;
    return this.subscription;
  }

  get hasStaged(): boolean {
    return this.staged.length > 0;
  }

  /** The version that the copy and its waiting diffs lead to: what requests say they have. */
  get reach(): VersionStamp {
    return this.staged[this.staged.length - 1]?.now ?? this.have;
  }

  /** `reach` after the diff that is coming. A question gives it: its answer comes later. */
  get willReach(): VersionStamp {
    const { coming, reach } = this;
    if (coming === null || coming.from === null) return reach;
    return isSameStamp(coming.from, reach) ? coming.now : reach;
  }

  get asked(): Asked {
    return { have: this.willReach, lost: this.lost };
  }

  begins(coming: Coming): void {
    this.coming = coming;
  }

  /** The message on that stream is complete. */
  ends(stream: number): void {
    if (this.coming?.stream === stream) this.coming = null;
  }

  private reaches(version: VersionStamp): boolean {
    const { reach } = this;
    const isBeyond = reach.incarnation === version.incarnation && reach.number > version.number;
    return isBeyond || isSameStamp(reach, version);
  }

  /**
   * After the answer to that question: its diff fits nothing, because another answer came between.
   * Or the copy does not come to the version that was named, because a diff that was coming, or
   * waited, could not be used. Or a diff was lost on which the answer counts [FRESH-2].
   */
  mustAskAgain({ updated, now }: ReaderAcquired, { have, lost }: Asked): boolean {
    const lacksNamed = have.number !== 0n && !this.reaches(have);
    const countsOnDiff = updated || lost !== this.lost;
    return (!updated && lacksNamed) || (countsOnDiff && !this.reaches(now));
  }

  /**
   * The version that an answer's diff begins at, of which the diff says the number: the server made
   * it from the version that we named, chain and all.
   */
  baseOfUpdate(number: bigint, incarnation: bigint): VersionStamp {
    const end = this.reach;
    const continues = end.incarnation === incarnation && end.number === number;
    return { incarnation, number, chain: continues ? end.chain : 0n };
  }

  newestIs(newest: VersionStamp, asOf: number): void {
    if (isAfter(newest, this.newest)) this.newest = newest;
    if (isSameStamp(newest, this.newest)) this.newestAsOf = Math.max(this.newestAsOf, asOf);
    if (isSameStamp(newest, this.reach)) this.reachAsOf = Math.max(this.reachAsOf, asOf);
    if (this.hasCopy && isSameStamp(newest, this.have)) {
      this.confirmed = Math.max(this.confirmed, asOf);
    }
  }

  /**
   * The segment was opened at a server, which may have gone back from what was heard before, though
   * not from the copy. Drops diffs that lead to a version that the server has lost [COH-11].
   */
  openedAt(newest: VersionStamp): void {
    if (isAfter(this.reach, newest)) this.dropStaged();
    this.newest = newest;
  }

  private reachedNewest(): void {
    if (!isSameStamp(this.reach, this.newest)) return;
    this.isTold = this.isOverrated = this.isUnsure = false;
  }

  /** An answer without a diff: what the client can reach is recent enough. */
  upToDate(newest: VersionStamp, asOf: number): void {
    // The empty segment needs no diff to be a copy of it.
    if (!this.hasCopy && !this.hasStaged && newest.number === 0n) {
      this.hasCopy = true;
      this.have = this.had = newest;
    }
    this.newestIs(newest, asOf);
    this.isUnsure = false;
    this.reachedNewest();
  }

  /** Takes a diff of an answer or push. Drops a diff that does not continue a version here. */
  stage(diff: StagedDiff): void {
    const isComplete = diff.from.number === 0n;
    // Answers come in version order: a complete copy of a lower number says that
    // the server went back.
    if (isComplete) this.newest = diff.now;
    this.newestIs(diff.now, diff.asOf);
    this.isUnsure = false;
    const end = this.reach;
    const continues = isComplete || isSameStamp(diff.from, end);
    if (!continues || (isSameStamp(diff.now, end) && this.hasCopy)) {
      this.giveCredit(diff);
      if (!isSameStamp(diff.now, end)) this.loseDiffs();
      return;
    }
    if (isComplete) this.dropStaged();
    this.reachAsOf = diff.asOf;
    this.staged.push(diff);
    this.reachedNewest();
  }

  /** SUBSCRIBED: `newest` is what it says. */
  subscribed(promise: Bound, newest: VersionStamp, asOf: number): void {
    this.subscription = promise;
    this.isTold = false;
    // The other bounds are known to be kept or broken by the numbers of the versions.
    this.isUnsure = promise.model === CoherenceModel.DIFF && !isSameStamp(newest, this.reach);
    this.newestIs(newest, asOf);
  }

  /** SUBSCRIBE with `reach`, or UNSUBSCRIBE, is about to be sent. */
  unsubscribed(): void {
    this.subscription = null;
    this.isOverrated = false;
  }

  notRecent(newest: VersionStamp): void {
    this.isTold = true;
    this.newestIs(newest, this.asOfNotified(newest));
  }

  /** The moment as of which a notification confirms its version [FRESH-2]. */
  asOfNotified(newest: VersionStamp): number {
    const isLater =
      newest.incarnation === this.newest.incarnation && newest.number >= this.newest.number;
    return isLater ? this.newestAsOf : -Infinity;
  }

  /** The connection is gone; so is the server's promise. Pushed bytes need no credit any more. */
  connectionLost(): void {
    this.unsubscribed();
    this.coming = null;
    this.newestAsOf = -Infinity;
    this.staged = this.staged.map((diff) => ({ ...diff, wasPushed: false }));
    this.creditBytes = 0;
  }

  /** Returns the next diff to apply. Drops diffs that do not continue the copy. */
  takeStaged(): StagedDiff | null {
    for (let diff = this.staged.shift(); diff !== undefined; diff = this.staged.shift()) {
      if (diff.from.number === 0n || isSameStamp(diff.from, this.have)) return diff;
      this.giveCredit(diff);
    }
    return null;
  }

  applied(diff: StagedDiff): void {
    this.giveCredit(diff);
    this.hasCopy = true;
    this.have = this.had = diff.now;
    this.confirmed = this.hasStaged ? diff.asOf : Math.max(this.reachAsOf, diff.asOf);
  }

  private dropStaged(): void {
    for (const diff of this.staged) this.giveCredit(diff);
    this.staged = [];
    this.reachAsOf = this.confirmed;
  }

  /** The server counts the client as having a diff that is lost. */
  private loseDiffs(): void {
    this.isOverrated = true;
    this.lost += 1;
  }

  /** Marks the copy as not being any version. The next diff must be a complete copy. */
  forget(): void {
    this.loseDiffs();
    this.dropStaged();
    this.hasCopy = false;
    this.have = NO_VERSION;
    this.confirmed = -Infinity;
    this.reachAsOf = -Infinity;
  }

  /** A release of our own was committed. */
  released(version: VersionStamp, asOf: number): void {
    this.dropStaged();
    this.hasCopy = true;
    this.have = this.had = version;
    this.confirmed = asOf;
    this.newestIs(version, asOf);
    this.reachedNewest();
  }

  private giveCredit(diff: StagedDiff): void {
    if (diff.wasPushed) this.creditBytes += diff.bytes.length;
  }

  /** Bytes of pushed diffs no longer held since the last call [NOT-4]. */
  takeCredit(): number {
    const credit = this.creditBytes;
    this.creditBytes = 0;
    return credit;
  }
}
