/** Servers that send the client on to others (spec/space.md). */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { after, afterEach, test } from "node:test";
import type { TlsOptions } from "node:tls";
import { connect, InterweaveError, NOT_KNOWN, t, type NodeConnectOptions } from "../src/node.js";
import { ErrorCode } from "../src/wire/protocol/error.js";
import { makeCertificates, removeCertificates } from "./certificates.js";
import { Clients, fails } from "./clients.js";
import { SpaceServer } from "./space_server.js";

const limits = { timeout: 60_000 };
const clients = new Clients();
const servers: SpaceServer[] = [];

async function server(space = 1, secure: TlsOptions | null = null): Promise<SpaceServer> {
  const made = await SpaceServer.start(space, secure);
  servers.push(made);
  return made;
}

async function client(of: SpaceServer, options: NodeConnectOptions = {}) {
  const given = { token: "the token", timeoutMs: 20_000, ...options };
  return clients.add(await connect(of.url, given));
}

afterEach(async () => {
  await clients.close();
  for (const each of servers.splice(0)) each.kill();
});

after(removeCertificates);

const redirected = (to: SpaceServer) => fails("REDIRECTED", new RegExp(to.address));

test(
  "segments are opened where they are and keep their URLs [SPACE-10, SPACE-11, SPACE-13]",
  limits,
  async () => {
    const owner = await server();
    const asked = (await server()).sendsTo(owner);
    const own = await client(asked);
    const first = await own.open("/first");
    const second = await own.open("/second");
    assert.equal(first.url, `${asked.url}/first`);
    assert.equal(await own.open("/first"), first);
    assert.equal(owner.hellos.length, 1, "both share a connection");
    assert.equal(owner.hellos[0]?.token, "the token");
    assert.deepEqual(owner.heard.splice(0), ["OPEN_SEGMENT", "OPEN_SEGMENT"]);
    assert.deepEqual(asked.heard, ["OPEN_SEGMENT", "OPEN_SEGMENT"]);
    await second.close();
    assert.equal(await owner.next(), "CLOSE_SEGMENT");
  },
);

test("three hops are followed and not four [SPACE-10]", limits, async () => {
  const last = await server();
  const third = await server();
  const second = (await server()).sendsTo(third);
  const first = (await server()).sendsTo(second);
  const asked = (await server()).sendsTo(first);
  const own = await client(asked);
  await (await own.open("/x")).close();
  third.sendsTo(last);
  await assert.rejects(own.open("/x"), redirected(last));
  await assert.rejects(own.remove("/x"), redirected(last));
  assert.equal(last.hellos.length, 0);
});

test("a segment is removed where it is [SPACE-9, SPACE-10]", limits, async () => {
  const owner = await server();
  const between = (await server()).sendsTo(owner);
  const own = await client((await server()).sendsTo(between));
  await own.remove("/x");
  assert.deepEqual(owner.heard, ["REMOVE_SEGMENT"]);
});

test("clients of a segment of another server are not known [SPACE-35]", limits, async () => {
  const listed = await (await client(await server())).list();
  const known = listed.map(({ path, clients }) => [path, clients]);
  assert.deepEqual(known, [
    ["/elsewhere", NOT_KNOWN],
    ["/here", 2],
  ]);
  assert.equal(listed[0]?.newest.number, 1n);
});

test("a server of another space is not asked [SPACE-12]", limits, async () => {
  const stranger = await server(2);
  const own = await client((await server()).sendsTo(stranger));
  await assert.rejects(own.open("/x"), redirected(stranger));
  await assert.rejects(own.remove("/x"), redirected(stranger));
  assert.deepEqual(stranger.heard, []);
});

test("what cannot be an address is told", limits, async () => {
  const asked = await server();
  asked.owner = { address: "no\naddress", tls_name: "" };
  const own = await client(asked);
  await assert.rejects(own.open("/x"), fails("REDIRECTED", /no\?address/));
});

/** What a program is told of an owner that stayed away. */
const away = (owner: string, asked: SpaceServer) =>
  fails(
    "UNREACHABLE",
    new RegExp(
      `the server iw://${owner}, to which this client was sent on, cannot be reached: .*; ` +
        `.interweave status ${asked.url}. says whether it lives`,
    ),
  );

test("an owner that stays away is named at the deadline [SPACE-55]", limits, async () => {
  const owner = await server();
  const asked = (await server()).sendsTo(owner);
  owner.kill();
  const own = await client(asked, { timeoutMs: 2000 });
  await assert.rejects(own.open("/x"), away(owner.address, asked));
  await assert.rejects(own.remove("/x"), away(owner.address, asked));
  assert.ok(asked.heard.filter((name) => name === "OPEN_SEGMENT").length > 1);
  assert.ok(asked.heard.filter((name) => name === "REMOVE_SEGMENT").length > 1);
});

test("an owner that was asked is not called away [SPACE-55]", limits, async () => {
  const slow = await server();
  slow.isSlow = true;
  const asked = await server();
  const own = await client(asked, { timeoutMs: 2000 });
  const outOfReach = { address: "127.0.0.1:1", tls_name: "" };
  for (const ask of [() => own.open("/x"), () => own.remove("/x")]) {
    asked.owner = outOfReach;
    asked.heard.length = 0;
    const answer = ask();
    await asked.next();
    asked.sendsTo(slow);
    await assert.rejects(answer, fails("TIMED_OUT", /./));
  }
  assert.deepEqual(slow.heard, ["OPEN_SEGMENT", "REMOVE_SEGMENT"]);
});

test("a segment is asked for until it is taken over [SPACE-55]", limits, async () => {
  const owner = await server();
  const asked = (await server()).sendsTo(owner);
  owner.kill();
  const own = await client(asked);
  const opening = own.open("/x");
  for (let i = 0; i < 3; ++i) assert.equal(await asked.next(), "OPEN_SEGMENT");
  asked.owner = null;
  await opening;
  asked.sendsTo(owner);
  asked.heard.length = 0;
  const removal = own.remove("/y");
  for (let i = 0; i < 3; ++i) assert.equal(await asked.next(), "REMOVE_SEGMENT");
  asked.owner = null;
  await removal;
});

test("an owner that stops or dies of an opening is not the last [SPACE-55]", limits, async () => {
  const owner = await server();
  const asked = (await server()).sendsTo(owner);
  const own = await client(asked);
  owner.welcomesNobody = ErrorCode.STOPPING;
  let opening = own.open("/x");
  for (let i = 0; i < 3; ++i) assert.equal(await asked.next(), "OPEN_SEGMENT");
  owner.welcomesNobody = null;
  await (await opening).close();
  owner.heard.length = 0;
  owner.diesOfOpenings = true;
  opening = own.open("/y");
  while ((await owner.next()) !== "OPEN_SEGMENT") continue;
  asked.owner = null;
  await opening;
});

/** As a process that was stopped: the system takes connections, and nobody answers. */
test("an owner that says nothing leaves time for another [SPACE-55]", limits, async () => {
  const silent = createServer();
  const found = once(silent, "connection");
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const asked = await server();
  asked.owner = { address, tls_name: "" };
  const own = await client(asked);
  const opening = own.open("/x");
  const [connection] = (await found) as [Socket];
  asked.owner = null;
  await opening;
  connection.destroy();
  silent.close();
});

test("a server of the URL that is gone is not waited for [SPACE-55]", limits, async () => {
  const owner = await server();
  const asked = (await server()).sendsTo(owner);
  owner.kill();
  const opening = (await client(asked)).open("/x");
  for (let i = 0; i < 2; ++i) assert.equal(await asked.next(), "OPEN_SEGMENT");
  asked.kill();
  await assert.rejects(opening, fails("UNREACHABLE", new RegExp(`^(?!.*${owner.address})`)));
});

test("the owner is asked first, and then the server of the URL [SPACE-14]", limits, async () => {
  const owner = await server();
  const asked = (await server()).sendsTo(owner);
  const own = await client(asked);
  const segment = await own.open("/x");
  assert.equal(await asked.next(), "OPEN_SEGMENT");
  assert.equal(await owner.next(), "OPEN_SEGMENT");
  owner.cut();
  assert.equal(await owner.next(), "OPEN_SEGMENT");
  assert.deepEqual(asked.heard, []);
  const next = await server();
  asked.sendsTo(next);
  owner.kill();
  assert.equal(await next.next(), "OPEN_SEGMENT");
  asked.owner = null;
  next.kill();
  (await segment.write({ timeoutMs: 20_000 })).abort();
  while ((await asked.next()) !== "ACQUIRE_WRITER") continue;
});

test("a segment that nobody asks for is opened again, too [SPACE-14]", limits, async () => {
  const owner = await server();
  const asked = (await server()).sendsTo(owner);
  const own = await client(asked);
  const segment = await own.open("/x");
  const heard: string[] = [];
  const isBack = new Promise<void>((resolve) =>
    segment.onConnection((state) => {
      heard.push(state);
      if (state === "connected") resolve();
    }),
  );
  asked.kill();
  owner.cut();
  await isBack;
  assert.deepEqual(heard.slice(-1), ["connected"]);
  assert.deepEqual(owner.heard, ["OPEN_SEGMENT", "OPEN_SEGMENT"]);
});

test("a server that started anew is asked until it has the segment", limits, async () => {
  const owner = await server();
  const own = await client((await server()).sendsTo(owner));
  const segment = await own.open("/x");
  owner.sendsTo(owner);
  owner.cut();
  const lock = segment.write({ timeoutMs: 30_000 });
  for (let i = 0; i < 10; ++i) assert.equal(await owner.next(), "OPEN_SEGMENT");
  owner.owner = null;
  (await lock).abort();
  owner.sendsTo(owner);
  owner.cut();
  await assert.rejects(segment.write({ timeoutMs: 500 }), InterweaveError);
});

test("the next owner is asked what became of a release [SPACE-14, LOCK-9]", limits, async () => {
  const owner = await server();
  const asked = (await server()).sendsTo(owner);
  const own = await client(asked);
  const segment = await own.open("/x");
  owner.diesOfReleases = true;
  asked.owner = null;
  asked.heard.length = 0;
  await segment.write(() => void segment.allocate(t.int, { name: "n" }));
  assert.equal(segment.version, 1);
  assert.deepEqual(owner.heard, ["OPEN_SEGMENT", "ACQUIRE_WRITER", "RELEASE_WRITER"]);
  assert.deepEqual(asked.heard, ["OPEN_SEGMENT", "RESOLVE_RELEASE"]);
  assert.deepEqual(asked.resolved[0]?.session, owner.session(1), "that of the owner");
  assert.equal(asked.resolved[0]?.sequence, 1n);
});

test(
  "a function whose release the store refuses gives the lock back [LOCK-12]",
  limits,
  async () => {
    const owner = await server();
    const segment = await (await client(owner)).open("/x");
    const change = () => void segment.allocate(t.int);
    for (const code of ["STORE_FULL", "STORE_ALONE", "STORE_AWAY"] as const) {
      owner.refusesReleases = ErrorCode[code];
      await assert.rejects(segment.write(change), fails(code));
    }
    // A program that keeps the lock may release it again.
    const lock = await segment.write();
    change();
    await assert.rejects(lock.release(), fails("STORE_AWAY"));
    lock.abort();
    assert.equal(owner.heard.filter((name) => name === "ACQUIRE_WRITER").length, 4);
  },
);

/** Makes NAME.pem anew, of NAME.key, for that DNS name alone. */
function certify(folder: string, name: string, dnsName: string): TlsOptions {
  const at = (file: string) => join(folder, file);
  writeFileSync(at("extensions"), `subjectAltName=DNS:${dnsName}\n`);
  const request = ["req", "-new", "-key", at(`${name}.key`), "-subj", "/CN=x", "-out", at("req")];
  execFileSync("openssl", request);
  const authority = ["-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial"];
  const signing = ["-in", at("req"), "-out", at(`${name}.pem`), "-extfile", at("extensions")];
  execFileSync("openssl", ["x509", "-req", ...authority, ...signing], { stdio: "pipe" });
  return shown(folder, name);
}

function shown(folder: string, name: string): TlsOptions {
  const read = (file: string) => readFileSync(join(folder, file));
  return { cert: read(`${name}.pem`), key: read(`${name}.key`), ALPNProtocols: ["iw/2"] };
}

test("the next server's certificate is checked for its TLS name [SPACE-11]", limits, async () => {
  const folder = makeCertificates();
  const owner = await server(1, certify(folder, "alice", "owner.test"));
  const asked = (await server(1, shown(folder, "server"))).sendsTo(owner, "owner.test");
  const own = await client(asked, { ca: join(folder, "ca.pem") });
  await (await own.open("/x")).close();
  assert.equal(owner.hellos[0]?.token, "the token");
  asked.sendsTo(owner);
  await assert.rejects(own.open("/x"), fails("DENIED", new RegExp(owner.address)));
  assert.equal(owner.hellos.length, 1, "it was shown no token");
});
