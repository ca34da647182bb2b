package org.interweave.wire.protocol;

/** Bytes that are not a value of the type wanted. It has no stack, because peers cause it. */
public final class XdrException extends RuntimeException {
  private static final long serialVersionUID = 1;

  XdrException(String text) {
    super(text, null, false, false);
  }

  static XdrException notMember() {
    return new XdrException("a number is not a member of its enum");
  }

  static XdrException noArm() {
    return new XdrException("a discriminant selects no arm");
  }
}
