/** Owners that the client cannot reach: a server passes it on [SPACE-48, SPACE-49]. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { connectBy, type Client } from "../src/client/client.js";
import { dialNode } from "../src/client/tcp.js";
import { dialWebSocket, unreachable, type Dial } from "../src/client/transport.js";
import { ErrorCode } from "../src/wire/protocol/error.js";
import { Clients, fails } from "./clients.js";
import { SpaceServer } from "./space_server.js";

const limits = { timeout: 60_000 };
const clients = new Clients();
const servers: SpaceServer[] = [];
/** How often clients tried each of these URLs, which they cannot reach. */
const hidden = new Map<string, number>();

async function server(): Promise<SpaceServer> {
  const made = await SpaceServer.start(1);
  servers.push(made);
  made.relays = true;
  return made;
}

/** A server that clients cannot reach. */
async function hiddenServer(): Promise<SpaceServer> {
  const made = await server();
  hidden.set(made.url, 0);
  return made;
}

const dial: Dial = (url, events, options) => {
  const tried = hidden.get(url);
  if (tried === undefined) return dialNode({})(url, events, options);
  hidden.set(url, tried + 1);
  return Promise.reject(unreachable(url, "there is no way"));
};

async function client(url: string, by: Dial = dial): Promise<Client> {
  return clients.add(await connectBy(by)(url, { token: "the token", timeoutMs: 20_000 }));
}

afterEach(async () => {
  await clients.close();
  for (const each of servers.splice(0)) each.kill();
  hidden.clear();
});

test("the server of the URL passes a client on [SPACE-48]", limits, async () => {
  const owner = await hiddenServer();
  const asked = (await server()).sendsTo(owner);
  const own = await client(asked.url);
  const segment = await own.open("/x");
  assert.equal(segment.url, `${asked.url}/x`);
  assert.deepEqual(asked.relayed, [owner.address]);
  assert.equal(hidden.get(owner.url), 1, "the direct way was tried first");
  assert.equal(owner.hellos[0]?.token, "the token");
  (await segment.write()).abort();
  await own.open("/y");
  assert.equal(owner.hellos.length, 1, "both share a connection");
});

test("a server that passes nobody on is not asked to [SPACE-49]", limits, async () => {
  const owner = await hiddenServer();
  const asked = (await server()).sendsTo(owner);
  asked.relays = false;
  await assert.rejects((await client(asked.url)).open("/x"), fails("UNREACHABLE"));
  assert.deepEqual(asked.relayed, []);
});

test("a page has no way to an address of iw:// [SPACE-49]", limits, async () => {
  const owner = await server();
  const asked = (await server()).sendsTo(owner);
  // As a page, but for the first server, which speaks no WebSocket.
  const page: Dial = (url, events, options) =>
    (url === asked.url ? dial : dialWebSocket)(url, events, options);
  await (await client(asked.url, page)).open("/x");
  assert.deepEqual(asked.relayed, [owner.address]);
});

test("a segment moves under a client that is passed on [SPACE-23, SPACE-48]", limits, async () => {
  const [one, two] = [await hiddenServer(), await hiddenServer()];
  const asked = (await server()).sendsTo(one);
  const segment = await (await client(asked.url)).open("/x");
  one.moves("/x", two);
  (await segment.write()).abort();
  assert.deepEqual(asked.relayed, [one.address, two.address]);
});

test("a connection that is lost is passed on again [SPACE-49]", limits, async () => {
  const owner = await hiddenServer();
  const asked = (await server()).sendsTo(owner);
  const segment = await (await client(asked.url)).open("/x");
  owner.cut();
  (await segment.write()).abort();
  assert.equal(hidden.get(owner.url), 1, "by the way that worked");
  assert.deepEqual(asked.relayed, [owner.address, owner.address]);
});

test("the next host passes the client on [SPACE-46, SPACE-49]", limits, async () => {
  const owner = await hiddenServer();
  const [first, second] = [await server(), await server()];
  for (const each of [first, second]) each.sendsTo(owner);
  const own = await client(`${first.url},${second.address}`);
  const segment = await own.open("/x");
  first.kill();
  (await segment.write()).abort();
  assert.deepEqual(second.relayed, [owner.address]);
});

test("the error names the ways that were tried", limits, async () => {
  const owner = await hiddenServer();
  const asked = (await server()).sendsTo(owner);
  owner.kill();
  const own = await client(asked.url);
  const text = new RegExp(`${owner.url}: .*there is no way.*passed on by ${asked.url}: `);
  await assert.rejects(own.open("/x"), fails("UNREACHABLE", text));
  owner.welcomesNobody = ErrorCode.DENIED;
  await owner.listen();
  await assert.rejects(own.open("/x"), fails("DENIED"));
});
