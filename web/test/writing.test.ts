/** What errors mean for a release, by a conversation without a server [LOCK-8, LOCK-9, LOCK-12]. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { now } from "../src/client/clock.js";
import { Conversation } from "../src/client/conversation.js";
import type { Owners } from "../src/client/owners.js";
import type { Link, Live, Request } from "../src/client/link.js";
import type { SegmentStats } from "../src/client/segment.js";
import { Writing } from "../src/client/writing.js";
import type { Changes } from "../src/diff/changes.js";
import type { Answer } from "../src/session/connection.js";
import { CopyState } from "../src/session/copy_state.js";
import { WriterGrant } from "../src/session/writer_grant.js";
import { InterweaveError } from "../src/wire/error.js";
import { message } from "../src/wire/frames.js";
import { ErrorCode, errorReply } from "../src/wire/protocol/error.js";
import { releaseWriter, writerReleased, type WriterAcquired } from "../src/wire/protocol/lock.js";
import { Durability, segmentOpened } from "../src/wire/protocol/segment.js";
import { MessageType } from "../src/wire/protocol/session.js";
import { fails } from "./clients.js";

const stamp = (number: bigint) => ({ incarnation: 1n, number, chain: number });
const FOREVER = Infinity;

type Code = keyof typeof ErrorCode;

/**
 * One attempt's fate: reaching a server fails, sending fails, the server answers, or the
 * server is reached by another session.
 */
type Attempt = { reach: Code } | { lost: true } | { answer: Code } | { session: number };

function refused(code: Code): Answer {
  const body = { code: ErrorCode[code], text: "a test", fields: [] };
  return { message: message(MessageType.ERROR, 1, errorReply, body), sentAt: 0 };
}

function released(): Answer {
  const body = { versions: [stamp(6n)] };
  return { message: message(MessageType.WRITER_RELEASED, 1, writerReleased, body), sentAt: 0 };
}

/** A writer section whose release has these fates, one after the other. */
class Section {
  undone = 0;
  committed = 0;
  ended = 0;
  forgotten = 0;
  /** How many attempts were left when the release was about to be sent for the first time. */
  readonly begun: number[] = [];
  readonly writing: Writing;
  private readonly live = { isLost: false };
  private readonly link = { session: new Uint8Array(16), nextSequence: () => 1n };

  constructor(private readonly attempts: Attempt[]) {
    const state = new CopyState();
    state.forget = () => void ++this.forgotten;
    const granted = { fence: 3n, lease_ms: 1000, max_hold_ms: 1000 } as WriterAcquired;
    const grant = new WriterGrant(granted, 0, 0);
    const conversation = {
      loss: null,
      granted: grant,
      state,
      link: this.link,
      writingEnded: () => undefined,
      releasing: () => void this.begun.push(this.attempts.length),
      liveAndOpen: () => this.reach(),
      callOn: () => this.call(),
    } as unknown as Conversation;
    const changes = {
      collect: () => new Uint8Array(1),
      commit: () => void ++this.committed,
      undo: () => void ++this.undone,
    } as unknown as Changes;
    this.writing = new Writing(conversation, changes, grant, () => void ++this.ended);
  }

  private async reach(): Promise<{ live: { isLost: boolean }; number: number }> {
    const [attempt] = this.attempts;
    assert.ok(attempt !== undefined, "an attempt that no test asked for");
    this.live.isLost = false;
    if ("reach" in attempt) {
      // The last one repeats until the deadline.
      if (this.attempts.length > 1) this.attempts.shift();
      throw new InterweaveError(ErrorCode[attempt.reach], "a test");
    }
    if ("session" in attempt) {
      this.attempts.shift();
      this.link.session = new Uint8Array(16).fill(attempt.session);
    }
    return { live: this.live, number: 1 };
  }

  private async call(): Promise<Answer> {
    const attempt = this.attempts.shift() as Attempt;
    if ("answer" in attempt) return attempt.answer === "OK" ? released() : refused(attempt.answer);
    this.live.isLost = true;
    throw new InterweaveError(ErrorCode.UNREACHABLE, "a test");
  }

  /** How often it was undone, was committed, gave the lock back, and forgot the copy. */
  get fates(): number[] {
    return [this.undone, this.committed, this.ended, this.forgotten];
  }
}

const HELD = [0, 0, 0, 0];
const ROLLED_BACK = [1, 0, 1, 0];
const COMMITTED = [0, 1, 1, 0];
const UNKNOWN = [1, 0, 1, 1];

/** Errors of an answer to a release, after which the lock is still held. */
const HOLDING: readonly Code[] = [
  "TOO_LARGE",
  "TIMED_OUT",
  "STORE_FULL",
  "STORE_ALONE",
  "STORE_AWAY",
];

test("the lock is held after a release that the server refuses so [LOCK-12]", async () => {
  for (const answer of HOLDING) {
    const section = new Section([{ answer }, { answer: "OK" }]);
    await assert.rejects(section.writing.release(FOREVER), fails(answer));
    assert.deepEqual(section.fates, HELD, answer);
    assert.equal(await section.writing.release(FOREVER), 6);
    assert.deepEqual(section.fates, COMMITTED, answer);
  }
});

test("the lock is held when no server is reached before the release [LOCK-12]", async () => {
  for (const reach of HOLDING) {
    const section = new Section([{ reach }]);
    await assert.rejects(section.writing.release(FOREVER), fails(reach));
    assert.deepEqual(section.fates, HELD, reach);
  }
});

test("a refused connection does not say what became of a release [LOCK-9]", async () => {
  for (const reach of HOLDING) {
    const section = new Section([{ lost: true }, { reach }, { reach }, { answer: "OK" }]);
    assert.equal(await section.writing.release(FOREVER), 6);
    assert.deepEqual(section.fates, COMMITTED, reach);
  }
});

test("a release that is repeated confirms as of its first sending [FRESH-2]", async () => {
  const section = new Section([{ lost: true }, { lost: true }, { answer: "OK" }]);
  assert.equal(await section.writing.release(FOREVER), 6);
  assert.deepEqual(section.begun, [3]);
});

test("answers to a repeated release confirm as of its first sending [FRESH-2]", async () => {
  const late = now() + 9000;
  const link = {
    listeners: new Set(),
    call: (_: Live, { absorb }: Request<unknown>) =>
      absorb?.({ ...released(), sentAt: late }, false),
  } as unknown as Link;
  const stats = {} as SegmentStats;
  const conversation = new Conversation(link, {} as Owners, "/a", {}, stats, () => undefined);
  const { state } = conversation;
  const since = (begun: number) => {
    const { confirmed, newestAsOf } = state.knowledge(-Infinity, 0);
    assert.ok(begun <= confirmed && confirmed < late, `${begun} <= ${confirmed} < ${late}`);
    assert.equal(newestAsOf, confirmed);
  };
  let begun = now();
  conversation.releasing();
  conversation.releasedAs(stamp(5n), late);
  since(begun);
  begun = now();
  conversation.releasing();
  const body = { sequence: 1n, parts: [] };
  const type = MessageType.RELEASE_WRITER;
  await conversation.callOn({} as Live, type, releaseWriter, body, undefined, FOREVER);
  assert.equal(state.have.number, 6n);
  since(begun);
});

test("a server that went back from what was heard says what is newest [COH-11]", async () => {
  const body = {
    segment: 1,
    created: false,
    newest: stamp(2n),
    durable: Durability.SYNCED,
    quota_bytes: 0n,
    block_count: 0n,
    wire_bytes: 0n,
    fields: [],
  };
  const answer = {
    message: message(MessageType.SEGMENT_OPENED, 1, segmentOpened, body),
    sentAt: 0,
  };
  const live = { listeners: new Map(), isLost: false } as unknown as Live;
  const link = {
    listeners: new Set(),
    connected: () => live,
    call: (_: Live, { absorb }: Request<unknown>) => {
      absorb?.(answer, false);
      return answer;
    },
  } as unknown as Link;
  const conversation = new Conversation(
    link,
    {} as Owners,
    "/a",
    {},
    {} as SegmentStats,
    () => undefined,
  );
  const { state } = conversation;
  state.released(stamp(2n), 0);
  state.newestIs(stamp(9n), 0);
  await conversation.open(FOREVER);
  assert.equal(conversation.loss, null);
  assert.equal(state.newest.number, 2n);
});

test("a server that stops leaves open what became of a release [LOCK-9]", async () => {
  const stopped: Attempt = { answer: "STOPPING" };
  const section = new Section([stopped, { reach: "TOO_LARGE" }, { answer: "OK" }]);
  assert.equal(await section.writing.release(FOREVER), 6);
  assert.deepEqual(section.fates, COMMITTED);
});

test("an answer ends the doubt of the attempts before it [LOCK-12]", async () => {
  const answered: Attempt[] = [{ lost: true }, { answer: "TIMED_OUT" }];
  const section = new Section([...answered, { reach: "TOO_LARGE" }]);
  await assert.rejects(section.writing.release(FOREVER), fails("TIMED_OUT"));
  await assert.rejects(section.writing.release(FOREVER), fails("TOO_LARGE"));
  assert.deepEqual(section.fates, HELD);
});

test("other errors roll back a release, sent or not [CONN-4]", async () => {
  const sent = new Section([{ answer: "FENCED" }]);
  await assert.rejects(sent.writing.release(FOREVER), fails("FENCED"));
  assert.deepEqual(sent.fates, ROLLED_BACK);
  for (const reach of ["UNREACHABLE", "STOPPING"] as const) {
    const unsent = new Section([{ reach }]);
    await assert.rejects(unsent.writing.release(FOREVER), fails("ROLLED_BACK"));
    assert.deepEqual(unsent.fates, ROLLED_BACK);
  }
});

test("another session does not send the release of the one before it [CONN-4]", async () => {
  const section = new Section([{ session: 7 }]);
  await assert.rejects(section.writing.release(FOREVER), fails("ROLLED_BACK"));
  assert.deepEqual(section.fates, ROLLED_BACK);
});

test("the copy is fetched anew when nobody knows the outcome [LOCK-9]", async () => {
  for (const reach of [...HOLDING, "UNREACHABLE"] as const) {
    const section = new Section([{ lost: true }, { reach }]);
    await assert.rejects(section.writing.release(now() + 50), fails("UNREACHABLE"));
    assert.deepEqual(section.fates, UNKNOWN, reach);
  }
});
