package org.interweave.wire;

import java.util.Locale;

/**
 * A server at one host: over TCP, the host in lower case without brackets, with TLS if it is secure
 * [MIP-2]; or by a Unix socket, whose file is not null then.
 */
public record Address(String host, int port, boolean secure, String socketFile) {
  /** [MIP-1] */
  public static final int DEFAULT_PORT = 7747;

  private static final int MAX_PORT = 65535;

  /** `host[:port]`; null if the text is not that. */
  public static Address parse(String text, boolean secure) {
    int end = hostEnd(text);
    if (end < 0) return null;
    int port = DEFAULT_PORT;
    if (end < text.length()) {
      port = port(text.substring(end + 1));
      if (text.charAt(end) != ':' || port < 0) return null;
    }
    String host = text.substring(0, end);
    if (host.startsWith("[")) host = host.substring(1, host.length() - 1);
    return new Address(host.toLowerCase(Locale.ROOT), port, secure, null);
  }

  /** Canonical, as a MIP begins [MIP-3]. */
  public String text() {
    if (socketFile != null) return "unix:" + socketFile + ":";
    return (secure ? "iws://" : "iw://") + place();
  }

  /** `host:port`, of a server over TCP. */
  public String place() {
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }

  /** Where the host ends; -1 if the text begins with none. */
  private static int hostEnd(String text) {
    boolean isBracketed = text.startsWith("[");
    int begin = isBracketed ? 1 : 0;
    int at = begin;
    while (at < text.length() && isHost(text.charAt(at), isBracketed)) ++at;
    if (at == begin) return -1;
    if (!isBracketed) return at;
    return at < text.length() && text.charAt(at) == ']' ? at + 1 : -1;
  }

  private static boolean isHost(char c, boolean isBracketed) {
    boolean isLetter = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z';
    boolean isMark = c == '-' || c == '.' || c == '_' || c == ':' && isBracketed;
    return isLetter || isMark || Digits.isDigit(c);
  }

  /** -1: not a number from 1 to 65535 in its usual form. */
  private static int port(String digits) {
    boolean isNumber = Digits.areAll(digits) && !digits.startsWith("0") && digits.length() <= 5;
    int port = isNumber ? Integer.parseInt(digits) : -1;
    return port > MAX_PORT ? -1 : port;
  }
}
