package org.interweave.client;

import java.io.FileInputStream;
import java.io.IOException;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.coherence.Freshness;
import org.interweave.session.Introduction;
import org.interweave.wire.Hosts;
import org.interweave.wire.Mip;
import org.interweave.wire.SegmentUrl;
import org.interweave.wire.protocol.FieldCodec.RedirectField;

/**
 * A program's connections to servers and the segments that it has open there. Most programs have
 * one, `Client.shared()`, which `Segment.open` uses.
 */
public final class Client implements AutoCloseable {
  private static final String LABEL = "interweave (Java)";

  private static Client shared;

  private final ReentrantLock lock = new ReentrantLock();
  /** A secret. */
  private final String token;
  /** Null: none is given. */
  private final TlsFiles files;
  private final Names names = new Names();
  /** Their lock comes after the client's. */
  private final Links links = new Links(names.all());
  /** Of the structure of copies and of their objects. Whoever holds it waits for nothing. */
  final ReentrantLock gate = new ReentrantLock();
  /** How often pointers that led nowhere may have begun to lead somewhere. */
  private final AtomicLong news = new AtomicLong();
  /** How often the objects of a URL may have become those of another opening. */
  private final AtomicLong closings = new AtomicLong();

  /** A client with copies of its own. It shows the token of IW_TOKEN, if there is one. */
  public Client() {
    this(System.getenv().getOrDefault("IW_TOKEN", ""));
  }

  /**
   * A client that shows a token to servers.
   *
   * @param token proves who asks; at most 4096 bytes
   */
  public Client(String token) {
    this(token, null);
  }

  /**
   * A client that shows a token or a certificate to servers, and trusts those of an authority.
   *
   * @param credentials of which token, ca, cert and key count; what they do not give, the
   *     environment says
   */
  public Client(OpenOptions credentials) {
    this(credentials.tokenOr(System.getenv().getOrDefault("IW_TOKEN", "")), credentials.files());
  }

  Client(String token, TlsFiles files) {
    this.token = OpenOptions.checkedToken(token);
    this.files = files;
  }

  /**
   * The client that all threads of the program share.
   *
   * @return the client, which is made with the first call
   */
  public static synchronized Client shared() {
    if (shared == null) shared = new Client();
    return shared;
  }

  /**
   * Opens a segment, and makes it if it does not exist. UNREACHABLE at once if there is no server;
   * connections that are lost later are made again. If the segment's server has just died, waits
   * until another one has the segment. A URL may list several hosts that share a store, as in
   * iw://host:port,host:port/path. They are asked in that order. URLs of one segment at several
   * servers that share a store open the same object, which keeps the first one's URL.
   *
   * @param url iw://host:port/path, iws://host:port/path, or unix:FILE:/path
   * @return the segment; the same object for each opening until it is closed as often
   */
  public Segment open(String url) {
    return open(url, OpenOptions.DEFAULT);
  }

  /**
   * Opens a segment.
   *
   * @param url iw://host:port/path, iws://host:port/path, or unix:FILE:/path
   * @param options the first opening's count, until the segment is closed
   * @return the segment
   */
  public Segment open(String url, OpenOptions options) {
    SegmentUrl parsed = SegmentUrl.parse(url);
    Segment segment = enter(parsed, options);
    boolean isOpen = false;
    try {
      segment.open();
      isOpen = true;
      tellNews();
      return segment;
    } finally {
      // Perhaps the thread was interrupted, which must not leave the opening counted.
      if (!isOpen) close(segment, false);
    }
  }

  /**
   * Opens a segment, without waiting for it. A future that is cancelled, or completed otherwise,
   * gives the wait up, and a segment that is opened all the same is closed.
   *
   * @param url iw://host:port/path, iws://host:port/path, or unix:FILE:/path
   * @param options the first opening's count, until the segment is closed; their timeout is the
   *     deadline
   * @return the segment; fails as {@link #open(String, OpenOptions)} would
   */
  public CompletableFuture<Segment> openAsync(String url, OpenOptions options) {
    return Waits.begin(() -> open(url, options), Segment::close);
  }

  /**
   * Opens a segment, and makes it if it does not exist, without waiting for it.
   *
   * @param url iw://host:port/path, iws://host:port/path, or unix:FILE:/path
   * @return as {@link #openAsync(String, OpenOptions)} says
   */
  public CompletableFuture<Segment> openAsync(String url) {
    return openAsync(url, OpenOptions.DEFAULT);
  }

  /** An opening of a URL that is under way. */
  private static final class Entering {
    final SegmentUrl parsed;
    final String url;
    final OpenOptions options;
    /** Of the same path, and of other segments. */
    final List<Opening> others = new ArrayList<>();
    /** Of the same path, and not compared yet; null: none. */
    Opening alike;

    Entering(SegmentUrl parsed, OpenOptions options) {
      this.parsed = parsed;
      url = parsed.server().text() + parsed.path();
      this.options = options;
    }
  }

  private Segment enter(SegmentUrl parsed, OpenOptions options) {
    Entering one = new Entering(parsed, options);
    while (true) {
      SocketAddress[] addresses = lookUp(parsed.server());
      Segment entered = tryEnter(one, addresses);
      if (entered != null) return entered;
      if (one.alike != null) compare(one);
      else lost(names.find(one.url));
    }
  }

  /**
   * Null: a segment that may be the same is to be compared, the program has lost a lock of that
   * URL's segment, or an address is needed after all.
   */
  private Segment tryEnter(Entering one, SocketAddress[] addresses) {
    SegmentUrl parsed = one.parsed;
    String url = one.url;
    OpenOptions options = one.options;
    lock.lock();
    links.lock.lock();
    try {
      one.alike = null;
      Opening opening = names.find(url);
      Segment known = opening == null ? null : opening.get();
      if (opening != null && known == null) return null;
      if (known != null && known.isOver()) {
        known.retire();
        forget(known);
        known = null;
      }
      Link linked = links.named(parsed.server());
      if (linked != null) linked.checkSame(options.token(), options.files());
      if (known == null) {
        one.alike = alikeTo(one);
        if (one.alike != null) return null;
        Link link =
            links.named(
                parsed.server(), addresses, options.tokenOr(token), options.filesOr(files),
                parsed.path());
        if (link == null) return null;
        known = new Segment(this, link, url, parsed.path(), options);
        names.join(known.opening());
      }
      ++known.openings;
      return known;
    } finally {
      links.lock.unlock();
      lock.unlock();
    }
  }

  /** One that may be the URL's segment, with the same credentials [SPACE-62]; null: none. */
  private Opening alikeTo(Entering one) {
    boolean isSecure = one.parsed.server().secure();
    String shown = one.options.tokenOr(token);
    TlsFiles given = one.options.filesOr(files);
    for (Opening each : names.withPath(one.parsed.path())) {
      Segment segment = each.get();
      boolean isKnown = segment == null || segment.isOver() || one.others.contains(each);
      if (isKnown || each.link.isSecure() != isSecure) continue;
      if (each.link.shows(shown, given)) return each;
    }
    return null;
  }

  /** Without locks, because it waits for both servers. Fails if the URL's cannot be reached. */
  private void compare(Entering one) {
    Link here =
        borrow(one.parsed.server(), one.options.tokenOr(token), one.options.filesOr(files));
    Link there = null;
    try {
      there = borrow(one.alike.exchange);
      long deadline = Math.min(Clock.now() + one.options.timeout(), Freshness.FOREVER);
      byte[] space = OneStore.space(here, there, deadline);
      if (space == null) one.others.add(one.alike);
      else name(one, here, space);
    } finally {
      if (there != null) giveBack(there);
      giveBack(here);
    }
  }

  /** Unless something has changed meanwhile: then the URL is looked for once more. */
  private void name(Entering one, Link here, byte[] space) {
    lock.lock();
    links.lock.lock();
    try {
      if (names.find(one.alike.url) != one.alike || names.find(one.url) != null) return;
      names.add(one.url, one.alike);
      one.alike.exchange.alsoAt(here, space);
    } finally {
      links.lock.unlock();
      lock.unlock();
    }
  }

  /**
   * The address of a server without a link; null: it has one. A look-up may take long, so it
   * happens without the client's lock. Of several hosts, the link looks up those that it tries.
   */
  private SocketAddress[] lookUp(Hosts server) {
    links.lock.lock();
    try {
      if (links.named(server) != null) return null;
    } finally {
      links.lock.unlock();
    }
    if (server.all().size() > 1) return new SocketAddress[server.all().size()];
    try {
      return new SocketAddress[] {Channel.resolve(server.all().get(0))};
    } catch (IOException wrong) {
      throw InterweaveException.of(
          Error.UNREACHABLE, server.text() + ": " + wrong.getMessage());
    }
  }

  /** What is told to servers, for people. */
  static Introduction introduction() {
    String command = System.getProperty("sun.java.command", "java");
    int blank = command.indexOf(' ');
    String program = blank < 0 ? command : command.substring(0, blank);
    return new Introduction(LABEL, program, host(), pid());
  }

  /** Not by a look-up of names, which may take seconds. */
  private static String host() {
    try {
      return read("/proc/sys/kernel/hostname").strip();
    } catch (IOException notLinux) {
      String said = System.getenv("COMPUTERNAME");
      return said == null ? "" : said;
    }
  }

  /** ProcessHandle makes a pool of threads, which takes 13 ms. */
  private static long pid() {
    try {
      String state = read("/proc/self/stat");
      return Long.parseLong(state.substring(0, state.indexOf(' ')));
    } catch (IOException notLinux) {
      return ProcessHandle.current().pid();
    }
  }

  private static String read(String file) throws IOException {
    try (FileInputStream in = new FileInputStream(file)) {
      return new String(in.readNBytes(1024), StandardCharsets.ISO_8859_1);
    }
  }

  // ---- servers ----

  /**
   * Lists the segments of a server.
   *
   * @param prefix what the segments' URLs begin with: iw://host:port/path, iws://host:port/path, or
   *     unix:FILE:/path
   * @return in the order of their paths
   */
  public List<SegmentInfo> list(String prefix) {
    SegmentUrl parsed = SegmentUrl.parse(prefix);
    Link link = borrow(parsed.server(), token, files);
    try {
      return new Directory(link, parsed.server().text(), null).list(parsed.path());
    } finally {
      giveBack(link);
    }
  }

  /**
   * Removes a segment from its server, for all programs. Those that have it open learn it by
   * REMOVED.
   *
   * @param url of the segment; NO_SEGMENT if the server has none
   */
  public void remove(String url) {
    SegmentUrl parsed = SegmentUrl.parse(url);
    long deadline = Clock.now() + Directory.LONGEST;
    // They are kept until the end, with the pauses between their attempts to connect.
    List<Link> borrowed = new ArrayList<>();
    borrowed.add(borrow(parsed.server(), token, files));
    try {
      boolean isRemoved = false;
      while (!isRemoved) isRemoved = removeOnce(parsed, deadline, borrowed);
    } finally {
      for (Link each : borrowed) giveBack(each);
    }
  }

  /**
   * False if its owner was not reached: another server may have it by now [SPACE-55]. A server that
   * was asked and did not answer may have removed it, and the error says so.
   */
  private boolean removeOnce(SegmentUrl url, long deadline, List<Link> borrowed) {
    Link home = borrowed.get(0);
    Link from = null;
    Link at = home;
    for (int hops = 0; ; ++hops) {
      Directory asked = new Directory(at, url.server().text(), from);
      try {
        asked.connect(deadline);
      } catch (InterweaveException wrong) {
        if (at == home || !Attempts.passesOn(wrong)) throw wrong;
        if (Clock.now() >= deadline) throw home.ownerAway(at, wrong);
        return false;
      }
      RedirectField to = asked.remove(url.path(), deadline);
      if (to == null) return true;
      if (hops == Links.MOST_HOPS) throw Links.sentTooOften(url.path(), to);
      from = at;
      at = borrow(home, to);
      borrowed.add(at);
    }
  }

  private Link borrow(Link home, RedirectField to) {
    links.lock.lock();
    try {
      Link link = links.sentOn(home, to, null, null);
      ++link.borrowers;
      return link;
    } finally {
      links.lock.unlock();
    }
  }

  /**
   * Where a machine-independent pointer leads. Opens the segment if it is not open; the segment
   * then stays open. An object shows a version only under a lock of its segment.
   *
   * @param mip url#block or url#block#unit; without a block, the segment's first one
   * @return as {@link SegmentLock#at} says
   */
  public Object at(String mip) {
    SegmentUrl parsed = Mip.parse(mip).url();
    Segment segment = opened(parsed.server().text() + parsed.path());
    if (segment == null) {
      segment = open(mip.substring(0, mip.indexOf('#') < 0 ? mip.length() : mip.indexOf('#')),
          OpenOptions.DEFAULT.existing());
    }
    try (ReadLock lock = segment.read()) {
      return lock.at(mip);
    }
  }

  private Link borrow(Exchange exchange) {
    links.lock.lock();
    try {
      Link link = exchange.link();
      ++link.borrowers;
      return link;
    } finally {
      links.lock.unlock();
    }
  }

  private Link borrow(Hosts server, String shownToken, TlsFiles shownFiles) {
    while (true) {
      SocketAddress[] addresses = lookUp(server);
      links.lock.lock();
      try {
        Link link = links.named(server, addresses, shownToken, shownFiles, null);
        if (link == null) continue;
        ++link.borrowers;
        return link;
      } finally {
        links.lock.unlock();
      }
    }
  }

  private void giveBack(Link link) {
    links.lock.lock();
    try {
      --link.borrowers;
    } finally {
      links.lock.unlock();
    }
    closeUnused(link);
  }

  private void closeUnused(Exchange closed) {
    List<Link> were;
    links.lock.lock();
    try {
      were = closed.links();
    } finally {
      links.lock.unlock();
    }
    for (Link each : were) closeUnused(each);
  }

  /** Waits for the network, and therefore without locks. */
  private void closeUnused(Link link) {
    links.lock.lock();
    try {
      if (!links.drops(link)) return;
    } finally {
      links.lock.unlock();
    }
    link.close();
  }

  // ---- closing ----

  void close(Segment segment) {
    close(segment, true);
  }

  /** Waits without the client's lock, which threads inside of the segment's locks may need. */
  void close(Segment segment, boolean isInterruptible) {
    long deadline = segment.timeoutDeadline();
    while (!tryClose(segment)) segment.awaitOthers(deadline, isInterruptible);
    closeUnused(segment.opening().exchange);
  }

  /** False: it would be the last closing, and other threads are inside of locks [OPEN-3]. */
  private boolean tryClose(Segment segment) {
    lock.lock();
    try {
      if (segment.openings == 0) {
        throw InterweaveException.of(
            Error.NOT_OPEN, segment.url() + " was closed as often as it was opened");
      }
      if (segment.openings == 1 && !segment.tryClose()) return false;
      if (--segment.openings == 0) forget(segment);
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** The next opening of the URL makes another segment. */
  private void forget(Segment segment) {
    names.leave(segment.opening());
    closings.incrementAndGet();
  }

  /**
   * The program has lost a lock, and with it the segment. Closes the segment, and says so once. Not
   * one that lives: another thread may have opened the URL anew since this one looked.
   */
  void lost(Opening opening) {
    if (opening == null || opening.get() != null) return;
    lock.lock();
    try {
      if (!names.leave(opening)) return;
      closings.incrementAndGet();
      opening.end();
    } finally {
      lock.unlock();
    }
    closeUnused(opening.exchange);
    opening.report();
  }

  /** The open segment that a slot names; null: it is not open. */
  Segment opened(String url) {
    Opening found = names.find(url);
    return found == null ? null : found.get();
  }

  long news() {
    return news.get();
  }

  void tellNews() {
    news.incrementAndGet();
  }

  long closings() {
    return closings.get();
  }

  /**
   * Closes all segments and ends the session. Changes of the calling thread that were not released
   * are undone; locks of other threads are waited for. A segment that cannot be closed does not
   * hold up the others; its error is thrown at the end.
   */
  @Override
  public void close() {
    Throwable first = null;
    for (Segment segment : lastOpenings()) {
      try {
        close(segment);
      } catch (RuntimeException | java.lang.Error wrong) {
        if (first == null) first = wrong;
        else first.addSuppressed(wrong);
      }
    }
    for (Opening each : List.copyOf(names.all())) if (each.get() == null) lost(each);
    if (first instanceof java.lang.Error wrong) throw wrong;
    if (first != null) throw (RuntimeException) first;
  }

  private List<Segment> lastOpenings() {
    lock.lock();
    try {
      List<Segment> open = new ArrayList<>();
      for (Opening each : names.all()) {
        Segment segment = each.get();
        if (segment == null) continue;
        segment.openings = 1;
        open.add(segment);
      }
      return open;
    } finally {
      lock.unlock();
    }
  }
}
