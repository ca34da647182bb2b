package org.interweave.client;

import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.session.Answers;
import org.interweave.wire.Address;
import org.interweave.wire.Hosts;
import org.interweave.wire.protocol.FieldCodec.RedirectField;

/**
 * A client's connections to servers: those that URLs name, and those to which servers have sent the
 * client on [SPACE-10]. A segment may change from one to another. So one lock guards all of them,
 * and the exchanges of their segments.
 */
final class Links {
  /** So often a client is sent on for one request [SPACE-10]. */
  static final int MOST_HOPS = 3;

  final ReentrantLock lock = new ReentrantLock();
  private final List<Link> all = new ArrayList<>();
  /** Of the client's segments. */
  private final Collection<Opening> openings;

  Links(Collection<Opening> openings) {
    this.openings = openings;
  }

  // ---- with the lock ----

  /** The link that segments of a URL's server share, also when they are sent on; null: none. */
  Link named(Hosts server) {
    for (Link each : all) if (each.isNamed && each.isTo(server)) return each;
    return null;
  }

  /**
   * The link for a URL's server. Null: this client has no such link, and the caller did not look up
   * the addresses of a new one's hosts. `path`: the path that is to be opened there, or null. A
   * session opens a path once [OPEN-2], and another URL's segment of that path may have been sent
   * there.
   */
  Link named(
      Hosts server, SocketAddress[] addresses, String token, TlsFiles files, String path) {
    Link known = named(server);
    if (known == null && addresses == null) return null;
    if (known != null && !known.has(path, null)) return known;
    Link like =
        known != null
            ? known.another(server, "", known.addresses())
            : new Link(this, server, "", addresses, Client.introduction(), token, files);
    Link found = find(like, path, null);
    if (found == null) found = begun(like);
    found.isNamed = true;
    return found;
  }

  /** The link to the server to which one of the link's has sent the client on [SPACE-11]. */
  Link sentOn(Link home, RedirectField to, String path, Exchange by) {
    String shown = Answers.readable(to.address());
    Address server = Address.parse(to.address(), home.isSecure());
    if (server == null) {
      throw InterweaveException.of(
          Error.REDIRECTED,
          "the server sent this client on to " + shown
              + ", which is not an address; ask its operator");
    }
    String tlsName = !server.secure() || to.tlsName().equals(server.host()) ? "" : to.tlsName();
    Link like = home.another(Hosts.of(server), tlsName, new SocketAddress[1]);
    Link found = find(like, path, by);
    if (found == null && to.relay()) like.isRelayedBy(home, to);
    return found != null ? found : begun(like);
  }

  /** An opening of the path that leaves is waited for, but not when a server sends one there. */
  private Link find(Link like, String path, Exchange sentOn) {
    for (Link each : all) {
      boolean isTaken =
          each.has(path, sentOn) || sentOn != null && each.leaving(path) != null;
      if (each.isLike(like) && !isTaken) return each;
    }
    return null;
  }

  private Link begun(Link made) {
    all.add(made);
    made.begin();
    return made;
  }

  static InterweaveException sentTooOften(String path, RedirectField to) {
    return InterweaveException.of(
        Error.REDIRECTED,
        path + ": a server sent this client on to " + Answers.readable(to.address())
            + ", after it was sent on as often as a client follows; ask the operator");
  }

  /** Whether nobody needs the link. It is then taken out, and the caller closes it. */
  boolean drops(Link link) {
    if (link.borrowers > 0) return false;
    for (Opening each : openings) if (each.exchange.needs(link)) return false;
    return all.remove(link);
  }
}
