package org.interweave.client;

/**
 * What a segment has cost since its opening.
 *
 * @param localReads reader locks that needed no message
 * @param asked reader locks that asked the server
 * @param diffs diffs that were applied
 * @param bytesReceived of these diffs and of others that were dropped
 * @param releases that made a version
 * @param bytesSent of their diffs
 * @param unmarkedObjects that releases found changed though nothing had marked them: their public
 *     fields were stored to without a setter and without the agent
 * @param unmappedPointers that led to no object of the field's class, so that the field is null
 */
public record SegmentStats(
    long localReads,
    long asked,
    long diffs,
    long bytesReceived,
    long releases,
    long bytesSent,
    long unmarkedObjects,
    long unmappedPointers) {}
