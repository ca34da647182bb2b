/** URLs with several hosts of one space [SPACE-46, SPACE-47]. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { connect, t, type NodeConnectOptions } from "../src/node.js";
import { hostUrls, pathAt, serverUrlOf } from "../src/client/hosts.js";
import { ErrorCode } from "../src/wire/protocol/error.js";
import { Clients, fails } from "./clients.js";
import { SpaceServer } from "./space_server.js";

const limits = { timeout: 60_000 };
const clients = new Clients();
const servers: SpaceServer[] = [];

async function server(space = 1): Promise<SpaceServer> {
  const made = await SpaceServer.start(space);
  servers.push(made);
  return made;
}

function list(...hosts: SpaceServer[]): string {
  return `iw://${hosts.map(({ address }) => address).join(",")}`;
}

async function client(url: string, options: NodeConnectOptions = {}) {
  return clients.add(await connect(url, { timeoutMs: 20_000, ...options }));
}

afterEach(async () => {
  await clients.close();
  for (const each of servers.splice(0)) each.kill();
});

test("the first host is asked, and the list is the server's name [SPACE-46]", limits, async () => {
  const one = await server();
  const two = await server();
  const segment = await (await client(list(one, two))).open("/x");
  assert.equal(segment.url, `${list(one, two)}/x`);
  assert.equal(two.hellos.length, 0);
});

test("a host that cannot be reached, or stops, is passed over [SPACE-46]", limits, async () => {
  const one = await server();
  const two = await server();
  one.welcomesNobody = ErrorCode.STOPPING;
  await (await client(list(one, two))).open("/x");
  one.kill();
  await (await client(list(one, two))).open("/x");
  assert.equal(one.hellos.length, 1);
  assert.equal(two.hellos.length, 2);
});

test("every other refusal is final [SPACE-46]", limits, async () => {
  const one = await server();
  const two = await server();
  one.welcomesNobody = ErrorCode.DENIED;
  await assert.rejects(client(list(one, two)), fails("DENIED"));
  assert.equal(two.hellos.length, 0);
});

test("the error names each host with what happened there [SPACE-46]", limits, async () => {
  const one = await server();
  const two = await server();
  two.welcomesNobody = ErrorCode.STOPPING;
  one.kill();
  const refused = client(list(one, two));
  await assert.rejects(refused, fails("UNREACHABLE", new RegExp(`iw://${one.address}: the serv`)));
  await assert.rejects(refused, fails("UNREACHABLE", new RegExp(`iw://${two.address}: not now`)));
  assert.equal(two.hellos.length, 1, "each host was tried once");
});

test("a host that is there keeps its client, and the next one comes after it", limits, async () => {
  const one = await server();
  const two = await server();
  const segment = await (await client(list(one, two))).open("/x");
  assert.equal(await one.next(), "OPEN_SEGMENT");
  one.cut();
  assert.equal(await one.next(), "OPEN_SEGMENT");
  assert.deepEqual(one.hellos[1]?.session, one.session(1), "the session that it has");
  assert.equal(two.hellos.length, 0);
  one.kill();
  assert.equal(await two.next(), "OPEN_SEGMENT");
  (await segment.write()).abort();
  assert.equal(await two.next(), "ACQUIRE_WRITER");
  assert.deepEqual(two.hellos[0]?.session, one.session(2), "the session of the first host");
  two.cut();
  assert.equal(await two.next(), "OPEN_SEGMENT");
});

test("the next host is asked what became of a release [SPACE-47, LOCK-9]", limits, async () => {
  const one = await server();
  const two = await server();
  const segment = await (await client(list(one, two))).open("/x");
  one.diesOfReleases = true;
  await segment.write(() => void segment.allocate(t.int, { name: "n" }));
  assert.equal(segment.version, 1);
  assert.deepEqual(one.heard, ["OPEN_SEGMENT", "ACQUIRE_WRITER", "RELEASE_WRITER"]);
  assert.deepEqual(two.heard, ["OPEN_SEGMENT", "RESOLVE_RELEASE"]);
  assert.deepEqual(two.resolved[0]?.session, one.session(1));
});

test("a host of another space is not asked [SPACE-47]", limits, async () => {
  const one = await server();
  const stranger = await server(2);
  const segment = await (await client(list(one, stranger))).open("/x");
  one.kill();
  await assert.rejects(
    segment.write({ timeoutMs: 2000 }),
    fails("UNREACHABLE", new RegExp(`${stranger.address} serves another space`)),
  );
  assert.deepEqual(stranger.heard, []);
  await one.listen();
  (await segment.write()).abort();
});

test("lists of hosts become URLs to dial, and one name of the server [MIP-7]", () => {
  assert.deepEqual(hostUrls("B,a:1,[::1]/x"), ["iw://b:7747", "iw://a:1", "iw://[::1]:7747"]);
  assert.deepEqual(hostUrls("iws://a,b"), ["iws://a:7747", "iws://b:7747"]);
  assert.deepEqual(hostUrls("wss://a:1,b/ws"), ["wss://a:1/ws", "wss://b/ws"]);
  assert.deepEqual(hostUrls("unix:/a,b"), ["unix:/a,b"]);
  assert.deepEqual(hostUrls("ws://a:1/x,y"), ["ws://a:1/x,y"]);
  assert.equal(serverUrlOf("iws://B,a:1"), "iws://b:7747,a:1");
  assert.equal(serverUrlOf("ws://a:7748,b:7748"), "iw://a:7747,b:7747");
  for (const bad of ["iw://a,A:7747", "a,", "ws://a,a", "ws://,a", "a,b,c,d,e,f,g,h,i"]) {
    assert.throws(() => hostUrls(bad), fails("BAD_URL"));
  }
});

test("URLs of hosts in the client's list name its segments [SPACE-47]", () => {
  const two = "iw://a:7747,b:7747";
  assert.equal(pathAt(two, "/x"), "/x");
  assert.equal(pathAt(two, `${two}/x`), "/x");
  assert.equal(pathAt(two, "iw://b:7747,a:7747/x"), "/x");
  assert.equal(pathAt(two, "iw://b:7747/x"), "/x");
  assert.equal(pathAt(two, "iw://b:7747,c:7747/x"), null);
  assert.equal(pathAt(two, "iws://b:7747/x"), null);
  assert.equal(pathAt(two, "unix:/b:7747/x:/x"), null);
  assert.equal(pathAt("iw://a:7747", "iw://a:7747/x"), "/x");
  assert.equal(pathAt("iw://a:7747", "iw://b:7747/x"), null);
});
