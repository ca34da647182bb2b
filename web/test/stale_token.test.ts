/** Tokens of this user's own servers: over TLS, and of those that have ended [OWN-3, OWN-6]. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, beforeEach, test } from "node:test";
import type { NodeConnectOptions } from "../src/node.js";
import { makeCertificates, removeCertificates, serveWith } from "./certificates.js";
import { Clients, fails } from "./clients.js";
import type { Server } from "./processes.js";

const limits = { timeout: 60_000 };
const certificates = makeCertificates();
const directory = mkdtempSync(join(tmpdir(), "interweave-stale-"));
const rules = join(directory, "rules");
const folder = join(directory, "interweave");
const runtime = process.env["XDG_RUNTIME_DIR"];
const clients = new Clients();
let server: Server;

beforeEach(() => {
  process.env["XDG_RUNTIME_DIR"] = directory;
});

afterEach(async () => {
  await clients.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

after(() => {
  if (runtime === undefined) delete process.env["XDG_RUNTIME_DIR"];
  else process.env["XDG_RUNTIME_DIR"] = runtime;
  removeCertificates();
  rmSync(directory, { recursive: true });
});

/** Over TLS no Unix socket is taken, at which a token would not matter. */
function connectTo(host: string, options: NodeConnectOptions = {}) {
  const port = server.address.split(":")[1];
  const ca = join(certificates, "ca.pem");
  return clients.connectTo(`iws://${host}:${port}`, { ca, ...options });
}

function leave(text: string): string {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o700);
  const file = join(folder, `${server.address.split(":")[1]}.token`);
  writeFileSync(file, `${text}\n`, { mode: 0o600 });
  return file;
}

const stale = `iw_${"0".repeat(12)}_${"1".repeat(64)}`;

async function start(line: string): Promise<void> {
  writeFileSync(rules, `${line}\nend\n`);
  server = await serveWith(certificates, "--rules", rules);
}

test(
  "over TLS the token of the user's own server is shown, to this host alone",
  limits,
  async () => {
    server = await serveWith(certificates, "--own-token");
    await (await connectTo("localhost")).open("/s");
    await (await connectTo("127.0.0.1")).open("/s");
  },
);

test("a token that another server has left does not keep the client out", limits, async () => {
  await start("allow anyone all /**");
  const file = leave(stale);
  await (await connectTo("localhost")).open("/s");
  assert.ok(existsSync(file));
});

test("a refusal names the file of the token that was not taken", limits, async () => {
  await start("allow alice all /**");
  const file = leave(stale);
  const named = new RegExp(`IW_TOKEN.*the token of ${file},.*not valid here: remove the file`);
  await assert.rejects(connectTo("localhost"), (error) => {
    assert.ok(!String(error).includes(stale));
    return fails("DENIED", named)(error);
  });
  // The text does not name a file whose token was not shown.
  await assert.rejects(connectTo("localhost", { token: stale }), (error) => {
    assert.ok(!String(error).includes(file));
    return fails("DENIED", /token is not valid/)(error);
  });
});

test("a refusal by TLS says nothing of a token", limits, async () => {
  const authority = join(certificates, "ca.pem");
  server = await serveWith(
    certificates,
    "--own-token",
    "--tls",
    "required",
    "--client-ca",
    authority,
  );
  await assert.rejects(connectTo("localhost"), (error) => {
    assert.ok(!String(error).includes(".token"));
    return fails("DENIED", /certificate/)(error);
  });
});

test("a client shows what the file has by then", limits, async () => {
  server = await serveWith(certificates, "--own-token");
  const client = await connectTo("localhost");
  const segment = await client.open("/s");
  await server.kill();
  leave(stale);
  await server.restart();
  await segment.read(() => undefined, { fresh: true });
});
