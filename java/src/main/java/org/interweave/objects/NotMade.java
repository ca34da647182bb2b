package org.interweave.objects;

import org.interweave.Interface.Error;
import org.interweave.InterweaveException;

/** A class of which no object can be constructed. */
final class NotMade extends InterweaveException {
  private static final long serialVersionUID = 1;

  NotMade(Class<?> type, Throwable why) {
    super(
        Error.BAD_ARGUMENT,
        type.getName() + " cannot be constructed: it needs a public constructor (IW_Place) that"
            + " throws nothing, in a public class of an exported package; found: " + why);
    initCause(why);
  }
}
