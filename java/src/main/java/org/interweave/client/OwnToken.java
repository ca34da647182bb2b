package org.interweave.client;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.interweave.InterweaveException;
import org.interweave.wire.Address;

/** The tokens of servers that this user runs [OWN-3], and those that were refused [OWN-6]. */
final class OwnToken {
  /** A secret, so that nothing prints it, and the file that has it. */
  static final class Found {
    private final String file;
    private final String text;

    private Found(String file, String text) {
      this.file = file;
      this.text = text;
    }

    String text() {
      return text;
    }
  }

  private static final int MOST_BYTES = 4096;
  /** Bits of a mode: others may do anything. */
  private static final int OPEN = 077;

  private final Address server;
  /** By file. */
  private final Map<String, String> refused = new HashMap<>();

  OwnToken(Address server) {
    this.server = server;
  }

  /**
   * The token that is shown to the server next; null: no file has one that was not refused.
   * `isToLoopback`: the connection's other end is 127.0.0.1. At another address of loopback another
   * user's server may have the port.
   */
  Found find(boolean isToLoopback) {
    for (Found each : all(isToLoopback)) {
      if (!isRefused(each)) return each;
    }
    return null;
  }

  /** The server does not take it. It is shown again once its file holds another one. */
  void refused(Found token) {
    refused.put(token.file, token.text);
  }

  private boolean isRefused(Found token) {
    return token.text.equals(refused.get(token.file));
  }

  /** A refusal of a client that showed none of the tokens. */
  InterweaveException explained(InterweaveException wrong, boolean isToLoopback) {
    String files = "";
    for (Found each : all(isToLoopback)) {
      if (isRefused(each)) files += (files.isEmpty() ? "" : " and ") + each.file;
    }
    if (files.isEmpty()) return wrong;
    return InterweaveException.of(
        wrong.code(),
        wrong.getMessage() + "; the token of " + files + ", which a server of this user wrote, is"
            + " not valid here: remove the file if its server has ended");
  }

  private List<Found> all(boolean isToLoopback) {
    List<Found> found = new ArrayList<>();
    boolean isByTcp = server.socketFile() == null;
    if (!isByTcp || !isToLoopback || !isThisHost(server.host())) return found;
    try {
      long user = user();
      String name = "/" + server.port() + ".token";
      String runtime = System.getenv("XDG_RUNTIME_DIR");
      String own = runtime == null || runtime.isEmpty() ? "" : runtime + "/interweave";
      String usual = "/run/user/" + user + "/interweave";
      if (!own.isEmpty() && !own.equals(usual)) add(found, own, name, user);
      add(found, usual, name, user);
      add(found, "/tmp/interweave-" + user, name, user);
    } catch (IOException | UnsupportedOperationException | IllegalArgumentException otherSystem) {
      return found;
    }
    return found;
  }

  private static void add(List<Found> found, String folder, String name, long user)
      throws IOException {
    String text = read(folder, name, user);
    if (!text.isEmpty()) found.add(new Found(folder + name, text));
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
