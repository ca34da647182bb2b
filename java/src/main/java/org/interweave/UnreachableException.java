package org.interweave;

import org.interweave.Interface.Error;

/**
 * The server cannot be reached, or does not speak with this client: UNREACHABLE, STOPPING,
 * VERSION_MISMATCH. The call may succeed later.
 */
public final class UnreachableException extends InterweaveException {
  private static final long serialVersionUID = 1;

  UnreachableException(Error code, String text) {
    super(code, text);
  }
}
