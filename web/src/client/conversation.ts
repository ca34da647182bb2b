/**
 * The messages between a segment and the server. The conversation opens the segment anew on every
 * connection, takes in answers and notifications in order, renews the writer lock, and subscribes
 * as the bound requires [POLL-1].
 */
import {
  canSubscribe,
  FULL,
  isSameBound,
  isSameStamp,
  promiseFor,
  type Bound,
} from "../coherence/freshness.js";
import { CopyState, NO_VERSION } from "../session/copy_state.js";
import { expect, redirectOf, type Answer } from "../session/connection.js";
import { WriterGrant } from "../session/writer_grant.js";
import { InterweaveError } from "../wire/error.js";
import { decodeBody, type Message } from "../wire/frames.js";
import { ErrorCode, errorReply } from "../wire/protocol/error.js";
import {
  abortWriter,
  acquireWriter,
  CoherenceModel,
  readerAcquired,
  releaseReader,
  renewWriter,
  writerAcquired,
  writerReleased,
  writerRenewed,
  type WriterAcquired,
} from "../wire/protocol/lock.js";
import type { RedirectField } from "../wire/protocol/field.js";
import { segmentMoved } from "../wire/protocol/moving.js";
import {
  notRecent,
  push,
  subscribe,
  subscribed,
  unsubscribe,
  writerLost,
} from "../wire/protocol/notify.js";
import {
  closeSegment,
  Durability,
  openSegment,
  segmentOpened,
  type SegmentOpened,
  type VersionStamp,
} from "../wire/protocol/segment.js";
import { MessageType } from "../wire/protocol/session.js";
import type { Codec } from "../wire/protocol/xdr.js";
import { Cursor } from "../wire/varint.js";
import { now } from "./clock.js";
import { Condition } from "./condition.js";
import { ConnectionNews } from "./connection_news.js";
import type { Link, Listener, Live } from "./link.js";
import { versionLost } from "./loss.js";
import type { Owners } from "./owners.js";
import { Route } from "./route.js";
import type { OpenOptions, SegmentStats } from "./segment.js";

/** How many bytes of diffs the server may send by itself before they are used. */
const PUSH_WINDOW_BYTES = 8 << 20;

/** How long an answer may take in addition to the time that the server was allowed to wait. */
export const ANSWER_MS = 1000;
/** How long a segment may take to be opened anew for its writer. */
const OPENING_MS = 5000;
/** The pause of a segment that no task asks for, after nobody has opened it. */
const SEEKING_MS = 2000;
/** The pause of a segment that was open and is sent on too often. */
const REDIRECTED_MS = 250;

/** The version at which a diff begins, from its head. */
function fromOf(diff: Uint8Array): bigint {
  const cursor = new Cursor(diff);
  cursor.skip(5);
  return cursor.varint64();
}

/** Whether an answer says that the segment was removed. */
function isRemoval(message: Message): boolean {
  if (message.envelope.type !== MessageType.ERROR) return false;
  return decodeBody(message, errorReply).code === ErrorCode.REMOVED;
}

/** The wishes of a SUBSCRIBE. */
interface Watch {
  readonly promise: Bound;
  /** The diffs, too. */
  readonly push: boolean;
}

export class Conversation implements Listener {
  readonly state = new CopyState();
  readonly news = new ConnectionNews();
  granted: WriterGrant | null = null;
  isClosed = false;
  private readonly route: Route;
  private isSeeking = false;
  private readonly seeking = new Condition();
  private isRemoved = false;
  private lostBecause: string | null = null;
  /** The connection on which the segment is open, perhaps lost, and its number there. */
  private live: Live | null = null;
  private number = 0;
  /** When the server that the segment has moved away from was last heard. */
  private heardBefore = -Infinity;
  /** How often the segment has moved to another server while it was open [SPACE-23]. */
  private moves = 0;
  private opening: Promise<SegmentOpened | null> | null = null;
  /** The model that the copy must satisfy, and whether tasks wait for changes. */
  private bound: Bound = FULL;
  private isWatched = false;
  /** The wishes of the last SUBSCRIBE. */
  private asked: Watch = { promise: FULL, push: false };
  private isSubscribing = false;
  /** SUBSCRIBE was sent on this connection, and UNSUBSCRIBE was not sent since. */
  private mayBeWatched = false;
  /** Of a grant that the server may keep for us although no task uses it; 0: none [LOCK-5]. */
  private owedFence = 0n;
  /** ABORT_WRITERs of this connection that are not answered. */
  private aborts = 0;
  private strictReaders = 0;
  /** The Strict lock was asked for, so that the session may have it. */
  private hasAskedStrict = false;
  /** An answer with the Strict lock, or RELEASE_READER, may be lost [LOCK-11]. */
  private owesStrict = false;
  /**
   * Another session than that of the locks has begun. The server is asked first whether it has the
   * segment: a loss says more than a lost lock.
   */
  private hasNewSession = false;
  /** When the last release was first sent. */
  private releaseSince = Infinity;
  /** Grants of the writer lock for which no task waited any more. */
  private lateGrants = 0;

  constructor(
    home: Link,
    owners: Owners,
    private readonly path: string,
    private readonly options: OpenOptions,
    private readonly stats: SegmentStats,
    private readonly changed: () => void,
  ) {
    this.route = new Route(home, owners, path, this);
  }

  /** To the server at which the segment is open, or is asked for now. */
  get link(): Link {
    return this.route.link;
  }

  /** Throws if the segment is closed, removed or lost. */
  check(): void {
    if (this.isClosed) throw new InterweaveError(ErrorCode.NOT_OPEN, `${this.path} was closed`);
    if (this.loss !== null) throw this.loss;
  }

  /** Removed [GONE-1], or the server does not have what this program had of it [LOST-4]. */
  get loss(): InterweaveError | null {
    if (this.isRemoved) {
      return new InterweaveError(
        ErrorCode.REMOVED,
        `${this.path} was removed; open it again to make it anew`,
      );
    }
    if (this.lostBecause === null) return null;
    return new InterweaveError(
      ErrorCode.SEGMENT_LOST,
      `${this.path} was lost: ${this.lostBecause}; open the segment again (what this program had ` +
        "can still be read from the old one, without a lock)",
    );
  }

  /** No lock can be taken any more; another opening gives another segment [LOST-6, GONE-3]. */
  get isOver(): boolean {
    return this.isClosed || this.loss !== null;
  }

  /** Whether there is a connection on which the segment is not open yet. */
  get isElsewhere(): boolean {
    return this.link.live !== null && this.live !== this.link.live;
  }

  /** When the server at which the segment is or was open was last heard. */
  get heardAt(): number {
    return this.live?.connection.heard ?? this.heardBefore;
  }

  /** Over a new connection if one is lost meanwhile: it says why, where a token was revoked. */
  async open(deadline: number): Promise<SegmentOpened> {
    for (;;) {
      const live = await this.route.reach(deadline);
      try {
        const opened = await this.openOn(live, deadline);
        if (opened !== null) return opened;
      } catch (error) {
        await this.repeats(live, error, deadline);
      }
    }
  }

  /** Throws the error of an opening, unless it is to be repeated; some only after a pause. */
  private async repeats(live: Live, error: unknown, deadline: number): Promise<void> {
    if (now() >= deadline) throw this.route.atDeadline(error);
    if (this.route.mayPass(error)) {
      await this.seeking.wait(Math.min(now() + REDIRECTED_MS, deadline));
      return;
    }
    const isRedirected = error instanceof InterweaveError && error.code === ErrorCode.REDIRECTED;
    if (isRedirected || !live.isLost) throw this.route.atDeadline(error);
  }

  /** Null: the server has sent the segment on. */
  private openOn(live: Live, deadline: number): Promise<SegmentOpened | null> {
    this.opening ??= this.openNow(live, deadline).finally(() => (this.opening = null));
    return this.opening;
  }

  private async openNow(live: Live, deadline: number): Promise<SegmentOpened | null> {
    this.route.checkSpace(live);
    const {
      readOnly = false,
      create = !readOnly,
      durability = Durability.SYNCED,
      quotaBytes = 0,
    } = this.options;
    const body = {
      path: this.path,
      // A segment of which this program has a copy is never made anew [LOST-1].
      create: create && this.state.had.number === 0n,
      read_only: readOnly,
      durable: durability,
      quota_bytes: BigInt(quotaBytes),
      fields: [],
    };
    const answer = await this.link.call(live, {
      type: MessageType.OPEN_SEGMENT,
      codec: openSegment,
      body,
      deadline,
      absorb: ({ message }) => this.openCame(live, message),
    });
    this.check();
    const to = redirectOf(answer.message);
    if (to === null) return expect(answer.message, MessageType.SEGMENT_OPENED, segmentOpened);
    this.route.sentOn(live, to);
    return null;
  }

  /** Until the segment is open again, though no task asks for it. */
  private async seek(): Promise<void> {
    if (this.isSeeking) return;
    this.isSeeking = true;
    while (!this.isOver && !this.isOpen) {
      try {
        await this.open(now() + OPENING_MS);
      } catch {
        if (this.isOver) break;
        // A segment that moved was not disconnected before.
        this.news.is("disconnected");
        await this.seeking.wait(now() + SEEKING_MS);
      }
    }
    this.isSeeking = false;
    this.changed();
  }

  private openCame(live: Live, message: Message): void {
    const { had } = this.state;
    if (message.envelope.type === MessageType.ERROR) {
      const isGone = decodeBody(message, errorReply).code === ErrorCode.NO_SEGMENT;
      const why = isGone ? versionLost(had, null) : null;
      if (why !== null) this.lose(why);
    }
    if (message.envelope.type !== MessageType.SEGMENT_OPENED) return;
    const { segment, newest } = decodeBody(message, segmentOpened);
    // Locks of another server's session, or of an earlier one, are not known there.
    if (this.route.opened()) this.hasNewSession = true;
    this.number = segment;
    this.live = live;
    live.listeners.set(segment, this);
    const why = versionLost(had, newest);
    if (why !== null) return this.lose(why);
    if (this.isClosed) return;
    this.state.openedAt(newest);
    if (this.hasNewSession) this.endLocks();
    if (this.owedFence !== 0n) this.giveBack(this.owedFence);
    if (this.owesStrict && this.strictReaders === 0) this.returnStrict();
    this.owesStrict = false;
    this.news.is("connected");
  }

  /** Makes all later locks fail. The server forgets this opening, so that another may follow. */
  lose(why: string): void {
    if (this.lostBecause !== null) return;
    this.lostBecause = why;
    this.granted?.lost(this.granted.fence);
    this.leave();
    this.news.is("lost");
    this.changed();
  }

  /** Ends all messages about the segment. */
  private leave(): void {
    this.route.deafen();
    this.live?.listeners.delete(this.number);
    this.post(MessageType.CLOSE_SEGMENT, closeSegment, (segment) => ({ segment }));
    this.live = null;
    this.route.leave();
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    this.route.deafen();
    this.changed();
    this.seeking.notify();
    // An opening under way is closed after it, because the server must hear open first [OPEN-2].
    if (this.opening !== null) await this.opening.catch(() => undefined);
    this.leave();
  }

  // ---- asking ----

  /** Sends and waits, over a new connection if one is lost, until the deadline. */
  async ask<T>(
    type: MessageType,
    codec: Codec<T>,
    body: (number: number) => T,
    deadline: number,
    waitsForOthers = false,
  ): Promise<Answer> {
    for (;;) {
      const { live, number } = await this.liveAndOpen(deadline);
      try {
        const answer = await this.callOn(
          live,
          type,
          codec,
          body(number),
          undefined,
          deadline,
          waitsForOthers,
        );
        // Otherwise another server has the segment now, which is asked next.
        if (redirectOf(answer.message) === null) return answer;
      } catch (error) {
        if (!live.isLost || !(error instanceof InterweaveError) || now() >= deadline) throw error;
      }
    }
  }

  /** Gives a connection on which the segment is open, for messages that must not be repeated. */
  async liveAndOpen(deadline: number): Promise<{ live: Live; number: number }> {
    for (;;) {
      this.check();
      const live = await this.route.reach(deadline);
      try {
        if (this.live !== live) await this.openOn(live, deadline);
        if (this.live === live) return { live, number: this.number };
      } catch (error) {
        await this.repeats(live, error, deadline);
      }
    }
  }

  callOn<T>(
    live: Live,
    type: MessageType,
    codec: Codec<T>,
    body: T,
    bulk: Uint8Array | undefined,
    deadline: number,
    waitsForOthers = false,
  ): Promise<Answer> {
    const { moves } = this;
    return this.link.call(live, {
      type,
      codec,
      body,
      deadline,
      waitsForOthers,
      ...(bulk === undefined ? {} : { bulk }),
      absorb: (answer, isLate) => {
        if (moves === this.moves) this.answered(type, answer, isLate);
      },
      begins: (first) => {
        if (moves === this.moves) this.begins(first);
      },
    });
  }

  /** Sends a request if the segment is open. No task waits for the answer. */
  post<T>(type: MessageType, codec: Codec<T>, body: (number: number) => T): void {
    const { live } = this;
    if (live === null || live.isLost) return;
    this.callOn(live, type, codec, body(this.number), undefined, Infinity).catch(() => undefined);
  }

  /** Sends a message that has no answer. */
  tell<T>(type: MessageType, codec: Codec<T>, body: (number: number) => T): void {
    this.live?.tell(type, codec, body(this.number));
  }

  /**
   * Asks for the writer lock. The server refuses it to a session that already has it, perhaps by a
   * grant for which no task waited any more. Such a grant is given back when it is read, before
   * this request's answer; the lock is then asked for again.
   */
  async acquireWriter(deadline: number): Promise<WriterGrant> {
    for (;;) {
      const lateBefore = this.lateGrants;
      const { message } = await this.ask(
        MessageType.ACQUIRE_WRITER,
        acquireWriter,
        (segment) => ({
          segment,
          have: this.state.willReach,
          deadline_ms: Math.max(0, Math.min(deadline - now(), 0x7fffffff)) | 0,
        }),
        deadline + ANSWER_MS,
        true,
      );
      try {
        expect(message, MessageType.WRITER_ACQUIRED, writerAcquired);
        return this.granted as WriterGrant;
      } catch (error) {
        const isRefused =
          error instanceof InterweaveError && error.code === ErrorCode.WOULD_DEADLOCK;
        if (!isRefused || this.lateGrants === lateBefore) throw error;
      }
    }
  }

  /** The section is over: its grant was ended by a release, or is given back. */
  writingEnded(): void {
    const ended = this.granted;
    this.granted = null;
    if (ended !== null && ended.isOwed) this.giveBack(ended.fence);
  }

  private giveBack(fence: bigint): void {
    this.owedFence = fence;
    if (this.isOpen) this.aborts += 1;
    this.post(MessageType.ABORT_WRITER, abortWriter, (segment) => ({ segment, fence }));
  }

  private abortEnded(): void {
    if (this.aborts > 0 && --this.aborts === 0) this.owedFence = 0n;
  }

  /** A reader lock under Strict is about to be asked for. */
  asksStrict(): void {
    this.hasAskedStrict = true;
  }

  strictEntered(): void {
    this.strictReaders += 1;
  }

  strictLeft(): void {
    if (--this.strictReaders === 0) this.returnStrict();
  }

  private returnStrict(): void {
    this.post(MessageType.RELEASE_READER, releaseReader, (segment) => ({ segment }));
  }

  /**
   * A release is about to be sent for the first time. Answers to later attempts confirm the version
   * as of now: others may have written since it was committed [FRESH-2].
   */
  releasing(): void {
    this.releaseSince = now();
  }

  releasedAs(version: VersionStamp, sentAt: number): void {
    this.state.released(version, Math.min(sentAt, this.releaseSince));
    this.granted?.settled();
  }

  // ---- hearing ----

  /** The first frame of a message that is taken in when the rest is here. */
  private begins(first: Message): void {
    const { type, stream } = first.envelope;
    if (type === MessageType.PUSH) {
      const { from, now: version } = decodeBody(first, push);
      this.state.begins({ stream, from, now: version });
    } else if (type === MessageType.READER_ACQUIRED) {
      this.state.begins({ stream, from: null, now: decodeBody(first, readerAcquired).now });
    } else if (type === MessageType.WRITER_ACQUIRED) {
      this.state.begins({ stream, from: null, now: decodeBody(first, writerAcquired).now });
    }
  }

  private answered(type: MessageType, answer: Answer, isLate: boolean): void {
    const { message, sentAt } = answer;
    const { type: found, stream } = message.envelope;
    const to = redirectOf(message);
    if (to !== null) return this.moved(to);
    this.state.ends(stream);
    if (isRemoval(message)) this.removed();
    if (type === MessageType.ACQUIRE_READER && found === MessageType.READER_ACQUIRED) {
      const { now: version, updated } = decodeBody(message, readerAcquired);
      this.diffCame(message, version, updated, sentAt);
      // A Strict lock may have come with it, which costs a message to give back.
      if (isLate && this.hasAskedStrict && this.strictReaders === 0) this.returnStrict();
    } else if (type === MessageType.ACQUIRE_WRITER && found === MessageType.WRITER_ACQUIRED) {
      this.grantCame(decodeBody(message, writerAcquired), answer, isLate);
    } else if (type === MessageType.RENEW_WRITER && this.granted !== null) {
      if (found !== MessageType.WRITER_RENEWED) this.granted.renewalRefused();
      else this.granted.renewed(decodeBody(message, writerRenewed).lease_ms, sentAt);
    } else if (type === MessageType.RELEASE_WRITER && found === MessageType.WRITER_RELEASED) {
      const version = decodeBody(message, writerReleased).versions[0];
      if (version !== undefined) this.releasedAs(version, sentAt);
    } else if (type === MessageType.ABORT_WRITER) {
      this.abortEnded();
    } else if (type === MessageType.SUBSCRIBE) {
      this.subscribed(message, sentAt);
    }
    this.changed();
  }

  private subscribed(message: Message, sentAt: number): void {
    if (!this.isSubscribing) return;
    this.isSubscribing = false;
    if (message.envelope.type === MessageType.SUBSCRIBED) {
      this.state.subscribed(this.asked.promise, decodeBody(message, subscribed).now, sentAt);
    }
    // The model may have changed meanwhile. A refused request is not repeated at once.
    this.followBound();
  }

  private diffCame(
    message: Message,
    version: VersionStamp,
    updated: boolean,
    asOf: number,
    wasPushed = false,
  ): void {
    if (!updated) return this.state.upToDate(version, asOf);
    const from = this.state.baseOfUpdate(fromOf(message.bulk), version.incarnation);
    this.stats.diffs += 1;
    this.stats.diffBytes += message.bulk.length;
    if (from.number === 0n) this.stats.fullCopies += 1;
    this.state.stage({ from, now: version, bytes: message.bulk, wasPushed, asOf });
  }

  private grantCame(granted: WriterAcquired, { message, sentAt }: Answer, isLate: boolean): void {
    this.diffCame(message, granted.now, granted.updated, sentAt);
    if (isLate) {
      this.lateGrants += 1;
      this.giveBack(granted.fence);
    } else {
      this.owedFence = 0n; // There is one holder at a time: an earlier grant has ended.
      this.granted = new WriterGrant(granted, sentAt, now());
    }
  }

  notified(message: Message): void {
    if (message.part === "first") return this.begins(message);
    this.state.ends(message.envelope.stream);
    switch (message.envelope.type) {
      case MessageType.PUSH: {
        const pushed = decodeBody(message, push);
        this.state.adaptation.notified();
        this.diffCame(message, pushed.now, true, this.state.asOfNotified(pushed.now), true);
        this.followBound();
        break;
      }
      case MessageType.NOT_RECENT:
        this.state.adaptation.notified();
        this.state.notRecent(decodeBody(message, notRecent).now);
        this.followBound();
        break;
      case MessageType.WRITER_LOST:
        this.granted?.lost(decodeBody(message, writerLost).fence);
        break;
      case MessageType.SEGMENT_GONE:
        this.removed();
        break;
      case MessageType.SEGMENT_MOVED:
        return this.moved({ ...decodeBody(message, segmentMoved), relay: true });
      default:
        return;
    }
    this.changed();
  }

  private removed(): void {
    this.isRemoved = true;
    this.granted?.lost(this.granted.fence);
  }

  connectionLost(): void {
    this.openingEnded();
    this.news.is("disconnected");
    this.changed();
    if (this.route.hasOwner) void this.seek();
  }

  /** The messages of the present connection are void. */
  private openingEnded(): void {
    this.state.connectionLost();
    this.granted?.connectionLost();
    this.isSubscribing = this.mayBeWatched = false;
    this.aborts = 0;
    if (this.hasAskedStrict) this.owesStrict = true;
  }

  /**
   * Another server has the segment now, where it is opened as after a lost connection. The server
   * of before tells that by SEGMENT_MOVED, and by its answers to requests that waited or crossed
   * SEGMENT_MOVED [SPACE-23]. The first of these messages counts.
   */
  private moved(to: RedirectField): void {
    const { live } = this;
    if (live === null || live.isLost) return;
    live.listeners.delete(this.number);
    this.heardBefore = live.connection.heard;
    this.live = null;
    this.moves += 1;
    this.openingEnded();
    // Locks of this server's session are not known there [SPACE-16].
    this.hasNewSession = true;
    try {
      this.route.sentOn(live, to);
    } catch {
      // The server of the URL is asked next.
    }
    this.changed();
    void this.seek();
  }

  /** The locks of a session end with it. */
  private endLocks(): void {
    this.granted?.lost(this.granted.fence);
    this.owedFence = 0n;
    this.owesStrict = false;
    this.hasNewSession = false;
  }

  tick(time: number): void {
    const { granted } = this;
    if (this.isWatched) this.watch();
    if (granted !== null && this.isOpen && granted.renewalDue <= time) {
      granted.renewalSent();
      const { fence } = granted;
      this.post(MessageType.RENEW_WRITER, renewWriter, (segment) => ({ segment, fence }));
    }
    // The writer has to renew its lock.
    if (granted !== null) this.reopen(time);
  }

  /** Opens the segment at once, because a program without a lock must also learn of a loss. */
  connectionMade(time: number): void {
    this.reopen(time);
  }

  private reopen(time: number): void {
    if (!this.isElsewhere) return;
    this.open(time + OPENING_MS)
      .catch(() => undefined)
      // Tasks that wait for changes must look again.
      .finally(() => this.changed());
  }

  // ---- subscriptions ----

  private get isOpen(): boolean {
    return this.live !== null && !this.live.isLost;
  }

  /** Tasks wait for changes, or do not any more. */
  listen(isWatched: boolean): void {
    this.isWatched = isWatched;
    this.watch();
    this.followBound();
  }

  /** The copy must be as recent as that from now on. */
  follow(bound: Bound): void {
    this.bound = bound;
    this.followBound();
  }

  /** Subscribes if there should be a subscription: after a question, or while tasks wait. */
  watch(): void {
    if (this.lacksSubscription) this.subscribe();
  }

  /** A subscription that is there must be the wanted one, or end. */
  private followBound(): void {
    if (this.isSubscriptionUnwanted) {
      this.mayBeWatched = false;
      this.state.unsubscribed();
      this.post(MessageType.UNSUBSCRIBE, unsubscribe, (segment) => ({ segment }));
    } else if (this.state.subscription !== null) {
      this.watch();
    }
  }

  /**
   * Under other models the server would send diffs that readers never use. The first acquire asks
   * for the first copy: pushed, too, it would come twice.
   */
  private get wanted(): Watch {
    const { model } = this.bound;
    const usesAll = model === CoherenceModel.FULL || model === CoherenceModel.DELTA;
    const hasSome = !isSameStamp(this.state.reach, NO_VERSION);
    return { promise: promiseFor(this.bound), push: hasSome && usesAll };
  }

  private get isWorthIt(): boolean {
    return this.state.adaptation.wantsSubscription && canSubscribe(this.bound);
  }

  private get lacksSubscription(): boolean {
    if (!this.isOpen || this.isSubscribing || !(this.isWatched || this.isWorthIt)) return false;
    const { promise, push } = this.wanted;
    return !isSameBound(this.state.subscription, promise) || (push && !this.asked.push);
  }

  private get isSubscriptionUnwanted(): boolean {
    const isSettled = this.mayBeWatched && !this.isSubscribing;
    return this.isOpen && isSettled && !this.isWatched && !this.isWorthIt;
  }

  private subscribe(): void {
    this.isSubscribing = this.mayBeWatched = true;
    // The old promise ends now, because the server may act on the new one before we hear of it.
    this.state.unsubscribed();
    this.asked = this.wanted;
    const { promise, push } = this.asked;
    this.post(MessageType.SUBSCRIBE, subscribe, (segment) => ({
      segment,
      have: this.state.reach,
      model: promise.model,
      x: promise.x,
      push,
      push_bytes: BigInt(push ? PUSH_WINDOW_BYTES : 0),
    }));
  }
}
