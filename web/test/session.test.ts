/** What needs no server: the state of a copy, freshness, and the hash of numbers in halves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isRecent, recentUntil, type Bound, type Knowledge } from "../src/coherence/freshness.js";
import { CopyState } from "../src/session/copy_state.js";
import { WriterGrant } from "../src/session/writer_grant.js";
import { CoherenceModel } from "../src/wire/protocol/lock.js";

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
  state.notRecent(stamp(0, 1, 99), 6);
  assert.deepEqual(state.newest, stamp(0, 1, 99));
});

test("a connection that is lost takes the server's promise with it", () => {
  const state = new CopyState();
  state.upToDate(stamp(0), 5);
  state.subscribed(full);
  assert.equal(isRecent(full, state.knowledge(9, 1000), 9, 9), true);
  state.connectionLost();
  assert.equal(isRecent(full, state.knowledge(9, 1000), 9, 9), false);
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
