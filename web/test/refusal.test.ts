/** Clients that a real server refuses: told at once, whatever their deadlines are [CRED-2]. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, beforeEach, test } from "node:test";
import { connect, t } from "../src/node.js";
import { makeCertificates, removeCertificates } from "./certificates.js";
import { Clients, connection, fails } from "./clients.js";
import { program, Server } from "./processes.js";

/** Of a call; each test ends before that, or fails. */
const LONG = { timeoutMs: 600_000 };
const limits = { timeout: 60_000 };

const directory = mkdtempSync(join(tmpdir(), "interweave-refusal-"));
const tokens = join(directory, "tokens");
const clients = new Clients();
let server: Server;
let token: string;

function run(...words: string[]): string {
  const all = ["token", ...words, "--tokens", tokens];
  return execFileSync(program, all, { encoding: "utf8", stdio: "pipe" }).trim();
}

beforeEach(async () => {
  rmSync(tokens, { force: true });
  token = run("new", "alice");
  server = await Server.start("--store", "memory", "--tokens", tokens);
});

afterEach(async () => {
  await clients.close();
  await server.kill();
});

after(() => {
  removeCertificates();
  rmSync(directory, { recursive: true });
});

const denied = fails("DENIED", /token/);

test("a token that is revoked while the client is connected", limits, async () => {
  const client = clients.add(await connect(server.url, { token, ...LONG }));
  const segment = await client.open("/s");
  await segment.write(() => void segment.allocate(t.int, { name: "n" }));
  const before = readFileSync(tokens);
  const lost = connection(client, false);
  run("revoke", "alice");
  await lost;
  // No call waits for its deadline, and the next one asks anew.
  for (let round = 0; round < 2; ++round) {
    const calls = [
      segment.read(() => undefined, { fresh: true }),
      segment.write(() => undefined),
      client.open("/other"),
      client.list(),
    ];
    for (const each of calls) await assert.rejects(each, denied);
  }
  // Nobody listens for the file here: the server reads it again when it changes.
  writeFileSync(tokens, before);
  const back = connection(client, true);
  await back;
  await segment.read(() => assert.equal(segment.get("n"), 0));
});

test("a token that is revoked while the client is not connected", limits, async () => {
  const client = clients.add(await connect(server.url, { token, ...LONG }));
  const segment = await client.open("/s");
  const lost = connection(client, false);
  await server.kill();
  await lost;
  const waiting = segment.read(() => undefined, { fresh: true });
  run("revoke", "alice");
  await server.restart();
  await assert.rejects(waiting, denied);
  await assert.rejects(
    segment.write(() => undefined),
    denied,
  );
});

test("a token that is revoked while segments are opened", limits, async () => {
  const client = clients.add(await connect(server.url, { token, ...LONG }));
  const opening = async () => {
    for (let number = 0; ; ++number) await (await client.open(`/s/${number}`)).close();
  };
  const ends = assert.rejects(opening(), denied);
  run("revoke", "alice");
  await ends;
});

test("a wrong token, and none", limits, async () => {
  await assert.rejects(connect(server.url, { token: `${token}x`, ...LONG }), denied);
  const other = `${token.slice(0, -1)}${token.endsWith("0") ? "1" : "0"}`;
  await assert.rejects(connect(server.url, { token: other, ...LONG }), denied);
});

test("a token that no server could be shown is not sent [CRED-3]", limits, async () => {
  const refusals: [string, RegExp][] = [
    ["iw_\0_secret", /option token\) has a NUL/],
    ["ü".repeat(2049), /option token\) is longer than 4096 bytes/],
  ];
  for (const [bad, text] of refusals) {
    await assert.rejects(connect("iw://127.0.0.1:1", { token: bad }), (error) => {
      assert.ok(!String(error).includes(bad));
      return fails("BAD_ARGUMENT", text)(error);
    });
  }
});

test("a file of authorities that has none is named [CRED-3]", limits, async () => {
  const certificates = makeCertificates();
  const revoked = join(directory, "list.pem");
  writeFileSync(revoked, "-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n");
  const empty = join(directory, "empty.pem");
  writeFileSync(empty, "");
  for (const ca of [empty, join(certificates, "alice.key"), revoked]) {
    const named = new RegExp(`${ca}.*option ca.*holds no certificate`);
    await assert.rejects(connect("iws://127.0.0.1:1", { ca }), fails("DENIED", named));
  }
});

test("a handshake of single bytes ends with the time for connecting", limits, async () => {
  const head = Buffer.of(22, 3, 3, 63, 0);
  const slow = createServer((socket) => {
    socket.write(head);
    const drip = setInterval(() => socket.write(Buffer.of(0)), 20);
    socket.on("error", () => undefined);
    socket.on("close", () => clearInterval(drip));
  });
  await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve));
  const { port } = slow.address() as AddressInfo;
  const url = `iws://127.0.0.1:${port}`;
  await assert.rejects(connect(url, { timeoutMs: 300 }), fails("UNREACHABLE", /no answer in/));
  await new Promise((resolve) => slow.close(resolve));
});
