/** One writer section, from the grant to its release or abort, whatever happens to connections. */
import type { Changes } from "../diff/changes.js";
import { expect, isSameSession, redirectOf, type Answer } from "../session/connection.js";
import type { WriterGrant } from "../session/writer_grant.js";
import { InterweaveError } from "../wire/error.js";
import { ErrorCode } from "../wire/protocol/error.js";
import {
  moreSerials,
  releaseResolved,
  releaseWriter,
  resolveRelease,
  serialsGranted,
  writerReleased,
  type WriterReleased,
} from "../wire/protocol/lock.js";
import type { VersionStamp } from "../wire/protocol/segment.js";
import { MessageType } from "../wire/protocol/session.js";
import { now } from "./clock.js";
import type { Conversation } from "./conversation.js";
import { isAway } from "./owners.js";

const REFUSAL_PAUSE_MS = 10;

/**
 * A server that refuses to talk so does not say what became of a release that was sent. As the
 * answer to the release itself they do. A server that stops may have logged it (STOPPING). All
 * other errors are the server's answer, or say that the segment is gone, or that nobody can know
 * any more (UNREACHABLE).
 */
const REFUSALS: readonly number[] = [
  ErrorCode.MALFORMED,
  ErrorCode.VERSION_MISMATCH,
  ErrorCode.DENIED,
];

/**
 * Errors after which the lock is still held, and the changes with it, if they answer the release.
 * Where another request or a connection is refused so, they do not say what became of a release
 * that was sent before.
 */
const STILL_HELD: readonly number[] = [
  ErrorCode.STORE_FULL,
  ErrorCode.STORE_ALONE,
  ErrorCode.STORE_AWAY,
  ErrorCode.TIMED_OUT,
  ErrorCode.TOO_LARGE,
];

function isOneOf(error: unknown, codes: readonly number[]): boolean {
  return error instanceof InterweaveError && codes.includes(error.code);
}

function unknownOutcome(why: unknown): InterweaveError {
  const reason = why instanceof Error ? why.message : String(why);
  const text =
    `${reason}; the release was sent and may have been committed: the copy will be fetched anew, ` +
    "look there";
  return new InterweaveError(ErrorCode.UNREACHABLE, text);
}

/** [CONN-4] */
function neverSent(why: unknown): unknown {
  if (!isAway(why)) return why;
  const text = `${(why as Error).message}; the release was not sent, and the changes were undone`;
  return new InterweaveError(ErrorCode.ROLLED_BACK, text);
}

export class Writing {
  private isOver = false;
  /** Of the release that is tried, and the session that tries it [LOCK-8]. */
  private sequence = 0n;
  /** It may have reached a server. */
  private wasSent = false;
  /** It was sent, and no server has answered since that it does not take the release. */
  private mayBeCommitted = false;
  #session: Uint8Array = new Uint8Array(16);

  /** `ended` is called once, when the lock is given back. */
  constructor(
    private readonly conversation: Conversation,
    readonly changes: Changes,
    private readonly grant: WriterGrant,
    private readonly ended: () => void,
  ) {}

  private end(): void {
    this.isOver = true;
    if (this.conversation.granted === this.grant) this.conversation.writingEnded();
    this.ended();
  }

  private check(): void {
    if (this.isOver) throw new InterweaveError(ErrorCode.NO_LOCK, "the writer lock was given back");
  }

  abort(): void {
    if (this.isOver) return;
    this.changes.undo();
    this.end();
  }

  /**
   * The version that the changes made; on any error but those of STILL_HELD they are undone.
   */
  async release(deadline: number): Promise<number> {
    this.check();
    const { loss } = this.conversation;
    if (loss !== null) return this.rollBack(loss);
    if (this.grant.isLost) {
      return this.rollBack(
        new InterweaveError(
          ErrorCode.FENCED,
          "the writer lock was lost before its release (its lease or hold time ended, or the " +
            "server was restarted); the changes were undone",
        ),
      );
    }
    const base = this.conversation.state.have;
    const diff = this.changes.collect();
    try {
      const version = await this.send(diff, base, deadline);
      this.changes.commit(diff === null ? base.number : version.number);
      this.end();
      return Number(version.number);
    } catch (error) {
      const code = error instanceof InterweaveError ? error.code : ErrorCode.INTERNAL;
      if (STILL_HELD.includes(code)) throw error;
      // It is not known whether the release was committed: the copy is fetched anew.
      if (code === ErrorCode.UNREACHABLE) this.conversation.state.forget();
      return this.rollBack(error);
    }
  }

  private rollBack(why: unknown): never {
    this.changes.undo();
    this.end();
    throw why;
  }

  /**
   * The answer, over as many connections as it takes. As long as one lives there will be one. What
   * keeps the outcome of a release that was sent from being learnt (a server that stops, say) may
   * pass: it is asked for again until the deadline.
   */
  private async send(
    diff: Uint8Array | null,
    base: VersionStamp,
    deadline: number,
  ): Promise<VersionStamp> {
    for (;;) {
      try {
        const version = await this.trySend(diff, base, deadline);
        if (version !== null) return version;
      } catch (error) {
        if (!this.wasSent) throw neverSent(error);
        if (this.saysOutcome(error)) throw error;
        if (now() >= deadline) throw unknownOutcome(error);
        await new Promise((resolve) => setTimeout(resolve, REFUSAL_PAUSE_MS));
      }
    }
  }

  private saysOutcome(error: unknown): boolean {
    if (isOneOf(error, STILL_HELD) || isOneOf(error, REFUSALS)) return !this.mayBeCommitted;
    return !isOneOf(error, [ErrorCode.STOPPING]);
  }

  /** Null: the connection was lost before the answer came, or another server has the segment. */
  private async trySend(
    diff: Uint8Array | null,
    base: VersionStamp,
    deadline: number,
  ): Promise<VersionStamp | null> {
    const { conversation } = this;
    if (this.sequence === 0n) {
      const { link } = conversation;
      this.sequence = link.nextSequence();
      this.#session = link.session;
      conversation.releasing();
    }
    const { live, number } = await conversation.liveAndOpen(deadline);
    // Another session cannot repeat the release: it can only ask what became of it.
    if (!isSameSession(conversation.link.session, this.#session)) {
      if (this.wasSent) return this.resolve(deadline);
      throw new InterweaveError(
        ErrorCode.ROLLED_BACK,
        "the session ended before the release was sent, and with it the writer lock; the changes " +
          "were undone: take the lock and make them again",
      );
    }
    const part = {
      segment: number,
      fence: this.grant.fence,
      base,
      diff_bytes: BigInt(diff?.length ?? 0),
    };
    let answer: Answer;
    this.wasSent = true;
    this.mayBeCommitted = true;
    try {
      answer = await conversation.callOn(
        live,
        MessageType.RELEASE_WRITER,
        releaseWriter,
        { sequence: this.sequence, parts: [part] },
        diff ?? undefined,
        Infinity,
      );
    } catch (error) {
      if (live.isLost && now() < deadline) return null;
      throw error;
    }
    // The segment's new owner is asked what became of the release.
    if (redirectOf(answer.message) !== null) return null;
    return this.released(answer).versions[0] ?? conversation.state.have;
  }

  /** The answer to the release itself. */
  private released({ message }: Answer): WriterReleased {
    try {
      return expect(message, MessageType.WRITER_RELEASED, writerReleased);
    } catch (error) {
      const isRefused = isOneOf(error, STILL_HELD) || isOneOf(error, REFUSALS);
      if (isRefused) this.mayBeCommitted = false;
      throw error;
    }
  }

  /** [LOCK-9] */
  private async resolve(deadline: number): Promise<VersionStamp> {
    const { sequence } = this;
    const session = this.#session;
    const answer = await this.conversation.ask(
      MessageType.RESOLVE_RELEASE,
      resolveRelease,
      (segment) => ({ segment, session, sequence }),
      deadline,
    );
    const resolved = expect(answer.message, MessageType.RELEASE_RESOLVED, releaseResolved);
    if (!resolved.committed) {
      throw new InterweaveError(
        ErrorCode.ROLLED_BACK,
        "the connection was lost during the release, and the changes were not committed; they " +
          "were undone: take the lock and make them again",
      );
    }
    this.conversation.releasedAs(resolved.version, answer.sentAt);
    return resolved.version;
  }

  async moreSerials(count: number, deadline: number): Promise<void> {
    this.check();
    const answer = await this.conversation.ask(
      MessageType.MORE_SERIALS,
      moreSerials,
      (segment) => ({ segment, fence: this.grant.fence, count }),
      deadline,
    );
    const granted = expect(answer.message, MessageType.SERIALS_GRANTED, serialsGranted);
    this.changes.addSerials(Number(granted.first_serial), granted.serial_count);
  }
}
