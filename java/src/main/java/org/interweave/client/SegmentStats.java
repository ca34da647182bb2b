package org.interweave.client;

/**
 * What a segment has cost since its opening.
 *
 * @param localReads reader locks that needed no message
 * @param asked reader locks that asked the server
 * @param diffs diffs that were applied
 * @param bytesReceived of these diffs and of others that were dropped
 * @param messagesSent about the segment
 */
public record SegmentStats(
    long localReads, long asked, long diffs, long bytesReceived, long messagesSent) {}
