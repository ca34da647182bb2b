package org.interweave.wire;

/** Decimal digits of ASCII; those of other scripts are none. */
final class Digits {
  private Digits() {}

  static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  /** Whether the text is one digit or more, and nothing else. */
  static boolean areAll(String text) {
    for (int i = 0; i < text.length(); ++i) {
      if (!isDigit(text.charAt(i))) return false;
    }
    return !text.isEmpty();
  }
}
