/** Segments that move to another server while they are open [SPACE-20, SPACE-23]. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { connect, t, type Segment } from "../src/node.js";
import { findField } from "../src/session/fields.js";
import { FieldKey, movingField } from "../src/wire/protocol/field.js";
import { MessageType } from "../src/wire/protocol/session.js";
import { Clients } from "./clients.js";
import { SpaceServer } from "./space_server.js";

const limits = { timeout: 60_000 };
const clients = new Clients();
const servers: SpaceServer[] = [];

async function server(): Promise<SpaceServer> {
  const made = await SpaceServer.start(1);
  servers.push(made);
  return made;
}

async function client(of: SpaceServer) {
  return clients.add(await connect(of.url, { timeoutMs: 20_000 }));
}

afterEach(async () => {
  await clients.close();
  for (const each of servers.splice(0)) each.kill();
});

/** Waits until the server has heard these messages and no other. */
async function hears(at: SpaceServer, ...names: string[]): Promise<void> {
  for (const name of names) assert.equal(await at.next(), name);
  assert.deepEqual(at.heard, []);
}

test("other segments of the connection are not disturbed [SPACE-23]", limits, async () => {
  const one = await server();
  const two = await server();
  const own = await client(one);
  const moving = await own.open("/moving");
  const staying = await own.open("/staying");
  const states: string[] = [];
  const isLost = new Promise<void>((resolve) =>
    moving.onConnection((state) => {
      states.push(state);
      if (state === "disconnected") resolve();
    }),
  );
  const said = findField(one.hellos[0]?.fields ?? [], FieldKey.FIELD_MOVING, movingField);
  assert.equal(said?.follows_moves, true);
  one.moves("/moving", two);
  assert.equal(await two.next(), "OPEN_SEGMENT");
  (await moving.write()).abort();
  assert.equal(await two.next(), "ACQUIRE_WRITER");
  assert.equal(moving.url, `${one.url}/moving`);
  (await staying.write()).abort();
  assert.equal(one.hellos.length, 1, "the connection stayed");
  assert.deepEqual(one.heard.slice(0, 3), ["OPEN_SEGMENT", "OPEN_SEGMENT", "ACQUIRE_WRITER"]);
  assert.deepEqual(states, [], "no connection was lost");
  assert.ok(moving.isConnected && moving.silentForMs < Infinity);
  two.kill();
  await isLost;
  assert.ok(!moving.isConnected && staying.isConnected && own.isConnected);
});

test("a writer that waits is granted the lock there [SPACE-23]", limits, async () => {
  const one = await server();
  const two = await server();
  const segment = await (await client(one)).open("/x");
  one.later.add(MessageType.ACQUIRE_WRITER);
  const lock = segment.write();
  await hears(one, "OPEN_SEGMENT", "ACQUIRE_WRITER");
  one.moves("/x", two);
  (await lock).abort();
  assert.deepEqual(two.heard.slice(0, 2), ["OPEN_SEGMENT", "ACQUIRE_WRITER"]);
  assert.deepEqual(one.heard, []);
});

test("requests that cross are asked there [SPACE-23]", limits, async () => {
  const one = await server();
  const two = await server();
  const segment = await (await client(one)).open("/x");
  one.movesUnsaid("/x", two);
  await segment.read(() => undefined);
  await hears(one, "OPEN_SEGMENT", "ACQUIRE_READER");
  await hears(two, "OPEN_SEGMENT", "ACQUIRE_READER");
});

/** Reads until the copy is known to be recent, because the server says so. */
async function readLocally(segment: Segment): Promise<void> {
  while (segment.stats.localReads === 0) await segment.read(() => undefined);
}

test("a copy that is not confirmed any more is asked for [SPACE-20, NOT-1]", limits, async () => {
  const one = await server();
  const two = await server();
  const own = await client(one);
  const segment = await own.open("/x");
  await readLocally(segment);
  one.confirmsNoMore();
  await own.open("/answered-after-that");
  const known = segment.stats.localReads;
  await segment.read(() => undefined);
  assert.equal(segment.stats.localReads, known, "the server was asked");
  one.moves("/x", two);
  assert.equal(await two.next(), "OPEN_SEGMENT");
  await segment.read(() => undefined);
  assert.equal(segment.stats.localReads, known, "the new owner was asked");
});

test("answers of the server of before are not taken for those there", limits, async () => {
  const one = await server();
  const two = (await server()).isWritten();
  const own = await client(one);
  const segment = await own.open("/x");
  for (const each of [one, two]) each.later.add(MessageType.SUBSCRIBE);
  for await (const version of segment) {
    assert.equal(version, 0);
    await hears(one, "OPEN_SEGMENT", "ACQUIRE_READER", "SUBSCRIBE");
    one.moves("/x", two);
    await hears(two, "OPEN_SEGMENT", "SUBSCRIBE");
    one.refuse("/x");
    await own.open("/answered-after-that");
    await segment.read(() => undefined);
    await hears(two, "ACQUIRE_READER");
    break;
  }
});

test("the new owner is asked what became of a release [SPACE-23, LOCK-9]", limits, async () => {
  const one = await server();
  const two = await server();
  const segment = await (await client(one)).open("/x");
  const lock = await segment.write();
  segment.allocate(t.int, { name: "n" });
  const version = lock.release();
  await hears(one, "OPEN_SEGMENT", "ACQUIRE_WRITER", "RELEASE_WRITER");
  one.moves("/x", two);
  one.refuse("/x");
  assert.equal(await version, 1);
  await hears(two, "OPEN_SEGMENT", "RESOLVE_RELEASE");
  assert.deepEqual(two.resolved[0]?.session, one.session(1), "that of the server of before");
});
