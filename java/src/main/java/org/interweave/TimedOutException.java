package org.interweave;

import org.interweave.Interface.Error;

/**
 * The wait was over before the call succeeded: TIMED_OUT, STALE, CANCELLED.
 */
public final class TimedOutException extends InterweaveException {
  private static final long serialVersionUID = 1;

  TimedOutException(Error code, String text) {
    super(code, text);
  }
}
