package org.interweave.coherence;

import org.interweave.wire.protocol.SegmentCodec.VersionStamp;

/**
 * What is known about a copy. Times are nanoseconds of the local clock.
 *
 * @param newest the newest version heard of, which was the newest at `newestAsOf`
 * @param confirmed `copy` was the newest at this moment
 * @param promise the server has promised to tell when this bound is broken, and has not done so;
 *     null: it has not promised anything
 * @param heard the last message from the server on this connection
 */
public record Knowledge(
    boolean hasCopy,
    VersionStamp copy,
    VersionStamp newest,
    long newestAsOf,
    long confirmed,
    Bound promise,
    long heard,
    long heartbeat) {
  /** The same, if the copy were another version, of which the server has promised that. */
  public Knowledge at(VersionStamp version, long confirmedAt, Bound promised) {
    return new Knowledge(
        true, version, newest, newestAsOf, confirmedAt, promised, heard, heartbeat);
  }
}
