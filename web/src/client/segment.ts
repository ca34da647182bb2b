/**
 * One segment: its copy, its locks among the tasks of this program, its conversation with the
 * server.
 *
 * Any number of readers hold the lock together, or one task holds it alone: the writer, or a task
 * that applies an update [PROC-1, PROC-2]. A reader that finds the copy recent enough gets the lock
 * at once. Tasks do not have an identity in JavaScript. A task that asks for a lock which its own
 * lock excludes therefore waits until the deadline. Nested readers get the lock as long as they
 * need no update [PROC-3].
 */
import {
  confirmedAt,
  FULL,
  isRecent,
  isSameStamp,
  recentUntil,
  type Bound,
  type Knowledge,
} from "../coherence/freshness.js";
import { Changes } from "../diff/changes.js";
import { Copy, type CopiedBlock, type CreatedBlock } from "../diff/copy.js";
import { expect } from "../session/connection.js";
import { InterweaveError } from "../wire/error.js";
import { ErrorCode } from "../wire/protocol/error.js";
import { acquireReader, CoherenceModel, readerAcquired } from "../wire/protocol/lock.js";
import { credit } from "../wire/protocol/notify.js";
import type { Durability, SegmentOpened, VersionStamp } from "../wire/protocol/segment.js";
import { MessageType } from "../wire/protocol/session.js";
import { isSameType, type Type } from "../types/type.js";
import { declaredIn, intern, type Declared, type DeclaredAs } from "../types/declare.js";
import { Block } from "./block.js";
import { now } from "./clock.js";
import { Condition } from "./condition.js";
import type { ConnectionState } from "./connection_news.js";
import { ANSWER_MS, Conversation } from "./conversation.js";
import { inspected, type Inspect } from "./inspect.js";
import type { Link, Live } from "./link.js";
import { ReadLock, WriteLock } from "./locks.js";
import { blockLost } from "./loss.js";
import { freeBlock } from "./ownership.js";
import type { Owners } from "./owners.js";
import { placeOf, type Heap } from "./place.js";
import { Writing } from "./writing.js";

/** The least pause between two looks at a copy that may be old. */
const LEAST_PAUSE_MS = 20;

export interface OpenOptions {
  /** Makes the segment if it does not exist; true unless `readOnly`. */
  create?: boolean;
  readOnly?: boolean;
  durability?: Durability;
  quotaBytes?: number;
  /** The most memory that the copy may take; 1 GiB by default. */
  maxBytes?: number;
  /** How long a call may wait; by default as long as the client's `timeoutMs` says. */
  timeoutMs?: number;
}

export interface LockOptions {
  timeoutMs?: number;
  /** Asks for the newest version whatever the coherence model. */
  fresh?: boolean;
}

export interface SegmentStats {
  diffs: number;
  diffBytes: number;
  /** The number of diffs that were complete copies. */
  fullCopies: number;
  /** The number of reader locks that needed no message. */
  localReads: number;
}

/** Segments that pointers may lead to. */
export interface Neighbours {
  segmentAt(slotText: string): Heap | null;
  readonly serverUrl: string;
  /** The segment is closed, once the promise is kept. */
  forget(segment: Segment, closed: Promise<void>): void;
}

/** The version that a waiting task was given, and the connection on which it looked. */
interface Seen {
  version: VersionStamp | null;
  live: Live | null;
}

/** Whether an error may pass, because a server that is away or stopping may come back. */
function isPassing(error: unknown): boolean {
  const passing: number[] = [ErrorCode.UNREACHABLE, ErrorCode.TIMED_OUT, ErrorCode.STOPPING];
  return error instanceof InterweaveError && passing.includes(error.code);
}

export class Segment implements Heap {
  readonly copy: Copy;
  readonly stats: SegmentStats = { diffs: 0, diffBytes: 0, fullCopies: 0, localReads: 0 };
  /** Versions, seconds or per cent by which the copy may be behind; see `Coherence`. */
  private bound: Bound = FULL;
  private readers = 0;
  private isExclusive = false;
  private isAsking = false;
  /** Whether a task has or wants the writer lock. */
  private hasWriter = false;
  private writing: Writing | null = null;
  private readonly exposed = new Set<CopiedBlock>();
  private readonly changed = new Condition();
  private readonly conversation: Conversation;
  private watchers = 0;
  private readonly timeoutMs: number;

  constructor(
    link: Link,
    owners: Owners,
    readonly path: string,
    private readonly options: OpenOptions,
    private readonly neighbours: Neighbours,
  ) {
    this.copy = new Copy(options.maxBytes ?? 2 ** 30);
    this.timeoutMs = options.timeoutMs ?? 30_000;
    this.conversation = new Conversation(link, owners, path, options, this.stats, () =>
      this.changed.notify(),
    );
  }

  /** Opens the segment at the server. NO_SEGMENT: it does not exist and is not to be made. */
  open(): Promise<SegmentOpened> {
    return this.conversation.open(this.deadline({}));
  }

  /** Closes the segment. Its locks at the server end, and later calls fail. */
  close(): Promise<void> {
    if (this.writing !== null) this.writing.abort();
    const closed = this.conversation.close();
    this.neighbours.forget(this, closed);
    return closed;
  }

  get url(): string {
    return this.neighbours.serverUrl + this.path;
  }

  /** What `console.log` shows in Node. */
  [inspected](_depth: number, options: object, inspect: Inspect): string {
    const { url, version, newestVersion, isConnected } = this;
    const blocks = this.copy.blocks.size;
    return `Segment ${inspect({ url, version, newestVersion, blocks, isConnected }, options)}`;
  }

  /** Whether the segment is closed, removed or lost, so that no lock can be taken any more. */
  get isOver(): boolean {
    return this.conversation.isOver;
  }

  /** Whether the segment is open at a server, as far as is known; see `onConnection`. */
  get isConnected(): boolean {
    return !this.isOver && this.conversation.news.isConnected;
  }

  /** Milliseconds since the segment's server was last heard. */
  get silentForMs(): number {
    return now() - this.conversation.heardAt;
  }

  /** The version of the copy. */
  get version(): number {
    return Number(this.state.have.number);
  }

  /** The newest version heard of. */
  get newestVersion(): number {
    return Number(this.state.newest.number);
  }

  /** Seconds since the copy is known to have been the newest [FRESH-6]; Infinity: it never was. */
  get staleness(): number {
    return Math.max(0, (now() - confirmedAt(this.knowledge())) / 1000);
  }

  /** Whether a task of this program holds the writer lock. */
  get isWriting(): boolean {
    return this.writing !== null;
  }

  get coherence(): Bound {
    return this.bound;
  }

  /** The next lock obeys it [COH-10]. */
  set coherence(bound: Bound) {
    if (!(bound.x >= 0 && bound.x < Infinity)) {
      throw new InterweaveError(
        ErrorCode.BAD_ARGUMENT,
        `a bound of ${bound.x}; it is a number from 0 on`,
      );
    }
    this.bound = bound;
    this.conversation.follow(bound);
    // Tasks that wait for changes may have to look earlier, or at once.
    this.changed.notify();
  }

  private get state() {
    return this.conversation.state;
  }

  private knowledge(): Knowledge {
    const { at, heartbeatMs } = this.conversation.link.heard;
    return this.state.knowledge(at, heartbeatMs);
  }

  private deadline({ timeoutMs }: LockOptions): number {
    return now() + (timeoutMs ?? this.timeoutMs);
  }

  // ---- reading ----

  /** Takes a reader lock, for the time of a function or until it is released. */
  read(options?: LockOptions): Promise<ReadLock>;
  read<T>(body: (lock: ReadLock) => T | Promise<T>, options?: LockOptions): Promise<T>;
  async read<T>(
    first?: LockOptions | ((lock: ReadLock) => T | Promise<T>),
    second?: LockOptions,
  ): Promise<T | ReadLock> {
    if (typeof first !== "function") return this.acquireReader(first ?? {});
    const lock = await this.acquireReader(second ?? {});
    try {
      return await first(lock);
    } finally {
      lock.release();
    }
  }

  private async acquireReader(options: LockOptions): Promise<ReadLock> {
    const [began, deadline] = [now(), this.deadline(options)];
    let isUpdated = false;
    for (;;) {
      this.conversation.check();
      const needsNothing =
        isUpdated ||
        (options.fresh !== true && isRecent(this.bound, this.knowledge(), began, now()));
      if (needsNothing && !this.isExclusive) break;
      if (this.isExclusive || this.isAsking) {
        await this.waitFor("a writer or an update of this program", deadline);
        continue;
      }
      this.isAsking = true;
      try {
        await this.update(options.fresh === true, began, deadline);
      } finally {
        this.isAsking = false;
        this.changed.notify();
      }
      isUpdated = true;
    }
    if (!isUpdated) this.stats.localReads += 1;
    return this.enterReader();
  }

  private enterReader(): ReadLock {
    this.readers += 1;
    const isStrict = this.bound.model === CoherenceModel.STRICT;
    if (isStrict) this.conversation.strictEntered();
    this.state.adaptation.acquired();
    return new ReadLock(this, () => {
      this.readers -= 1;
      if (isStrict) this.conversation.strictLeft();
      this.changed.notify();
    });
  }

  private async waitFor(whom: string, deadline: number): Promise<void> {
    if (await this.changed.wait(deadline)) return;
    throw new InterweaveError(
      ErrorCode.TIMED_OUT,
      `${this.url}: ${whom} was not done before the deadline; a task that waits for a lock while ` +
        "it holds another one waits for itself",
    );
  }

  /** Makes the copy recent enough. Only one task at a time does so. Pushed diffs may suffice. */
  private async update(fresh: boolean, began: number, deadline: number): Promise<void> {
    const isStaged =
      !fresh &&
      this.state.hasStaged &&
      isRecent(this.bound, this.state.withStaged(this.knowledge()), began, now());
    if (!isStaged) {
      await this.ask(this.bound, fresh, deadline);
      this.conversation.watch();
    }
    if (!this.state.hasStaged) return;
    await this.enterExclusive(deadline);
    try {
      this.applyStaged();
    } finally {
      this.leaveExclusive();
    }
  }

  /** Asks the server once. The answer is taken in as it comes. */
  private async ask({ model, x }: Bound, fresh: boolean, deadline: number): Promise<void> {
    if (model === CoherenceModel.STRICT) this.conversation.asksStrict();
    for (;;) {
      let asked = this.state.asked;
      const answer = await this.conversation.ask(
        MessageType.ACQUIRE_READER,
        acquireReader,
        (segment) => {
          asked = this.state.asked;
          const { have } = asked;
          const deadline_ms = Math.max(0, Math.min(deadline - now(), 0x7fffffff)) | 0;
          return { segment, have, model, x, fresh, deadline_ms };
        },
        deadline + ANSWER_MS,
        model === CoherenceModel.STRICT,
      );
      const acquired = expect(answer.message, MessageType.READER_ACQUIRED, readerAcquired);
      this.state.adaptation.asked(!acquired.updated);
      if (this.isExclusive || !this.state.mustAskAgain(acquired, asked)) return;
    }
  }

  private async enterExclusive(deadline: number): Promise<void> {
    while (this.readers > 0 || this.isExclusive) {
      await this.waitFor("a reader or writer of this program", deadline);
    }
    this.isExclusive = true;
  }

  private leaveExclusive(): void {
    this.isExclusive = false;
    this.changed.notify();
  }

  private applyStaged(): void {
    for (let diff = this.state.takeStaged(); diff !== null; diff = this.state.takeStaged()) {
      const isOtherLife = diff.now.incarnation !== this.state.had.incarnation;
      try {
        this.copy.apply(diff.bytes, isOtherLife ? (created) => this.checkKept(created) : undefined);
        if (this.copy.version !== diff.now.number) {
          throw new InterweaveError(
            ErrorCode.MALFORMED,
            `the server announced version ${diff.now.number} and sent ${this.copy.version}`,
          );
        }
      } catch (error) {
        if (this.conversation.loss === null) this.state.forget();
        throw error;
      }
      this.state.applied(diff);
    }
    const bytes = BigInt(this.state.takeCredit());
    if (bytes > 0n)
      this.conversation.tell(MessageType.CREDIT, credit, (segment) => ({ segment, bytes }));
  }

  /** Throws if a complete copy of another incarnation lacks what this program had [LOST-2]. */
  private checkKept(created: ReadonlyMap<number, CreatedBlock>): void {
    const why = blockLost(this.copy, created);
    if (why !== null) this.conversation.lose(why);
    this.conversation.check();
  }

  // ---- writing ----

  /** Takes the writer lock, for the time of a function or until released. A throw aborts. */
  write(options?: LockOptions): Promise<WriteLock>;
  write<T>(body: (lock: WriteLock) => T | Promise<T>, options?: LockOptions): Promise<T>;
  async write<T>(
    first?: LockOptions | ((lock: WriteLock) => T | Promise<T>),
    second?: LockOptions,
  ): Promise<T | WriteLock> {
    if (typeof first !== "function") return this.acquireWriter(first ?? {});
    const lock = await this.acquireWriter(second ?? {});
    try {
      const result = await first(lock);
      await lock.release();
      return result;
    } finally {
      // Also where the store has refused the release: nobody else could give the lock back.
      lock.abandon();
    }
  }

  private async acquireWriter(options: LockOptions): Promise<WriteLock> {
    if (this.options.readOnly === true) {
      throw new InterweaveError(ErrorCode.READ_ONLY, `${this.url} was opened read-only`);
    }
    const deadline = this.deadline(options);
    while (this.hasWriter) await this.waitFor("another writer of this program", deadline);
    this.hasWriter = true;
    try {
      const writing = await this.beginWriting(deadline);
      return new WriteLock(this, {
        release: () => writing.release(this.deadline(options)),
        abort: () => writing.abort(),
        isHeld: () => this.writing === writing,
      });
    } catch (error) {
      this.hasWriter = false;
      this.changed.notify();
      throw error;
    }
  }

  private async beginWriting(deadline: number): Promise<Writing> {
    const grant = await this.conversation.acquireWriter(deadline);
    let isAlone = false;
    try {
      await this.enterExclusive(deadline);
      isAlone = true;
      await this.becomeNewest(deadline);
    } catch (error) {
      if (isAlone) this.leaveExclusive();
      this.conversation.writingEnded();
      throw error;
    }
    for (const block of this.exposed) if (!block.isLive) this.exposed.delete(block);
    const { first_serial, serial_count } = grant.granted;
    const changes = new Changes(this.copy, this.exposed, Number(first_serial), serial_count);
    this.writing = new Writing(this.conversation, changes, grant, () => {
      this.writing = null;
      this.hasWriter = false;
      this.leaveExclusive();
    });
    return this.writing;
  }

  /** Brings the copy to the newest version, on which a writer works [COH-9]. */
  private async becomeNewest(deadline: number): Promise<void> {
    const { granted } = this.conversation;
    this.applyStaged();
    while (granted !== null && !isSameStamp(this.state.have, granted.granted.now)) {
      if (!this.state.hasCopy && granted.granted.now.number === 0n) {
        this.state.upToDate(granted.granted.now, now());
        continue;
      }
      await this.ask(FULL, true, deadline);
      this.applyStaged();
    }
  }

  /** Reserves serials for more new blocks under the held writer lock, which has many already. */
  async reserveBlocks(count: number): Promise<void> {
    const changes = this.changes();
    if (changes.serialsLeft < count) await this.writing?.moreSerials(count, this.deadline({}));
  }

  /** Makes a block, all zeros, of a type of the segment (by name) or of a declared type. */
  allocate<T = unknown>(
    type: DeclaredAs<T> | Type | string,
    options: { count?: number; name?: string } = {},
  ): Block<T> {
    const changes = this.changes();
    const block = changes.allocate(this.typeFor(type), options.count ?? 1, options.name ?? "");
    return new Block<T>(this, block);
  }

  private typeFor(type: Declared | Type | string): Type {
    if (typeof type === "string") {
      const found = this.copy.types.byName(type);
      if (found !== undefined) return found;
      throw new InterweaveError(ErrorCode.UNKNOWN_TYPE, `${this.url} has no type \`${type}\``);
    }
    if ("serial" in type && "descriptor" in type) return type;
    const { serial, descriptors } = intern(this.copy.types, type as Declared);
    this.changes().addTypes(descriptors);
    return this.copy.types.get(serial) as Type;
  }

  /** Frees a block, or the one that a view lies in, with all that it owns. */
  free(view: Block | object): void {
    const changes = this.changes();
    const place = placeOf(view);
    if (place?.heap !== this || !place.block.isLive) {
      throw new InterweaveError(ErrorCode.BAD_ARGUMENT, "that is not a block of this segment");
    }
    freeBlock(this.copy, changes, place.block);
  }

  // ---- blocks ----

  /** Finds a block by name or serial. Throws NO_BLOCK, or TYPE_CONFLICT if it has another type. */
  block<T = unknown>(which: string | number, type?: DeclaredAs<T>): Block<T> {
    this.checkReadable();
    const { names, blocks } = this.copy;
    const found = typeof which === "number" ? blocks.get(which) : names.get(which);
    if (found === undefined)
      throw new InterweaveError(ErrorCode.NO_BLOCK, `${this.url} has no block \`${which}\``);
    if (type !== undefined) this.checkType(found, type);
    return new Block<T>(this, found);
  }

  private checkType({ serial, type: has }: CopiedBlock, type: Declared): void {
    const wanted = declaredIn(this.copy.types, type);
    if (wanted !== undefined && isSameType(wanted, has)) return;
    const name = ("name" in type && type.name) || "type";
    throw new InterweaveError(
      ErrorCode.TYPE_CONFLICT,
      `${this.url}#${serial} is a \`${has.name}\`, not the \`${name}\` that is declared here`,
    );
  }

  /** The value of a block; see `Block.value`. */
  get<T = unknown>(which: string | number, type?: DeclaredAs<T>): T {
    return this.block(which, type).value;
  }

  has(which: string | number): boolean {
    this.checkReadable();
    return typeof which === "number" ? this.copy.blocks.has(which) : this.copy.names.has(which);
  }

  *blocks(): Generator<Block> {
    this.checkReadable();
    for (const block of this.copy.blocks.values()) yield new Block(this, block);
  }

  // ---- changes ----

  /**
   * Gives versions as they come. The copy is at a version when it is given. A slow program misses
   * some. A lost connection is made again [CONN-1], and the newest version is given if it differs
   * from the last one [CONN-2]. Ends when the segment is closed; fails when it is removed or lost.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<number, void, void> {
    this.watchers += 1;
    try {
      const seen: Seen = { version: null, live: null };
      for (;;) {
        seen.version = await this.nextVersion(seen);
        if (seen.version === null) return;
        yield Number(seen.version.number);
      }
    } finally {
      this.watchers -= 1;
      this.conversation.listen(this.watchers > 0);
    }
  }

  /**
   * Calls back when the segment's connection is lost, when the segment is open on another one, and
   * when the segment is lost [CONN-3]. After several changes the call has the last one. Returns a
   * function that ends the calls.
   */
  onConnection(listener: (state: ConnectionState) => void): () => void {
    return this.conversation.news.listen(listener);
  }

  private async nextVersion(seen: Seen): Promise<VersionStamp | null> {
    for (;;) {
      if (this.conversation.isClosed) return null;
      this.conversation.check();
      const { version } = seen;
      const { live } = this.conversation.link;
      // On every new connection the segment asks and subscribes anew.
      const isNews =
        version === null ||
        seen.live !== live ||
        !isSameStamp(this.state.newest, version) ||
        !isSameStamp(this.state.have, version);
      if (isNews && live !== null) {
        try {
          await this.read(() => undefined);
        } catch (error) {
          if (!isPassing(error)) throw error;
          await this.changed.wait(now() + LEAST_PAUSE_MS);
          continue;
        }
        this.conversation.listen(true);
        if (!this.conversation.isElsewhere) seen.live = live;
        if (version === null || !isSameStamp(this.state.have, version)) return this.state.have;
      }
      // The server says once that a copy is behind [NOT-1]. A copy that may be some seconds old is
      // checked again after these seconds.
      const isDue = isNews && this.conversation.link.live !== null;
      const ends = isDue ? recentUntil(this.bound, this.knowledge()) : Infinity;
      await this.changed.wait(Math.max(now() + LEAST_PAUSE_MS, ends));
    }
  }

  // ---- for values ----

  checkReadable(): void {
    // A lost copy does not change any more [LOST-5].
    if (this.readers > 0 || this.writing !== null || this.conversation.loss !== null) return;
    throw new InterweaveError(
      ErrorCode.NO_LOCK,
      `${this.url}: take a lock first: await segment.read(() => ...)`,
    );
  }

  changes(): Changes {
    if (this.writing !== null) return this.writing.changes;
    if (this.conversation.loss !== null) throw this.conversation.loss;
    throw new InterweaveError(
      ErrorCode.NO_LOCK,
      `${this.url}: take the writer lock before storing: await segment.write(() => ...)`,
    );
  }

  expose(block: CopiedBlock): void {
    if (this.options.readOnly === true || this.exposed.has(block)) return;
    this.exposed.add(block);
    this.writing?.changes.touch(block);
  }

  segmentAt(slotText: string): Heap | null {
    return this.neighbours.segmentAt(slotText);
  }

  slotTextFor(reader: Heap): string {
    const server = this.neighbours.serverUrl;
    return reader.url.startsWith(server + "/") ? this.path : this.url;
  }
}
