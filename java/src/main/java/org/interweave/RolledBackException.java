package org.interweave;

import org.interweave.Interface.Error;

/**
 * A writer's changes were undone, because its lock or its connection was lost: FENCED,
 * ROLLED_BACK. Take the lock and make them again.
 */
public final class RolledBackException extends InterweaveException {
  private static final long serialVersionUID = 1;

  RolledBackException(Error code, String text) {
    super(code, text);
  }
}
