/**
 * The writer lock as this process holds it: fence, lease and renewals [LOCK-2..5]. Only the server
 * decides whether the lock is still held. This class says when to renew, and whether the lock is
 * known to be lost. Time is an argument.
 */
import type { WriterAcquired } from "../wire/protocol/lock.js";

export class WriterGrant {
  readonly fence: bigint;
  isLost = false;
  /** The server may keep the lock for this client, and was not told that it is given back. */
  isOwed = true;
  private leaseMs: number;
  private readonly holdEnds: number;
  private isRenewing = false;

  /** `countedFrom`: when the request, later the last renewal, was sent. */
  constructor(
    readonly granted: WriterAcquired,
    private countedFrom: number,
    now: number,
  ) {
    this.fence = granted.fence;
    this.leaseMs = granted.lease_ms;
    this.holdEnds = now + granted.max_hold_ms;
  }

  /** A third of the lease after it was last counted from; never after the longest hold [LOCK-3]. */
  get renewalDue(): number {
    if (this.isLost || this.isRenewing) return Infinity;
    const due = this.countedFrom + this.leaseMs / 3;
    return due < this.holdEnds ? due : Infinity;
  }

  renewalSent(): void {
    this.isRenewing = true;
  }

  renewed(leaseMs: number, sentAt: number): void {
    this.leaseMs = leaseMs;
    this.countedFrom = sentAt;
    this.isRenewing = false;
  }

  /** The server took the lock away. */
  lost(fence: bigint): void {
    if (fence !== this.fence) return;
    this.isLost = true;
    this.isOwed = false;
  }

  /** A renewal was refused. The server may keep the lock until the end of its lease. */
  renewalRefused(): void {
    this.isLost = true;
  }

  /** WRITER_RELEASED. */
  settled(): void {
    this.isOwed = false;
  }

  /** The connection is gone, and with it the answer to a renewal. */
  connectionLost(): void {
    this.isRenewing = false;
  }
}
