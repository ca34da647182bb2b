package org.interweave.session;

import org.interweave.coherence.Freshness;
import org.interweave.wire.protocol.LockCodec.WriterAcquired;

/**
 * The writer lock as this process holds it: fence, lease and renewals [LOCK-2..5]. Only the server
 * decides whether the lock is still held. This class says when to renew, and whether the lock is
 * known to be lost. Time is an argument, in nanoseconds.
 */
public final class WriterGrant {
  private static final long MILLISECOND = 1_000_000;

  public final WriterAcquired granted;
  private boolean isLost;
  /** When the request, later the last renewal, was sent. */
  private long countedFrom;
  private long lease;
  private final long holdEnds;
  private boolean isRenewing;

  WriterGrant(WriterAcquired granted, long countedFrom, long now) {
    this.granted = granted;
    this.countedFrom = countedFrom;
    lease = granted.leaseMs() * MILLISECOND;
    holdEnds = now + granted.maxHoldMs() * MILLISECOND;
  }

  public long fence() {
    return granted.fence();
  }

  public boolean isLost() {
    return isLost;
  }

  /** A third of the lease after it was last counted from; never after the longest hold [LOCK-3]. */
  long renewalDue() {
    if (isLost || isRenewing) return Freshness.FOREVER;
    long due = countedFrom + lease / 3;
    return due < holdEnds ? due : Freshness.FOREVER;
  }

  void renewalSent() {
    isRenewing = true;
  }

  void renewed(long leaseMs, long sentAt) {
    lease = leaseMs * MILLISECOND;
    countedFrom = sentAt;
    isRenewing = false;
  }

  /** The server took the lock away. */
  void lost(long fence) {
    if (fence == fence()) isLost = true;
  }

  /** The connection is gone, and with it the answer to a renewal. */
  void connectionLost() {
    isRenewing = false;
  }
}
