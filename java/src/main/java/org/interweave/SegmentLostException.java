package org.interweave;

import org.interweave.Interface.Error;

/**
 * The segment is gone from the server, or came back without what this program had: REMOVED,
 * SEGMENT_LOST. Open it again.
 */
public final class SegmentLostException extends InterweaveException {
  private static final long serialVersionUID = 1;

  SegmentLostException(Error code, String text) {
    super(code, text);
  }
}
