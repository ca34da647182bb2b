package org.interweave.wire;

import java.nio.charset.StandardCharsets;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.wire.protocol.SegmentCodec;

/**
 * The URL of a segment, whose path begins with '/' (spec/format/mip.md). Whether the segment exists
 * is not asked here.
 */
public record SegmentUrl(Hosts server, String path) {
  /** [MIP-6] */
  private static final int MAX_MIP_BYTES = 4096;

  private static final int SHOWN = 200;

  public static SegmentUrl parse(String text) {
    checkLength(text);
    SegmentUrl url = text.startsWith("unix:") ? ofSocket(text) : ofHost(text);
    if (!isPath(url.path)) {
      throw bad(text, "has a path with '#' or control characters, or longer than 1024 bytes");
    }
    return url;
  }

  /** The URL as all programs write it [MIP-3]. */
  public static String canonical(String text) {
    SegmentUrl url = parse(text);
    return url.server.text() + url.path;
  }

  private static SegmentUrl ofSocket(String text) {
    int colon = text.indexOf(":/", 5);
    String file = colon < 0 ? "" : text.substring(5, colon);
    if (file.isEmpty() || hasControl(file)) {
      throw bad(text, "does not name the socket's file and `:/path`");
    }
    Address server = new Address(null, 0, false, file);
    return new SegmentUrl(Hosts.of(server), text.substring(colon + 1));
  }

  private static SegmentUrl ofHost(String text) {
    boolean isSecure = text.startsWith("iws://");
    boolean hasScheme = isSecure || text.startsWith("iw://");
    String rest = hasScheme ? text.substring(text.indexOf("//") + 2) : text;
    int slash = rest.indexOf('/');
    if (slash < 0) throw bad(text, "has no path");
    Hosts server = Hosts.parse(rest.substring(0, slash), isSecure);
    if (server == null) {
      throw bad(
          text,
          "has no host, one of them twice, more than eight, or a port that is not a number from 1"
              + " to 65535");
    }
    return new SegmentUrl(server, rest.substring(slash));
  }

  /** '/' first, no '#', no control characters, at most MAX_PATH bytes. */
  public static boolean isPath(String path) {
    return path.startsWith("/")
        && byteLength(path) <= SegmentCodec.MAX_PATH
        && path.indexOf('#') < 0
        && !hasControl(path);
  }

  /** The name of a block [SEG-4]. */
  public static boolean isBlockName(String name) {
    return !name.isEmpty()
        && byteLength(name) <= SegmentCodec.MAX_NAME
        && !Digits.isDigit(name.charAt(0))
        && name.indexOf('#') < 0
        && !hasControl(name);
  }

  /** What a slot of a segment's table may hold [WIRE-5]. */
  public static boolean isSlotText(String text) {
    if (isPath(text)) return true;
    boolean hasScheme =
        text.startsWith("iw://") || text.startsWith("iws://") || text.startsWith("unix:");
    if (!hasScheme) return false;
    try {
      parse(text);
      return true;
    } catch (InterweaveException wrong) {
      return false;
    }
  }

  static void checkLength(String text) {
    if (byteLength(text) > MAX_MIP_BYTES) throw bad(text, "is longer than 4096 bytes");
  }

  static InterweaveException bad(String text, String why) {
    String shown = text.substring(0, Math.min(text.length(), SHOWN));
    return new InterweaveException(
        Error.BAD_URL,
        "`" + shown + "` " + why + "; write [iw://|iws://]host[:port]{,host[:port]}/path, or"
            + " unix:FILE:/path");
  }

  private static int byteLength(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }

  private static boolean hasControl(String text) {
    for (int i = 0; i < text.length(); ++i) {
      if (Character.isISOControl(text.charAt(i))) return true;
    }
    return false;
  }
}
