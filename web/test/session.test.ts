/** What needs no server: the state of a copy, freshness, and the hash of numbers in halves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { isRecent, recentUntil, type Bound, type Knowledge } from "../src/coherence/freshness.js";
import { Connection, type Answer } from "../src/session/connection.js";
import { CopyState } from "../src/session/copy_state.js";
import { WriterGrant } from "../src/session/writer_grant.js";
import { framesOf, message, type Message } from "../src/wire/frames.js";
import { CoherenceModel } from "../src/wire/protocol/lock.js";
import { MAX_CHUNK_BYTES, MessageType, welcome } from "../src/wire/protocol/session.js";

const stamp = (number: number, incarnation = 1, chain = number * 7) => ({
  incarnation: BigInt(incarnation),
  number: BigInt(number),
  chain: BigInt(chain),
});
const bytes = new Uint8Array(10);

function known(change: Partial<Knowledge>): Knowledge {
  return {
    hasCopy: true,
    copy: stamp(5),
    newest: stamp(5),
    newestAsOf: -Infinity,
    confirmed: 0,
    promise: null,
    heard: -Infinity,
    heartbeatMs: 1000,
    ...change,
  };
}

const full: Bound = { model: CoherenceModel.FULL, x: 0 };
const delta = (x: number): Bound => ({ model: CoherenceModel.DELTA, x });

test("without a copy nothing is recent enough but by asking", () => {
  for (const model of Object.values(CoherenceModel)) {
    assert.equal(isRecent({ model, x: 1e9 }, known({ hasCopy: false }), 0, 0), false);
  }
});

test("Full holds by an answer in the acquire, or a heard promise [COH-1] [FRESH-3]", () => {
  assert.equal(isRecent(full, known({}), 100, 101), false);
  assert.equal(isRecent(full, known({ newestAsOf: 100 }), 100, 101), true);
  const watched = known({ promise: full, heard: 5000 });
  assert.equal(isRecent(full, watched, 7000, 7000), true);
  assert.equal(isRecent(full, watched, 7001, 7001), false);
  assert.equal(isRecent(full, { ...watched, newest: stamp(6) }, 5000, 5000), false);
});

test("Delta bears so many versions, of the same incarnation [COH-4] [COH-7]", () => {
  const behind = known({ newest: stamp(7), newestAsOf: 10 });
  assert.equal(isRecent(delta(2), behind, 10, 10), true);
  assert.equal(isRecent(delta(1), behind, 10, 10), false);
  assert.equal(isRecent(delta(9), known({ newest: stamp(6, 2), newestAsOf: 10 }), 10, 10), false);
  assert.equal(isRecent(delta(3), known({ promise: delta(2), heard: 10 }), 11, 11), true);
  assert.equal(isRecent(delta(1), known({ promise: delta(2), heard: 10 }), 11, 11), false);
});

test("Temporal counts from the last confirmation; Strict asks [COH-5] [FRESH-4]", () => {
  const temporal = { model: CoherenceModel.TEMPORAL, x: 2 };
  assert.equal(isRecent(temporal, known({ confirmed: 1000 }), 3000, 3000), true);
  assert.equal(isRecent(temporal, known({ confirmed: 1000 }), 3001, 3001), false);
  assert.equal(recentUntil(temporal, known({ confirmed: 1000 })), 3000);
  assert.equal(recentUntil(full, known({ confirmed: 1000 })), Infinity);
  const strict = { model: CoherenceModel.STRICT, x: 0 };
  assert.equal(
    isRecent(strict, known({ newestAsOf: 10, promise: full, heard: 10 }), 10, 10),
    false,
  );
});

test("diffs wait in order, and a stray diff is dropped and credited [NOT-4]", () => {
  const state = new CopyState();
  const stage = (from: number, now: number, wasPushed = false) =>
    state.stage({ from: stamp(from), now: stamp(now), bytes, wasPushed, asOf: 1 });
  stage(0, 3);
  stage(3, 4, true);
  stage(6, 7, true);
  assert.deepEqual(state.reach, stamp(4));
  assert.equal(state.takeCredit(), 10);
  const first = state.takeStaged();
  assert.deepEqual(first?.now, stamp(3));
  state.applied(first as never);
  state.applied(state.takeStaged() as never);
  assert.deepEqual(state.have, stamp(4));
  assert.equal(state.takeCredit(), 10);
  assert.equal(state.takeStaged(), null);
  assert.deepEqual(state.newest, stamp(7));
});

test("another history replaces the copy, whatever its number [COH-11]", () => {
  for (const number of [2, 3, 4]) {
    const state = new CopyState();
    const stage = (now: ReturnType<typeof stamp>) =>
      state.stage({ from: stamp(0), now, bytes, wasPushed: false, asOf: 1 });
    stage(stamp(3));
    state.applied(state.takeStaged() as never);
    const other = stamp(number, 1, 99);
    stage(other);
    assert.deepEqual(state.reach, other);
    assert.deepEqual(state.newest, other);
    state.applied(state.takeStaged() as never);
    assert.deepEqual(state.have, other);
  }
});

test("the same number with another chain is not the same version [COH-11]", () => {
  const forked = known({ newest: stamp(5, 1, 99), newestAsOf: 10 });
  assert.equal(isRecent(full, forked, 10, 10), false);
  assert.equal(isRecent(delta(9), forked, 10, 10), false);
  const state = new CopyState();
  state.upToDate(stamp(0), 5);
  state.notRecent(stamp(0, 1, 99));
  assert.deepEqual(state.newest, stamp(0, 1, 99));
});

test("a connection that is lost takes the server's promise with it", () => {
  const state = new CopyState();
  state.upToDate(stamp(0), 5);
  state.subscribed(full, stamp(0), 5);
  assert.equal(isRecent(full, state.knowledge(9, 1000), 9, 9), true);
  state.connectionLost();
  assert.equal(isRecent(full, state.knowledge(9, 1000), 9, 9), false);
});

function copyAt(version: number): CopyState {
  const state = new CopyState();
  state.stage({ from: stamp(0), now: stamp(version), bytes, wasPushed: false, asOf: 1 });
  state.applied(state.takeStaged() as never);
  return state;
}

function push(state: CopyState, from: number, to: number): void {
  const now = stamp(to);
  state.stage({ from: stamp(from), now, bytes, wasPushed: true, asOf: state.asOfNotified(now) });
}

test("a notification confirms as of what was heard of before [FRESH-2]", () => {
  const state = copyAt(3);
  state.subscribed(full, stamp(3), 5000);
  push(state, 3, 4);
  state.applied(state.takeStaged() as never);
  assert.equal(state.knowledge(0, 0).confirmed, 5000);
  assert.equal(state.asOfNotified(stamp(3)), -Infinity);
});

test("the promise is about the diffs that wait, and not about the copy [FRESH-3]", () => {
  const state = copyAt(3);
  const bound = { model: CoherenceModel.DIFF, x: 2 };
  state.subscribed(bound, stamp(3), 0);
  push(state, 3, 4);
  assert.equal(state.knowledge(0, 0).promise, null);
  assert.equal(state.withStaged(state.knowledge(0, 0)).promise, bound);
  state.applied(state.takeStaged() as never);
  assert.equal(state.knowledge(0, 0).promise, bound);
});

test("SUBSCRIBED does not mend a diff that was dropped [FRESH-3]", () => {
  const state = copyAt(3);
  push(state, 4, 5);
  state.subscribed(full, stamp(5), 0);
  assert.equal(state.knowledge(0, 0).promise, null);
  state.unsubscribed();
  state.subscribed(full, stamp(5), 0);
  assert.equal(state.knowledge(0, 0).promise, full);
});

test("SUBSCRIBED promises no units of an older copy until more is heard [NOT-5]", () => {
  for (const model of [CoherenceModel.DIFF, CoherenceModel.DELTA]) {
    const state = copyAt(3);
    state.subscribed({ model, x: 2 }, stamp(4), 0);
    assert.equal(state.knowledge(0, 0).promise !== null, model === CoherenceModel.DELTA);
    state.upToDate(stamp(4), 0);
    assert.notEqual(state.knowledge(0, 0).promise, null);
  }
});

test("while a diff is coming nothing is promised [NOT-6]", () => {
  for (const from of [stamp(3), null]) {
    const state = copyAt(3);
    state.subscribed(delta(2), stamp(3), 0);
    state.begins({ stream: 9, from, now: stamp(4) });
    state.ends(8);
    state.upToDate(stamp(3), 0);
    assert.equal(state.knowledge(0, 0).promise, null);
    assert.deepEqual(state.willReach, from === null ? stamp(3) : stamp(4));
    state.ends(9);
    push(state, 3, 4);
    state.applied(state.takeStaged() as never);
    assert.notEqual(state.knowledge(0, 0).promise, null);
    state.begins({ stream: 9, from, now: stamp(5) });
    assert.deepEqual(state.willReach, stamp(4));
    state.connectionLost();
    state.subscribed(delta(2), stamp(4), 0);
    assert.notEqual(state.knowledge(0, 0).promise, null);
  }
});

test("an answer about a version that was dropped is asked for again [COH-1]", () => {
  const state = copyAt(3);
  const isRecent = { now: stamp(4), updated: false };
  const { asked } = state;
  assert.equal(state.mustAskAgain(isRecent, asked), false);
  assert.equal(state.mustAskAgain(isRecent, { ...asked, have: stamp(4) }), true);
  assert.equal(state.mustAskAgain({ ...isRecent, updated: true }, asked), true);
  state.forget();
  assert.equal(state.mustAskAgain(isRecent, asked), true);
});

// A push crosses the question: the server makes its next diff from the version that was named. It
// counts that diff as applied, and answers without one.
test("an answer that counts on a dropped diff is asked for again [FRESH-2]", () => {
  const state = copyAt(3);
  const isRecent = { now: stamp(5), updated: false };
  const { asked } = state;
  push(state, 3, 4);
  assert.equal(state.mustAskAgain(isRecent, asked), false, "it is recent enough");
  push(state, 3, 5);
  assert.deepEqual(state.reach, stamp(4));
  assert.equal(state.mustAskAgain(isRecent, asked), true);
  assert.equal(state.mustAskAgain(isRecent, state.asked), false, "the server knows what is here");
  push(state, 4, 5);
  assert.equal(state.mustAskAgain(isRecent, asked), false);
});

// No program has seen version 5. If one saw it now, its copy would go back afterwards.
test("diffs beyond a server that lost versions are dropped [COH-11]", () => {
  const otherHistory = { ...stamp(5), chain: stamp(5).chain + 1n };
  const otherLife = { ...stamp(9), incarnation: stamp(9).incarnation + 1n };
  for (const newest of [stamp(3), stamp(4), otherHistory, otherLife, stamp(5), stamp(6)]) {
    const state = copyAt(3);
    push(state, 3, 4);
    push(state, 4, 5);
    state.connectionLost();
    state.openedAt(newest);
    const isKept = isDeepStrictEqual(newest, stamp(5)) || isDeepStrictEqual(newest, stamp(6));
    assert.deepEqual(state.reach, stamp(isKept ? 5 : 3));
    assert.equal(state.hasStaged, isKept);
    assert.deepEqual(state.newest, newest);
  }
});

const NOTIFICATION = 0x80000001;
const SECOND_FRAME_BYTES = 24 + 1;
const framed = (whole: Message) => Buffer.concat([...framesOf(whole)]);
const large = (type: MessageType, stream: number) =>
  framed(message(type, stream, null, null, new Uint8Array(MAX_CHUNK_BYTES + 1)));

/** A connection that was welcomed, and all that is told of it since. */
function connected(): { connection: Connection; heard: string[] } {
  const heard: string[] = [];
  const told = ({ envelope, part }: Message) => void heard.push(`${envelope.type} ${part}`);
  const connection = new Connection(0, told);
  const session = new Uint8Array(16);
  const identity = { session, token: "", client: "", origin: {} };
  const welcomed = (answer: Answer) => void connection.welcomed(answer);
  const { stream } = connection.hello(identity, undefined, 0, welcomed).envelope;
  const body = {
    version: 2,
    session,
    resumed: false,
    heartbeat_ms: 1000,
    session_lease_ms: 9000,
    max_diff_bytes: 1n << 20n,
    server: "",
    fields: [],
  };
  connection.receive(framed(message(MessageType.WELCOME, stream, welcome, body)), 0);
  return { connection, heard };
}

test("a message is heard when its first frame has come [FRESH-3]", () => {
  const { connection, heard } = connected();
  const answered = () => void heard.push("answered");
  const begins = () => void heard.push("begins");
  const ask = [MessageType.ACQUIRE_READER, null, null, undefined, 5] as const;
  const { stream } = connection.request(...ask, answered, begins);
  const all = large(MessageType.READER_ACQUIRED, stream);
  const first = all.length - SECOND_FRAME_BYTES;
  connection.receive(all.subarray(0, first - 1), 1000);
  assert.equal(connection.heard, 0);
  assert.deepEqual(heard, []);
  connection.receive(all.subarray(first - 1, first), 2000);
  assert.equal(connection.heard, 2000);
  assert.deepEqual(heard, ["begins"]);
  assert.equal(connection.isSilent(8000), true);
  connection.receive(all.subarray(first), 7000);
  assert.equal(connection.heard, 2000);
  assert.equal(connection.isSilent(8000), false);
  assert.deepEqual(heard, ["begins", "answered"]);
});

test("a push is told of before what comes between its frames [NOT-6]", () => {
  const { connection, heard } = connected();
  const all = large(MessageType.PUSH, NOTIFICATION);
  const first = all.length - SECOND_FRAME_BYTES;
  const heartbeat = framed(message(MessageType.HEARTBEAT, NOTIFICATION + 1, null, null));
  connection.receive(Buffer.concat([all.subarray(0, first), heartbeat, all.subarray(first)]), 0);
  const { PUSH, HEARTBEAT } = MessageType;
  assert.deepEqual(heard, [`${PUSH} first`, `${HEARTBEAT} whole`, `${PUSH} rest`]);
});

test("a lock is renewed at a third of its lease, and not beyond its longest hold [LOCK-3]", () => {
  const granted = {
    now: stamp(1),
    updated: false,
    fence: 9n,
    lease_ms: 3000,
    max_hold_ms: 5000,
    first_serial: 1n,
    serial_count: 1,
  };
  const grant = new WriterGrant(granted, 100, 150);
  assert.equal(grant.renewalDue, 1100);
  grant.renewalSent();
  assert.equal(grant.renewalDue, Infinity);
  grant.renewed(3000, 4000);
  assert.equal(grant.renewalDue, 5000);
  grant.renewed(3000, 4200);
  assert.equal(grant.renewalDue, Infinity);
  grant.lost(8n);
  assert.equal(grant.isLost, false);
  grant.lost(9n);
  assert.equal(grant.isLost, true);
});
