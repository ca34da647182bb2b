/** A server that nobody told whom to let in [OWN-1..4]: its user's programs, and a real browser. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after, afterEach, before, beforeEach, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { connect, t } from "../src/node.js";
import type { WebSocketLike } from "../src/client/transport.js";
import { startBrowser } from "./browser_process.js";
import { Clients, connection } from "./clients.js";
import { Server } from "./processes.js";

let browser: Browser;
let server: Server;
const clients = new Clients();

before(async () => {
  browser = await startBrowser();
});

beforeEach(async () => {
  server = await Server.start("--store", "memory", "--own-token");
});

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
  await clients.close();
  await server.stop();
});

after(() => browser.close());

/** What the server wrote for clients of its HTTP port [OWN-2]. */
function token(): string {
  const user = process.geteuid?.() ?? 0;
  const runtime = process.env["XDG_RUNTIME_DIR"] ?? "";
  const folders = [`/run/user/${user}/interweave`, `/tmp/interweave-${user}`];
  if (runtime !== "") folders.unshift(`${runtime}/interweave`);
  const files = folders.map((folder) => `${folder}/${server.web.split(":")[1]}.token`);
  return readFileSync(files.find(existsSync) ?? "no file has the token", "utf8").trim();
}

async function open(url: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(url);
  return page;
}

/** A WebSocket that takes one frame, and hangs up. */
class OneFrame implements WebSocketLike {
  static url = "";
  static sent = "";
  binaryType = "";
  private readonly listeners = new Map<string, (event: { data?: unknown }) => void>();

  constructor(url: string) {
    OneFrame.url = url;
    queueMicrotask(() => this.listeners.get("open")?.({}));
  }

  addEventListener(type: string, listener: (event: { data?: unknown }) => void): void {
    this.listeners.set(type, listener);
  }

  send(data: Uint8Array): void {
    OneFrame.sent = Buffer.from(data).toString("latin1");
    queueMicrotask(() => this.close());
  }

  close(): void {
    this.listeners.get("close")?.({});
  }
}

test("Node shows the token of a WebSocket's port to 127.0.0.1 alone", async () => {
  const port = server.web.split(":")[1];
  const shown = async (host: string): Promise<boolean> => {
    const options = { webSocket: OneFrame, timeoutMs: 100 };
    await assert.rejects(connect(`ws://${host}:${port}`, options));
    return OneFrame.sent.includes(token());
  };
  assert.equal((await fetch(`http://${server.web}/status`)).status, 401);
  assert.ok(await shown("127.0.0.1"));
  assert.ok(await shown("localhost"));
  assert.match(OneFrame.url, /^ws:\/\/127\.0\.0\.1:/);
  assert.ok(!(await shown("[::1]")));
  assert.ok(!(await shown("127.0.0.2")));
});

test("a client of this user comes back when the server has another token", async () => {
  const client = clients.add(await connect(server.url));
  const lost = connection(client, false);
  const old = token();
  await server.kill();
  await lost;
  const back = connection(client, true);
  await server.restart();
  await back;
  assert.notEqual(token(), old);
});

test("a link logs in a browser, and its token leaves the address", async () => {
  const client = clients.add(await connect(server.url));
  const segment = await client.open("/a/x");
  await segment.write(() => void segment.allocate(t.array(t.int, 4), { name: "n" }));
  const page = await open(`http://${server.web}/login#${token()}/a/x?block=n`);
  await page.locator("#connection", { hasText: "version 1" }).waitFor();
  assert.equal(page.url(), `http://${server.web}/#/a/x?block=n`);
  await page.locator("#identity", { hasText: "owner" }).waitFor();
  // Nor does the page before have it.
  await page.goBack();
  assert.doesNotMatch(page.url(), /iw_/);
  const plain = await open(`http://${server.web}/login#${token()}`);
  await plain.getByRole("link", { name: "/a/x" }).waitFor();
  assert.equal(plain.url(), `http://${server.web}/`);
});

test("a link of an older server is refused once, and a person can log in", async () => {
  const page = await open(`http://${server.web}/login#${token().slice(0, -1)}z`);
  assert.equal(await page.getByRole("alert").count(), 0, "this is not a token");
  const other = `iw_${"0".repeat(12)}_${"0".repeat(64)}`;
  const old = await open(`http://${server.web}/login#${other}/a`);
  await old.getByRole("alert").filter({ hasText: "not valid" }).waitFor();
  assert.doesNotMatch(old.url(), /iw_/);
  await old.getByLabel("Token").fill(token());
  await old.getByRole("button", { name: "Log in" }).click();
  await old.locator("#identity", { hasText: "owner" }).waitFor();
  assert.match(old.url(), /\/#\/a$/);
});
