package org.interweave;

import org.interweave.Interface.Error;

/**
 * What every failed call throws. The text says what was asked, what was found and what to do; the
 * code is for programs, and has the number that functions of C return.
 */
public class InterweaveException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final Error code;

  /**
   * An error with its text.
   *
   * @param code what kind of error it is
   * @param text what failed, what was found and what to do
   */
  public InterweaveException(Error code, String text) {
    super(text);
    this.code = code;
  }

  /**
   * What kind of error it is.
   *
   * @return the code, whose name is the one in spec/protocol/error.x
   */
  public Error code() {
    return code;
  }

  /**
   * Bytes that are not a message, a diff or a descriptor.
   *
   * @param text what was found
   * @return the exception, to be thrown
   */
  public static InterweaveException malformed(String text) {
    return new InterweaveException(Error.MALFORMED, text);
  }
}
