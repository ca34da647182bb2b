package org.interweave.session;

import org.interweave.coherence.Freshness;
import org.interweave.wire.protocol.LockCodec.WriterAcquired;
import org.interweave.wire.protocol.SegmentCodec.VersionStamp;

/**
 * The writer lock as this process holds it: fence, lease and renewals [LOCK-2..5]; and its grant
 * between writer sections, if the server leaves it here [LOCK-13..15]. Only the server decides
 * whether the lock is still held. This class says when to renew, and whether the lock is known to
 * be lost. Time is an argument, in nanoseconds.
 */
public final class WriterGrant {
  private static final long MILLISECOND = 1_000_000;
  /** Others shall not wait for a grant that is used so seldom. */
  private static final long LONGEST_IDLE = 1_000 * MILLISECOND;

  private final WriterAcquired granted;
  private VersionStamp newest;
  private long firstSerial;
  private long serialCount;
  private boolean isLost;
  /** The server may keep the lock for us, and was not told that we give it back. */
  private boolean isOwed = true;
  /** The server left the grant here, and has not asked for it since. */
  private boolean stays;
  /** The connection of the grant is gone, so that the grant cannot stay. */
  private boolean isBereft;
  /** When the request, later the last renewal or release, was sent. */
  private long countedFrom;
  private long lease;
  private long holdEnds;
  /** When a section last began. */
  private long used;
  private boolean isRenewing;

  WriterGrant(WriterAcquired granted, long countedFrom, long now) {
    this.granted = granted;
    this.countedFrom = countedFrom;
    newest = granted.now();
    serialsAre(granted.firstSerial(), granted.serialCount());
    lease = granted.leaseMs() * MILLISECOND;
    holdEnds = now + granted.maxHoldMs() * MILLISECOND;
    used = countedFrom;
  }

  public long fence() {
    return granted.fence();
  }

  /** The version on which a section of the grant works. */
  public VersionStamp newest() {
    return newest;
  }

  public boolean isLost() {
    return isLost;
  }

  boolean isOwed() {
    return isOwed;
  }

  // ---- serials for new blocks ----

  public long firstSerial() {
    return firstSerial;
  }

  public long serialCount() {
    return serialCount;
  }

  /** What a section leaves to the next one. */
  public void serialsAre(long first, long count) {
    firstSerial = first;
    serialCount = count;
  }

  // ---- lease ----

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
    if (fence != fence()) return;
    isLost = true;
    isOwed = false;
  }

  /** A renewal was refused. The server may keep the lock until the end of its lease. */
  void renewalRefused() {
    isLost = true;
  }

  /** The connection is gone, and with it the answer to a renewal. */
  void connectionLost() {
    isRenewing = false;
    isBereft = true;
  }

  // ---- kept grants ----

  /** WRITER_RELEASED. */
  void settled() {
    isOwed = false;
  }

  /** WRITER_KEPT, for a release that was sent at that time: lease and hold time begin anew. */
  void stays(VersionStamp version, long sentAt, long now) {
    newest = version;
    stays = true;
    holdEnds = now + granted.maxHoldMs() * MILLISECOND;
    countedFrom = sentAt;
  }

  /** The server did not say that, or wants the lock back: it is given back at the section's end. */
  void staysNot() {
    stays = false;
  }

  /** Another section begins. */
  void resume(long now) {
    used = now;
  }

  /** The section under way may end without a word to the server. */
  boolean mayStay() {
    return stays && isOwed && !isBereft && !isLost;
  }

  /** Whether another section may begin: nothing renews a kept grant. */
  boolean mayResume(long now) {
    return now < Math.min(countedFrom + lease / 3, holdEnds);
  }

  /** The lease is not over, as the client counts it. */
  boolean isLeased(long now) {
    return now < Math.min(countedFrom + lease, holdEnds);
  }

  /** No section has begun for so long that others shall not wait for the grant. */
  boolean isIdle(long now) {
    return now >= used + LONGEST_IDLE;
  }
}
