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
   * An error of the class that its code has.
   *
   * @param code what kind of error it is
   * @param text what failed, what was found and what to do
   * @return the exception, to be thrown
   */
  public static InterweaveException of(Error code, String text) {
    return switch (code) {
      case UNREACHABLE, STOPPING, VERSION_MISMATCH -> new UnreachableException(code, text);
      case TIMED_OUT, STALE, CANCELLED -> new TimedOutException(code, text);
      case FENCED, ROLLED_BACK -> new RolledBackException(code, text);
      case SEGMENT_LOST, REMOVED -> new SegmentLostException(code, text);
      default -> new InterweaveException(code, text);
    };
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
