package org.interweave.client;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Map;
import org.interweave.wire.Address;

/** The token of a server that this user runs [OWN-3]. */
final class OwnToken {
  private static final int MOST_BYTES = 4096;
  /** Bits of a mode: others may do anything. */
  private static final int OPEN = 077;

  private OwnToken() {}

  /**
   * The token that is shown there over plain TCP; "" if no file has it. `isToLoopback`: the
   * connection's other end is 127.0.0.1. At another address of loopback another user's server may
   * have the port.
   */
  static String of(Address server, boolean isToLoopback) {
    boolean isPlain = server.socketFile() == null && !server.secure();
    if (!isPlain || !isToLoopback || !isThisHost(server.host())) return "";
    try {
      long user = user();
      String file = "/" + server.port() + ".token";
      String runtime = System.getenv("XDG_RUNTIME_DIR");
      if (runtime != null && !runtime.isEmpty()) {
        String token = read(runtime + "/interweave", file, user);
        if (!token.isEmpty()) return token;
      }
      String token = read("/run/user/" + user + "/interweave", file, user);
      return token.isEmpty() ? read("/tmp/interweave-" + user, file, user) : token;
    } catch (IOException | UnsupportedOperationException | IllegalArgumentException otherSystem) {
      return "";
    }
  }

  private static boolean isThisHost(String host) {
    return host.equals("127.0.0.1") || host.equals("localhost");
  }

  /** By Linux's own word, because the name of a user is not its number. */
  private static long user() throws IOException {
    try (FileInputStream in = new FileInputStream("/proc/self/status")) {
      String status = new String(in.readNBytes(MOST_BYTES), StandardCharsets.ISO_8859_1);
      int at = status.indexOf("\nUid:");
      String[] words = status.substring(at + 5, status.indexOf('\n', at + 1)).trim().split("\t");
      return Long.parseLong(words[1]);   // the effective one
    }
  }

  /** The folder is looked at, too: nobody else can then put another file in the place. */
  private static String read(String folder, String name, long user) throws IOException {
    if (!new File(folder + name).exists()) return "";
    if (!isOf(user, Path.of(folder), OPEN)) return "";
    if (!isOf(user, Path.of(folder + name), OPEN)) return "";
    try (FileInputStream in = new FileInputStream(folder + name)) {
      byte[] bytes = in.readNBytes(MOST_BYTES + 1);
      if (bytes.length > MOST_BYTES) return "";
      String text = new String(bytes, StandardCharsets.UTF_8);
      int end = text.indexOf('\n');
      return end < 0 ? text : text.substring(0, end);
    }
  }

  private static boolean isOf(long user, Path path, int closed) throws IOException {
    Map<String, Object> found =
        Files.readAttributes(
            path, "unix:uid,mode,isSymbolicLink,isOther", LinkOption.NOFOLLOW_LINKS);
    boolean isPlain =
        Boolean.FALSE.equals(found.get("isSymbolicLink"))
            && Boolean.FALSE.equals(found.get("isOther"));
    long owner = ((Number) found.get("uid")).longValue();
    return isPlain && owner == user && ((Integer) found.get("mode") & closed) == 0;
  }
}
