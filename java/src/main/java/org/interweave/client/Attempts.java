package org.interweave.client;

import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.wire.Address;
import org.interweave.wire.Hosts;
import org.interweave.wire.protocol.FieldCodec.RedirectField;

/**
 * Attempts to connect to a server: at which of its hosts the next one is made, and when [SPACE-46].
 * A round tries each host once without a pause. Times are nanoseconds. The link's lock guards it.
 */
final class Attempts {
  private static final long MILLISECOND = 1_000_000;
  private static final long FIRST_PAUSE = 50 * MILLISECOND;
  private static final long LONGEST_PAUSE = 2_000 * MILLISECOND;
  private static final long CONNECTING = 10_000 * MILLISECOND;
  /** By each way to a server to which the client was sent on [SPACE-55]. */
  private static final long EACH_WAY = 2_000 * MILLISECOND;

  /** One of the server's hosts, or one that passes connections on to it. */
  static final class Host {
    final Address server;
    /** Where the host is to pass the connection on to [SPACE-48]; null: nowhere. */
    final RedirectField relay;
    /** As text. */
    final String shown;
    final OwnToken ownToken;
    /** Null: the host is to be looked up. */
    SocketAddress address;
    /** The last error there since a host welcomed the client; null: none. */
    private InterweaveException trouble;

    private Host(Address server, SocketAddress address, RedirectField relay) {
      this.server = server;
      this.address = address;
      this.relay = relay;
      shown = server.text();
      ownToken = new OwnToken(server);
    }
  }

  private final String shown;
  private final List<Host> hosts = new ArrayList<>();
  /** The host that is tried next, or that the client is connected to. */
  private int at;
  /** How many hosts this round has tried in vain. */
  private int tried;
  private long nextAt;
  /** Before the next round. */
  private long pause;
  private long count;

  /** `addresses` has one for each host, or null where the host is to be looked up. */
  Attempts(Hosts server, SocketAddress[] addresses, long now) {
    shown = server.text();
    for (Address each : server.all()) hosts.add(new Host(each, addresses[hosts.size()], null));
    nextAt = now;
  }

  /** If the client cannot reach the server, these hosts relay the connection [SPACE-49]. */
  void addRelays(Attempts home, RedirectField to) {
    for (Host each : home.hosts) hosts.add(new Host(each.server, each.address, to));
  }

  /** So long an attempt may take. `isNamed`: a URL names the server. */
  long patience(boolean isNamed) {
    boolean isRelayed = hosts.get(hosts.size() - 1).relay != null;
    return isNamed && !isRelayed ? CONNECTING : EACH_WAY;
  }

  Host host() {
    return hosts.get(at);
  }

  boolean hasOthers() {
    return hosts.size() > 1;
  }

  SocketAddress[] addresses() {
    SocketAddress[] known = new SocketAddress[hosts.size()];
    for (int i = 0; i < known.length; ++i) known[i] = hosts.get(i).address;
    return known;
  }

  /** How many rounds have failed, and connections were made or lost. */
  long count() {
    return count;
  }

  boolean isDue(long now) {
    return now >= nextAt;
  }

  /** The next attempt is made now. */
  void hurry(long now) {
    nextAt = Math.min(nextAt, now);
  }

  /** Why the client is not connected; null: it is, or has not tried. */
  InterweaveException failure() {
    InterweaveException only = null;
    boolean isStopping = true;
    StringBuilder all = new StringBuilder();
    for (Host each : hosts) {
      InterweaveException trouble = each.trouble;
      if (trouble == null) continue;
      // The others say nothing of a refusal.
      if (!passesOn(trouble)) return trouble;
      isStopping &= trouble.code() == Error.STOPPING;
      only = all.length() == 0 ? trouble : null;
      if (all.length() > 0) all.append("; ");
      if (each.relay != null) all.append("passed on by ").append(each.shown).append(": ");
      else if (!trouble.getMessage().contains(each.shown)) all.append(each.shown).append(": ");
      all.append(trouble.getMessage());
    }
    if (all.length() == 0 || !hasOthers()) return only;
    return InterweaveException.of(
        isStopping ? Error.STOPPING : Error.UNREACHABLE,
        "no host of " + shown + " can be used: " + all);
  }

  /** Whether the next host is asked after such an error; others are final. */
  static boolean passesOn(InterweaveException why) {
    return why.code() == Error.UNREACHABLE || why.code() == Error.STOPPING;
  }

  void welcomed() {
    for (Host each : hosts) each.trouble = null;
    tried = 0;
    ++count;
  }

  /**
   * The connection that was made at that time is lost: a round begins at the same host, because
   * that one has the session, with its writer locks.
   */
  void lost(InterweaveException why, long madeAt, long now) {
    // The pause stays long for a server that takes every connection and drops it.
    if (now - madeAt > LONGEST_PAUSE) pause = 0;
    host().trouble = why;
    roundEnds(now);
  }

  /** An attempt has failed. Whether the round is over. */
  boolean failed(InterweaveException why, long now) {
    Host host = host();
    host.trouble = why;
    boolean passesOn = passesOn(why);
    if (passesOn) at = (at + 1) % hosts.size();
    if (passesOn && ++tried < hosts.size()) {
      nextAt = now;
      return false;
    }
    pause = Math.max(pause, FIRST_PAUSE);
    roundEnds(now);
    return true;
  }

  private void roundEnds(long now) {
    nextAt = now + pause;
    pause = Math.min(Math.max(2 * pause, FIRST_PAUSE), LONGEST_PAUSE);
    tried = 0;
    ++count;
  }
}
