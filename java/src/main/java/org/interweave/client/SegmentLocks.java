package org.interweave.client;

import static org.interweave.wire.protocol.SessionCodec.MessageType.ACQUIRE_READER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.ACQUIRE_WRITER;
import static org.interweave.wire.protocol.SessionCodec.MessageType.READER_ACQUIRED;
import static org.interweave.wire.protocol.SessionCodec.MessageType.WRITER_ACQUIRED;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.coherence.Bound;
import org.interweave.coherence.Freshness;
import org.interweave.coherence.Knowledge;
import org.interweave.diff.Changes;
import org.interweave.diff.Copy;
import org.interweave.flight.ApplyEvent;
import org.interweave.flight.CollectEvent;
import org.interweave.flight.Flight;
import org.interweave.flight.LockEvent;
import org.interweave.session.Answers;
import org.interweave.session.Conversation;
import org.interweave.session.CopyState;
import org.interweave.session.StagedDiff;
import org.interweave.session.WriterGrant;
import org.interweave.wire.protocol.LockCodec.AcquireReader;
import org.interweave.wire.protocol.LockCodec.AcquireWriter;
import org.interweave.wire.protocol.LockCodec.CoherenceModel;
import org.interweave.wire.protocol.LockCodec.ReaderAcquired;
import org.interweave.wire.protocol.LockCodec.WriterAcquired;
import org.interweave.wire.protocol.SegmentCodec.VersionStamp;

/**
 * The locks of one segment among the threads of this program. Any number of readers hold the lock
 * together, or one thread holds it alone: the writer, or a thread that applies an update [PROC-1,
 * PROC-2]. A reader that finds the copy recent enough gets the lock at once. A thread that holds a
 * lock gets another reader lock at once [PROC-3, PROC-4].
 *
 * <p>The link's lock guards all of it; diffs are applied and collected without it, by the thread
 * that is alone.
 */
final class SegmentLocks {
  /** How long an answer may take beyond the time that the server was allowed to wait. */
  private static final long ANSWER = 1_000_000_000;
  private static final long MILLISECOND = 1_000_000;

  private final Link link;
  private final Exchange exchange;
  private final Conversation conversation;
  private final Copy copy;
  private final Segment segment;
  private final ReentrantLock gate;
  private final Holders readers = new Holders();
  private int waitingAlone;
  private int waitingToClose;
  private boolean isAlone;
  private boolean isAsking;
  /** The thread, or what stands for a future; null: nobody writes. */
  private Object writer;
  private int writerDepth;
  private volatile Writing writing;
  /** Locks of any kind; read without the link's lock. */
  private volatile int held;
  long localReads;
  long asked;
  long diffs;
  long releases;
  long bytesSent;

  SegmentLocks(
      Link link, Exchange exchange, Copy copy, Segment segment, ReentrantLock gate) {
    this.link = link;
    this.exchange = exchange;
    this.copy = copy;
    this.segment = segment;
    this.gate = gate;
    conversation = exchange.conversation;
  }

  private CopyState state() {
    return conversation.state();
  }

  Knowledge knowledge() {
    return state().knowledge(exchange.link().heard(), exchange.link().heartbeat());
  }

  /** NO_LOCK without a lock; a lost copy does not change any more [LOST-5]. */
  void checkReadable() {
    if (held > 0 || conversation.loss() != null) return;
    throw InterweaveException.of(
        Error.NO_LOCK,
        segment.url() + ": take a lock first, as in try (ReadLock lock = segment.read()) {...}");
  }

  /** The writer section under way. */
  Writing writing() {
    Writing found = writing;
    if (found != null) return found;
    InterweaveException loss = conversation.loss();
    if (loss != null) throw loss;
    throw InterweaveException.of(
        Error.NO_LOCK,
        segment.url() + ": take the writer lock before storing, as in"
            + " try (WriteLock lock = segment.write()) {...}");
  }

  /** The library holds the segment weakly while there are locks. */
  private void held(int change) {
    held += change;
    segment.opening().locksAre(segment, held > 0);
  }

  private void await(String whom, long deadline) {
    await(whom, deadline, true);
  }

  private void await(String whom, long deadline, boolean isInterruptible) {
    if (link.await(exchange.changed, deadline, isInterruptible)) return;
    throw InterweaveException.of(
        Error.TIMED_OUT, segment.url() + ": " + whom + " was not done before the deadline");
  }

  // ---- readers ----

  /** The lock belongs to its `owner`: the calling thread, or what stands for a future. */
  ReadLock read(Object owner, boolean fresh, long deadline) {
    LockEvent event = Flight.isOn() ? LockEvent.begun() : null;
    link.lock.lock();
    try {
      boolean isNested = readers.has(owner) || writer == owner && writing != null;
      boolean isLocal = isNested || acquire(fresh, deadline);
      boolean isStrict = !isNested && segment.bound().model() == CoherenceModel.STRICT;
      readers.add(owner);
      held(1);
      conversation.entered(isStrict);
      if (event != null) event.ended(segment.url(), false, copy.version(), isLocal);
      return new ReadLock(segment, this, owner, isStrict);
    } finally {
      link.lock.unlock();
    }
  }

  /** Whether it needed no update. */
  private boolean acquire(boolean fresh, long deadline) {
    long began = Clock.now();
    long now = began;
    boolean isUpdated = false;
    while (true) {
      conversation.check();
      boolean needsNothing = isUpdated || !fresh && segment.isRecent(knowledge(), began, now);
      boolean isFree = !isAlone && (waitingAlone == 0 || isUpdated);
      if (needsNothing && isFree) break;
      if (!isFree || isAsking) {
        await("a writer or an update of this program", deadline);
        now = Clock.now();
        continue;
      }
      isAsking = true;
      try {
        update(fresh, began, deadline);
      } finally {
        isAsking = false;
        exchange.changed.signalAll();
      }
      isUpdated = true;
    }
    if (!isUpdated) ++localReads;
    return !isUpdated;
  }

  void leave(ReadLock given) {
    link.lock.lock();
    try {
      // The last close of the segment has ended the locks of its thread.
      if (!given.closes() || !readers.has(given.owner())) return;
      readers.remove(given.owner());
      held(-1);
      if (given.isStrict()) {
        conversation.strictLeft();
        exchange.carryOut();
      }
      boolean isAwaited = waitingToClose > 0 || waitingAlone > 0 && readers.all() == 0;
      if (isAwaited) exchange.changed.signalAll();
    } finally {
      link.lock.unlock();
    }
  }

  /** Makes the copy recent enough. Only one thread at a time does so. Pushed diffs may suffice. */
  private void update(boolean fresh, long began, long deadline) {
    Bound bound = segment.bound();
    boolean isStaged =
        !fresh
            && state().hasStaged()
            && Freshness.isRecent(bound, state().withStaged(knowledge()), began, Clock.now());
    if (!isStaged) {
      ask(bound, fresh, deadline);
      segment.watch();
    }
    if (!state().hasStaged()) return;
    becomeAlone(deadline);
    try {
      applyStaged();
    } finally {
      leaveAlone();
    }
  }

  private static long millisecondsUntil(long deadline) {
    long left = (deadline - Clock.now()) / MILLISECOND;
    return Math.max(0, Math.min(left, Integer.MAX_VALUE));
  }

  /** Asks the server. The answer is taken in as it comes. */
  private void ask(Bound bound, boolean fresh, long deadline) {
    CopyState.Asked[] asks = new CopyState.Asked[1];
    Question question =
        new Question(ACQUIRE_READER, bound.model() == CoherenceModel.STRICT) {
          @Override
          byte[] body() {
            asks[0] = state().asked();
            return AcquireReader.CODEC.toBytes(
                conversation.question(bound, fresh, millisecondsUntil(deadline)));
          }
        };
    while (true) {
      Call call = exchange.ask(question, deadline + ANSWER, true);
      ReaderAcquired acquired =
          Answers.expect(call.answer, READER_ACQUIRED, ReaderAcquired.CODEC);
      ++asked;
      state().adaptation.asked(!acquired.updated());
      if (isAlone || !state().mustAskAgain(acquired, asks[0])) return;
    }
  }

  private void becomeAlone(long deadline) {
    ++waitingAlone;
    try {
      conversation.check();
      while (readers.all() > 0 || isAlone) {
        await("a reader or writer of this program", deadline);
        // Closed meanwhile, perhaps by the very reader that is waited for.
        conversation.check();
      }
      isAlone = true;
    } finally {
      --waitingAlone;
      if (!isAlone) exchange.changed.signalAll();
    }
  }

  private void leaveAlone() {
    isAlone = false;
    exchange.changed.signalAll();
  }

  /** By the thread that is alone. */
  private void applyStaged() {
    for (StagedDiff diff = state().takeStaged(); diff != null; diff = state().takeStaged()) {
      boolean isOtherLife = diff.now().incarnation() != state().had().incarnation();
      String lacking = null;
      boolean isSound = false;
      link.lock.unlock();
      try {
        if (isOtherLife && diff.from().number() == 0) lacking = copy.lacking(diff.bytes());
        if (lacking == null) apply(diff);
        isSound = true;
      } finally {
        link.lock.lock();
        if (!isSound) state().forget();
      }
      if (lacking != null) {
        conversation.lose(lacking);
        exchange.carryOut();
        conversation.check();
      }
      state().applied(diff);
      ++diffs;
    }
    conversation.giveCredit();
    exchange.carryOut();
  }

  private void apply(StagedDiff diff) {
    ApplyEvent event = Flight.isOn() ? ApplyEvent.begun() : null;
    gate.lock();
    try {
      copy.apply(diff.bytes());
      segment.objects().refresh();
    } finally {
      gate.unlock();
    }
    if (event != null) event.ended(segment.url(), copy.version(), diff.bytes().length);
    if (copy.version() == diff.now().number()) return;
    throw InterweaveException.malformed(
        "the server announced version " + diff.now().number() + " and sent " + copy.version());
  }

  // ---- the writer ----

  /** As `read`. */
  WriteLock write(Object owner, long deadline) {
    if (segment.isReadOnly()) {
      throw InterweaveException.of(
          Error.READ_ONLY, segment.url() + " was opened read-only");
    }
    LockEvent event = Flight.isOn() ? LockEvent.begun() : null;
    link.lock.lock();
    try {
      boolean isLocal = true;
      if (writer == owner && writing != null) {
        ++writerDepth;
      } else {
        if (readers.has(owner)) {
          throw InterweaveException.of(
              Error.WOULD_DEADLOCK,
              segment.url() + ": the thread holds a reader lock; close it before the writer lock");
        }
        while (writer != null) {
          conversation.check();
          await("another writer of this program", deadline);
        }
        isLocal = begin(owner, deadline);
      }
      if (event != null) event.ended(segment.url(), true, copy.version(), isLocal);
      held(1);
      return new WriteLock(segment, this, writing);
    } finally {
      link.lock.unlock();
    }
  }

  /** Whether the grant had stayed here, so that nobody was asked. */
  private boolean begin(Object owner, long deadline) {
    writer = owner;
    boolean isBegun = false;
    try {
      boolean isKept = conversation.resume(Clock.now());
      if (!isKept) acquireGrant(deadline);
      becomeAlone(deadline);
      try {
        becomeNewest(deadline);
        WriterGrant grant = conversation.grant();
        Changes changes = new Changes(copy, grant.firstSerial(), grant.serialCount());
        writing = new Writing(exchange, changes, segment.objects());
        writerDepth = 1;
        segment.objects().granted(changes);
        isBegun = true;
        return isKept;
      } finally {
        if (!isBegun) leaveAlone();
      }
    } finally {
      if (!isBegun) {
        conversation.writingEnded();
        exchange.carryOut();
        writer = null;
        exchange.changed.signalAll();
      }
    }
  }

  /**
   * Asks for the writer lock. The server refuses it to a session that already has it, perhaps by a
   * late grant. Such a grant is given back when it is read, before this request's answer; the lock
   * is then asked for again.
   */
  private void acquireGrant(long deadline) {
    Question question =
        new Question(ACQUIRE_WRITER, true) {
          @Override
          byte[] body() {
            return AcquireWriter.CODEC.toBytes(
                conversation.writerQuestion(millisecondsUntil(deadline)));
          }
        };
    exchange.carryOut();
    while (true) {
      long late = conversation.lateGrants();
      Call call = exchange.ask(question, deadline + ANSWER, true);
      try {
        Answers.expect(call.answer, WRITER_ACQUIRED, WriterAcquired.CODEC);
        return;
      } catch (InterweaveException wrong) {
        boolean isOwn =
            wrong.code() == Error.WOULD_DEADLOCK && late != conversation.lateGrants();
        if (!isOwn) throw wrong;
      }
    }
  }

  /** Brings the copy to the newest version, on which a writer works [COH-9]. */
  private void becomeNewest(long deadline) {
    applyStaged();
    VersionStamp newest = conversation.grant().newest();
    while (!Freshness.isSame(state().have(), newest)) {
      if (!state().hasCopy() && newest.number() == 0) {
        state().upToDate(newest, Clock.now());
        continue;
      }
      ask(Bound.FULL, true, deadline);
      applyStaged();
    }
  }

  /** Whether the section is the one under way; nested locks of it end by counting. */
  boolean isUnderWay(Writing of) {
    return of == writing;
  }

  /** Gives a nested lock back: true if another lock of the section is left. */
  private boolean leaveNested() {
    if (writerDepth == 1) return false;
    --writerDepth;
    held(-1);
    return true;
  }

  long release(Writing of) {
    link.lock.lock();
    try {
      checkUnderWay(of);
      if (leaveNested()) return copy.version();
      byte[] diff;
      link.lock.unlock();
      try {
        diff = collect(of);
      } finally {
        link.lock.lock();
      }
      boolean isOver = true;
      try {
        long version = of.release(diff, segment.timeoutDeadline());
        if (diff != null) {
          ++releases;
          bytesSent += diff.length;
        }
        return version;
      } catch (InterweaveException wrong) {
        isOver = !of.isStillHeld(wrong);
        throw wrong;
      } finally {
        if (isOver) end(of);
      }
    } finally {
      link.lock.unlock();
    }
  }

  private byte[] collect(Writing of) {
    CollectEvent event = Flight.isOn() ? CollectEvent.begun() : null;
    segment.objects().flush();
    byte[] diff = of.changes.collect();
    if (event != null) {
      event.ended(segment.url(), copy.version(), diff == null ? 0 : diff.length);
    }
    return diff;
  }

  /**
   * Releases the section on another thread. The section belongs to the future from now on: no lock
   * of the calling thread is nested in it, and a close does not end it.
   */
  CompletableFuture<Long> releaseAsync(Writing of) {
    link.lock.lock();
    try {
      if (isUnderWay(of)) {
        if (leaveNested()) return CompletableFuture.completedFuture(copy.version());
        writer = new Object();
      }
    } finally {
      link.lock.unlock();
    }
    boolean isBegun = false;
    try {
      CompletableFuture<Long> version = Waits.beginForSure(() -> releaseOrAbort(of));
      isBegun = !version.isCompletedExceptionally();
      return version;
    } finally {
      // There may be no memory for a future, or no thread.
      if (!isBegun) abort(of);
    }
  }

  /** The section is over afterwards, whatever is thrown. */
  private long releaseOrAbort(Writing of) {
    try {
      return release(of);
    } catch (RuntimeException | java.lang.Error wrong) {
      abort(of);
      throw wrong;
    }
  }

  /** Undoes the changes of the whole section. */
  void abort(Writing of) {
    link.lock.lock();
    try {
      if (!isUnderWay(of)) return;
      try {
        of.abort();
      } finally {
        end(of);
      }
    } finally {
      link.lock.unlock();
    }
  }

  /** The lock is closed without a release: whether changes were undone. */
  boolean closeUnreleased(Writing of) {
    if (!isUnderWay(of)) return false;
    try {
      return segment.objects().haveChanges() || of.changes.areAny();
    } finally {
      abort(of);
    }
  }

  private void checkUnderWay(Writing of) {
    if (isUnderWay(of)) return;
    throw InterweaveException.of(
        Error.NO_LOCK, segment.url() + ": the writer lock was given back");
  }

  private void end(Writing of) {
    segment.objects().granted(null);
    writing = null;
    writer = null;
    held(-writerDepth);
    writerDepth = 0;
    leaveAlone();
  }

  // ---- closing ----

  /** Whether others than the calling thread are inside of locks [OPEN-3]. */
  boolean hasOthers() {
    Thread thread = Thread.currentThread();
    boolean isWritten = writing != null && writer != thread;
    return isWritten || readers.all() > readers.of(thread);
  }

  void awaitOthers(long deadline, boolean isInterruptible) {
    link.lock.lock();
    ++waitingToClose;
    try {
      while (hasOthers()) {
        await("a reader or writer of this program", deadline, isInterruptible);
      }
    } finally {
      --waitingToClose;
      link.lock.unlock();
    }
  }

  /** Ends the locks of the calling thread; other threads have none. */
  void endOnClose() {
    if (writing != null) abort(writing);
    Thread thread = Thread.currentThread();
    while (readers.has(thread)) {
      readers.remove(thread);
      held(-1);
    }
  }
}
