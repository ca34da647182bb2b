package org.interweave.client;

/**
 * A segment in a server's list.
 *
 * @param url its URL
 * @param version the number of the newest version
 * @param blocks how many blocks it has
 * @param bytes of all blocks in wire format
 * @param quotaBytes how many bytes it may have
 * @param clients connections that have it open; -1: another server of the space has the segment,
 *     and only URL and version are known
 * @param isWriterLocked whether a writer has it
 */
public record SegmentInfo(
    String url,
    long version,
    long blocks,
    long bytes,
    long quotaBytes,
    long clients,
    boolean isWriterLocked) {}
