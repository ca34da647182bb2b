package org.interweave.client;

import static org.interweave.wire.protocol.SessionCodec.MessageType.OPEN_SEGMENT;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.Condition;
import org.interweave.Interface;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.coherence.Freshness;
import org.interweave.session.Answers;
import org.interweave.session.Connection;
import org.interweave.session.Conversation;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.FieldCodec.RedirectField;
import org.interweave.wire.protocol.MovingCodec.SegmentMoved;
import org.interweave.wire.protocol.SegmentCodec.Durability;
import org.interweave.wire.protocol.SegmentCodec.OpenSegment;
import org.interweave.wire.protocol.SegmentCodec.SegmentOpened;
import org.interweave.wire.protocol.SessionCodec.MessageType;

/**
 * Drives the conversation about one segment: opens the segment on every connection, sends what the
 * conversation wants sent, and gives it what comes. All methods need the link's lock.
 */
final class Exchange {
  private static final byte[] NO_BYTES = new byte[0];
  private static final long ASKED_AGAIN = 2_000_000_000;
  private static final long SENT_AGAIN = 250_000_000;

  /** Is told of what came; called with the link's lock, by the library's thread. */
  interface Listener {
    void changed();

    void connectionIs(Interface.Connection state);
  }

  final Conversation conversation;
  final Condition changed;
  /** Those of its names, as the program opened them [SPACE-63]. */
  private final List<Link> named = new ArrayList<>(1);
  /** Of all names' servers, once there are several; null: of any. */
  private byte[] namedSpace;
  /** That of the URL, or of the other name that was asked last. */
  private Link home;
  /** Where the segment is open, or asked for now [SPACE-10]. */
  private Link link;
  /** Where the home's server last sent the segment; null: nowhere. */
  private Link owner;
  /** Of the server that last sent it on; null: the server did not say. */
  private byte[] space;
  /** How often it was sent on in this opening. */
  private int hops;
  /** How often it has moved while it was open. */
  private long moves;
  /** In which the segment was last open; null: in none. A secret. */
  private byte[] session;
  /** When to ask again without a thread that waits. */
  private long nextAsked = Freshness.FOREVER;
  private final String path;
  private final OpenOptions options;
  private final Listener listener;
  /** Under which the link finds it; 0: under none. */
  private long number;
  private boolean isOpening;
  /** Closed, or another opening of the path follows. */
  private boolean isLeaving;
  private InterweaveException openFailure;
  /** The failure may pass, so that a segment that was open is asked for again. */
  private boolean mayPass;
  /** The failure is that, and the next opening waits until `nextAsked`. */
  private boolean isSentTooOften;
  /** How often it came home, and why it last did. */
  private long failures;
  private InterweaveException lastFailure;
  /** The last failure is that its owner is away, so an opening continues [SPACE-55]. */
  private boolean isAskedAgain;
  /** The reason that the last attempt did not reach its owner; null: an owner was asked since. */
  private InterweaveException away;
  private long bytesReceived;
  private long messagesSent;

  Exchange(Link link, String path, OpenOptions options, Listener listener) {
    home = link;
    named.add(link);
    this.link = link;
    this.path = path;
    this.options = options;
    this.listener = listener;
    conversation = new Conversation(path);
    changed = link.lock.newCondition();
    link.lock.lock();
    try {
      link.add(this);
    } finally {
      link.lock.unlock();
    }
  }

  String path() {
    return path;
  }

  long number() {
    return number;
  }

  /** Where the segment is open or asked for. It may be another whenever a thread has waited. */
  Link link() {
    return link;
  }

  /** Those of its names, and where the server of one sends the segment. */
  List<Link> links() {
    List<Link> all = new ArrayList<>(named);
    if (owner != null) all.add(0, owner);
    return all;
  }

  boolean needs(Link other) {
    return named.contains(other) || other == link || other == owner;
  }

  /** The program opened it by a name of that link's server, too [SPACE-63]. */
  void alsoAt(Link other, byte[] ofSpace) {
    if (namedSpace == null) namedSpace = ofSpace;
    if (!named.contains(other)) named.add(other);
  }

  boolean isLeaving() {
    return isLeaving;
  }

  long moves() {
    return moves;
  }

  /** Of bulk, in answers and notifications. */
  long bytesReceived() {
    return bytesReceived;
  }

  long messagesSent() {
    return messagesSent;
  }

  // ---- opening ----

  /**
   * The segment is open on a live connection, which is returned. Also an opening that fails at once
   * waits while the owner is away.
   */
  Connection open(long deadline, boolean failsAtOnce, boolean isInterruptible) {
    boolean hasAsked = false;
    long before = failures;
    while (true) {
      conversation.check();
      boolean hasFailed = failures != before && !isAskedAgain;
      if (hasFailed && hasAsked && failsAtOnce) throw lastFailure;
      before = failures;
      Connection live = connected(deadline, failsAtOnce, isInterruptible);
      if (live == null) continue;
      if (conversation.isOpen()) return live;
      if (!isOfItsSpace()) throw inOtherSpace();
      Exchange leaver = link.leaving(path);
      if (leaver == null) {
        if (!isOpening) {
          boolean isTold = hasAsked && openFailure != null && (failsAtOnce || !mayPass);
          if (isTold) throw openFailure;
          long pauseEnds = isSentTooOften ? nextAsked : Freshness.NEVER;
          if (Clock.now() < pauseEnds && Clock.now() < deadline) {
            link.await(changed, Math.min(pauseEnds, deadline), isInterruptible);
            continue;
          }
          if (isSentTooOften && Clock.now() >= deadline) throw openFailure;
          sendOpen();
        }
        hasAsked = true;
      }
      if (!link.await(leaver == null ? changed : leaver.changed, deadline, isInterruptible)) {
        if (away != null) throw away;
        throw InterweaveException.of(
            Error.TIMED_OUT, path + ": the server did not open it in time");
      }
    }
  }

  /** An owner's failure comes by `unreachable`, after which the exchange is at home. */
  private Connection connected(long deadline, boolean failsAtOnce, boolean isInterruptible) {
    Link at = link;
    try {
      return at.connected(this, deadline, failsAtOnce && at == home, isInterruptible);
    } catch (InterweaveException wrong) {
      throw at != home && Attempts.passesOn(wrong) ? home.ownerAway(at, wrong) : wrong;
    }
  }

  private void sendOpen() {
    OpenSegment body =
        new OpenSegment(
            path,
            options.creates() && conversation.mayCreate(),
            options.isReadOnly(),
            Durability.of(options.durability().number),
            options.quotaBytes(),
            List.of());
    isOpening = true;
    openFailure = null;
    mayPass = false;
    isSentTooOften = false;
    nextAsked = Freshness.FOREVER;
    if (link != home) away = null;
    send(OPEN_SEGMENT, OpenSegment.CODEC.toBytes(body), NO_BYTES, false);
  }

  private void opened(Message answer) {
    isOpening = false;
    if (answer.is(MessageType.SEGMENT_OPENED)) openedHere();
    conversation.opened(answer);
    if (isLeaving) {
      link.remove(this);
    } else if (conversation.isOpen()) {
      link.isAt(number, conversation.number(), this);
      number = conversation.number();
      listener.connectionIs(Interface.Connection.CONNECTED);
    } else if (!conversation.isOver()) {
      RedirectField to = Answers.redirect(answer);
      if (to != null) sentOn(to);
      else if (!answer.is(MessageType.SEGMENT_OPENED)) refused(failure(answer));
    }
  }

  /**
   * A server may refuse a segment that was open for a while, until the lease of its earlier start
   * is over, say. A program that listens asks for nothing by itself [CONN-1].
   */
  private void refused(InterweaveException why) {
    openFailure = why;
    if (session != null && Link.mayPass(why)) nextAsked = Clock.now() + SENT_AGAIN;
  }

  private static InterweaveException failure(Message answer) {
    try {
      Answers.expect(answer, MessageType.SEGMENT_OPENED, SegmentOpened.CODEC);
      return null;
    } catch (InterweaveException refused) {
      return refused;
    }
  }

  /** Locks of another server's session, or of an earlier one, are not known here [SPACE-16]. */
  private void openedHere() {
    if (session != null && !Arrays.equals(session, link.session())) conversation.sessionEnded();
    session = link.session();
    hops = 0;
    away = null;
    if (link == home) ownerIs(null);
  }

  // ---- being sent on [SPACE-10..14] ----

  private void sentOn(RedirectField to) {
    try {
      if (++hops > Links.MOST_HOPS) {
        sentTooOften(Links.sentTooOften(path, to));
        return;
      }
      space = link.space();
      Link next = home.links().sentOn(home, to, path, this);
      moveTo(next);
      ownerIs(next);
      if (link.isLive()) connectionMade();
    } catch (InterweaveException wrong) {
      comeHome(wrong);
    }
  }

  /**
   * The segment is asked for at its new owner, as after a lost connection. The server tells it by
   * SEGMENT_MOVED, and by its answers to requests that waited or crossed SEGMENT_MOVED [SPACE-23].
   * The first of these messages counts.
   */
  private void moved(RedirectField to) {
    if (!conversation.isOpen()) return;
    ++moves;
    link.forget(number, this);
    number = 0;
    conversation.moved();
    sentOn(to);
  }

  /**
   * Servers may send a segment on to one that has just started anew, until the claim of the one
   * before ends. A segment that was open is asked for again after a pause [SPACE-14].
   */
  private void sentTooOften(InterweaveException why) {
    comeHome(why);
    if (session == null) return;
    isSentTooOften = true;
    mayPass = true;
    nextAsked = Clock.now() + SENT_AGAIN;
  }

  private void ownerIs(Link next) {
    Link before = owner;
    owner = next;
    if (before != null && before != next) before.left();
  }

  private void moveTo(Link next) {
    Link before = link;
    if (before == next) return;
    before.remove(this);
    number = 0;
    link = next;
    next.add(this);
    before.left();
    changed.signalAll();
  }

  /** Nobody has the segment open for this client. One that moved was not disconnected before. */
  private void isAway() {
    listener.connectionIs(Interface.Connection.DISCONNECTED);
  }

  /** The server of the URL is to be asked again: at once, or if the failure does not pass, soon. */
  private void comeHome(InterweaveException why) {
    hops = 0;
    ++failures;
    lastFailure = why;
    openFailure = why;
    isAway();
    isAskedAgain = why == away;
    boolean isRepeated = session != null || isAskedAgain;
    mayPass = isRepeated && why.code() != Error.REDIRECTED && Link.mayPass(why);
    nextAsked = session == null ? Freshness.FOREVER : Clock.now() + ASKED_AGAIN;
    moveTo(home);
    if (why.code() == Error.REDIRECTED) ownerIs(null);
    changed.signalAll();
    boolean isReady = link.isLive() && isOfItsSpace();
    if (mayPass && isReady && !conversation.isOver() && !isOpening) sendOpen();
  }

  /**
   * An attempt to connect has failed. A segment that was open is asked for where it was, and then
   * at the servers of its names, by turns. After its owner the server of the URL is asked in any
   * case, because another one may have it by now [SPACE-55].
   */
  void unreachable(InterweaveException why) {
    if (isLeaving || conversation.isOver()) return;
    isAway();
    if (link != home) {
      away = Attempts.passesOn(why) ? home.ownerAway(link, why) : null;
      comeHome(away == null ? why : away);
    } else if (session != null && Link.mayPass(why)) {
      moveTo(nextPlace());
      if (link.isLive()) connectionMade();
    }
  }

  /** After the last name where it was before the first. */
  private Link nextPlace() {
    for (int tried = 0; tried < named.size(); ++tried) {
      int next = named.indexOf(home) + 1;
      boolean isRoundOver = next == named.size();
      home = named.get(isRoundOver ? 0 : next);
      if (isRoundOver && owner != null) return owner;
      if (!home.isLive() || namedSpace == null || home.isOf(namedSpace)) break;
    }
    return home;
  }

  /** Whether it may be asked for here: a server may serve another space by now [SPACE-63]. */
  private boolean isOfItsSpace() {
    return link != home || namedSpace == null || link.isOf(namedSpace);
  }

  private InterweaveException inOtherSpace() {
    return InterweaveException.of(
        Error.UNREACHABLE,
        path + ": the server of this name serves another space than that of its other names; ask"
            + " its operator");
  }

  /**
   * After this the server hears of the segment no more, but that CLOSE_SEGMENT follows the answer
   * to an opening under way [OPEN-2]. Only another opening of the path waits for that answer.
   */
  void close() {
    conversation.close();
    leave();
    changed.signalAll();
  }

  /** Another opening takes the segment's place at the server; this one is over. */
  void retire() {
    conversation.retire();
    leave();
  }

  private void leave() {
    isLeaving = true;
    carryOut();
    if (isOpening) link.leaves(path, this);
    else link.remove(this);
  }

  // ---- asking ----

  /** Sends a request on the live connection. */
  Call send(MessageType type, byte[] body, byte[] bulk, boolean isAwaited) {
    ++messagesSent;
    return link.send(type, this, body, bulk, isAwaited);
  }

  /** The answer, over a new connection if one is lost. */
  Call ask(Question question, long deadline, boolean isInterruptible) {
    while (true) {
      Connection on = open(deadline, false, isInterruptible);
      Link at = link;
      Call call = send(question.type, question.body(), NO_BYTES, true);
      try {
        Message answer = at.await(call, deadline, question.waitsForOthers, isInterruptible);
        // Another server has the segment now, which is asked next.
        if (Answers.redirect(answer) == null) return call;
      } catch (InterweaveException wrong) {
        boolean isLost = wrong.code() == Error.UNREACHABLE && at.live() != on;
        if (!isLost || Clock.now() >= deadline) throw wrong;
      }
    }
  }

  /** Sends what the conversation wants sent. */
  void carryOut() {
    Conversation.Effect effect = conversation.takeEffect();
    for (; effect != null; effect = conversation.takeEffect()) {
      if (!link.isLive()) continue;
      if (effect.hasAnswer()) {
        send(effect.type(), effect.body(), NO_BYTES, false);
      } else {
        ++messagesSent;
        link.tell(effect.type(), effect.body());
      }
    }
  }

  // ---- hearing, by the library's thread ----

  void answered(Call call, Message answer, long sentAt) {
    bytesReceived += answer.bulk().length;
    if (call.moves != moves) return;
    if (call.type == OPEN_SEGMENT) {
      opened(answer);
    } else {
      RedirectField to = Answers.redirect(answer);
      if (to != null) moved(to);
      else conversation.heard(call.type, answer, call.isLate, sentAt, Clock.now());
    }
    happened();
  }

  /** `call` is null for a notification. */
  void begins(Call call, Message first) {
    if (call == null || call.moves == moves) conversation.begins(first);
  }

  void notified(Message message) {
    bytesReceived += message.bulk().length;
    if (message.is(MessageType.SEGMENT_MOVED)) {
      SegmentMoved to = message.decode(SegmentMoved.CODEC);
      moved(new RedirectField(to.address(), to.tlsName(), true));
    } else {
      conversation.notified(message);
    }
    happened();
  }

  void connectionLost() {
    isOpening = false;
    openFailure = null;
    conversation.connectionLost();
    if (isLeaving) link.remove(this);
    if (!conversation.isOver()) listener.connectionIs(Interface.Connection.DISCONNECTED);
    happened();
  }

  /** Opens the segment at once, because a program without a lock must also learn of a loss. */
  void connectionMade() {
    if (conversation.isOver() || isOpening) return;
    if (link != home && !link.isOf(space)) comeHome(link.inOtherSpace());
    else if (isOfItsSpace()) sendOpen();
  }

  void tick(long now) {
    // The writer has to renew its lock.
    boolean isAwaited = conversation.grant() != null || now >= nextAsked;
    boolean isThere = conversation.isOpen() || conversation.isOver() || isOpening;
    if (isAwaited && !isThere && !isLeaving && isOfItsSpace()) sendOpen();
    conversation.tick(now);
    carryOut();
  }

  private void happened() {
    if (conversation.isLost()) listener.connectionIs(Interface.Connection.LOST);
    listener.changed();
    carryOut();
    changed.signalAll();
  }
}
