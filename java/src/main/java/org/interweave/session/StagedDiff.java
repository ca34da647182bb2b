package org.interweave.session;

import org.interweave.wire.protocol.SegmentCodec.VersionStamp;

/**
 * A diff that has arrived and waits to be applied.
 *
 * @param wasPushed its bytes are to be credited back [NOT-4]
 * @param asOf `now` was the newest at this moment
 */
public record StagedDiff(
    VersionStamp from, VersionStamp now, byte[] bytes, boolean wasPushed, long asOf) {
  boolean isComplete() {
    return from.number() == 0;
  }

  /** The same, if nobody waits for credit. */
  StagedDiff unpushed() {
    return new StagedDiff(from, now, bytes, false, asOf);
  }
}
