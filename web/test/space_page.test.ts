/**
 * Pages of the viewer, and programs, at two real servers that share a real database. A page reaches
 * only the server from which it was loaded, which passes its connection on to the segment's owner
 * [SPACE-48, SPACE-49].
 */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { t, type Client, type Segment } from "../src/node.js";
import { startBrowser } from "./browser_process.js";
import { Clients, isUndone } from "./clients.js";
import { Cluster, interweave, Listener, Server } from "./processes.js";
import { openPage } from "./viewer_pages.js";

const limits = { timeout: 60_000 };
const clients = new Clients();
const listeners: Listener[] = [];
/** The complaints of pages. */
const complaints: string[] = [];
let browser: Browser;
let cluster: Cluster;
let spaces = 0;
let one: Server;
let two: Server;

before(async () => {
  [browser, cluster] = await Promise.all([startBrowser(), Cluster.start()]);
});

after(async () => {
  await Promise.all([browser.close(), cluster.stop()]);
});

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
  for (const listener of listeners.splice(0)) await listener.stop();
  await clients.close();
  await Promise.all([one.kill(), two.kill()]);
});

/** Two servers of a space that no other test has. */
async function start(...options: string[]): Promise<void> {
  const store = cluster.storeUrl(`pages_${++spaces}`);
  const startOne = () => Server.startMember(store, ...options);
  [one, two] = await Promise.all([startOne(), startOne()]);
  complaints.length = 0;
}

/** A client that waits as long as another server may need to take a segment over. */
function client(url: string, label = "writer"): Promise<Client> {
  return clients.connectTo(url, { timeoutMs: 30_000, label });
}

/** A segment with a number, which is 1 like its version. */
async function counted(own: Client, path: string): Promise<Segment> {
  const segment = await own.open(path);
  await segment.write(() => void (segment.allocate(t.int, { name: "n" }).value = 1));
  return segment;
}

/** Writes the next version, and its number as the value. */
async function count(segment: Segment): Promise<number> {
  await segment.write(() => void (segment.block("n").value = segment.version + 1));
  return segment.version;
}

function view(server: Server, address: string): Promise<Page> {
  return openPage(browser, `http://${server.web}/#${address}`, complaints);
}

/** Until the header says that. */
function said(page: Page, text: string | RegExp): Promise<unknown> {
  return page.locator("#connection", { hasText: text }).waitFor();
}

/** Until the page shows that version of a segment, as its value, and that it is connected. */
async function shows(page: Page, version: number): Promise<void> {
  await page.locator("td.value", { hasText: new RegExp(`^${version}$`) }).waitFor();
  await said(page, `connected · version ${version},`);
}

/** From now on the page notes each number that it shows. */
function noteNumbers(page: Page): Promise<void> {
  return page.evaluate(() => {
    const shown: number[] = [];
    Object.assign(window, { shown });
    const note = () => {
      // An editor takes its place at times.
      const text = document.querySelector("td.value")?.textContent ?? "";
      const isNews = /^[0-9]+$/.test(text) && Number(text) !== shown[shown.length - 1];
      if (isNews) shown.push(Number(text));
    };
    note();
    const all = { subtree: true, childList: true, characterData: true };
    new MutationObserver(note).observe(document.body, all);
  });
}

/** The numbers that the page has shown, which must never have become smaller. */
async function notedNumbers(page: Page): Promise<number[]> {
  const shown = await page.evaluate(() => (window as unknown as { shown: number[] }).shown);
  const sorted = [...shown].sort((a, b) => a - b);
  assert.deepEqual(shown, sorted, "something older was shown");
  return shown;
}

test("a page watches and steers a segment of another server [SPACE-48]", limits, async () => {
  await start();
  const segment = await counted(await client(one.url), "/far");
  const page = await view(two, "/far");
  await shows(page, 1);
  for (let i = 0; i < 3; ++i) await shows(page, await count(segment));
  await page.getByRole("button", { name: "4", exact: true }).click();
  await page.getByLabel("New value").fill("5");
  await page.keyboard.press("Enter");
  for await (const version of segment) if (version === 5) break;
  assert.equal(await segment.read(() => segment.get("n")), 5);
  await shows(page, 5);
  const passedOn = await (await fetch(`http://${two.web}/metrics`)).text();
  assert.match(passedOn, /^interweave_relays 1$/m);
  assert.deepEqual(complaints, []);
});

test("a page follows a segment that moves to its server and back", limits, async () => {
  await start();
  const segment = await counted(await client(one.url), "/moving");
  const page = await view(two, "/moving");
  await shows(page, 1);
  await noteNumbers(page);
  for (const [from, to] of [
    [one, two],
    [two, one],
  ] as const) {
    let isMoved = false;
    const moving = interweave("move", `${from.url}/moving`, to.url).finally(() => (isMoved = true));
    while (!isMoved) await count(segment);
    await moving;
    await shows(page, await count(segment));
  }
  const shown = await notedNumbers(page);
  assert.deepEqual([shown[0], shown[shown.length - 1]], [1, segment.version]);
  assert.deepEqual(complaints, []);
});

test("a page says that the segment's server is gone, and follows the next", limits, async () => {
  await start();
  await counted(await client(one.url), "/orphan");
  const page = await view(two, "/orphan");
  await shows(page, 1);
  await noteNumbers(page);
  await one.kill();
  await said(page, /^Connection to the segment's server lost for .* · shown: version 1, .* old$/);
  assert.equal(await page.locator("body.is-lost").count(), 1);
  const heir = await (await client(two.url)).open("/orphan");
  await shows(page, await count(heir));
  assert.equal(await page.locator("body.is-lost").count(), 0);
  await page.getByRole("button", { name: "2", exact: true }).click();
  await page.getByLabel("New value").fill("3");
  await page.keyboard.press("Enter");
  await shows(page, 3);
  assert.deepEqual(await notedNumbers(page), [1, 2, 3]);
});

test("a page without a connection shows the blocks that it has", limits, async () => {
  await start();
  const segment = await counted(await client(one.url), "/apart");
  const page = await view(one, "/apart?block=n");
  await shows(page, 1);
  // It is not painted for a second, so it has the next version before it can show it.
  await page.evaluate(() => void (window.requestAnimationFrame = () => 0));
  await segment.write(() => void (segment.allocate(t.int, { name: "m" }).value = 70));
  await said(page, "connected · version 2,");
  await one.kill();
  await said(page, /^Connection lost for .* · shown: version 2, .* old$/);
  await page.locator("nav a", { hasText: /^m/ }).click();
  await page.locator("td.value", { hasText: /^70$/ }).waitFor();
  await page.locator("nav a", { hasText: /^n/ }).click();
  await page.locator("td.value", { hasText: /^1$/ }).waitFor();
});

test("a page of a killed server waits until it serves the segment again", limits, async () => {
  // The server that starts anew does not have the segment before that time is over [SPACE-17].
  await start("--space-lease", "5");
  await counted(await client(one.url), "/kept");
  const page = await view(one, "/kept");
  await shows(page, 1);
  await one.kill();
  await said(page, /^Connection lost for .* · shown: version 1, .* old$/);
  await one.restart();
  await shows(await view(one, "/kept"), 1);
  await shows(page, 1);
});

test("pages say that the database is away, and continue when it is back", limits, async () => {
  await start();
  const segment = await counted(await client(one.url), "/away");
  const page = await view(two, "/away");
  await shows(page, 1);
  await cluster.pauseStandby();
  try {
    // Neither server can renew its lease.
    const shown =
      /^Connection lost for .* serves nobody; .*; trying again · shown: version 1, .* old$/;
    await said(page, shown);
    const late = await view(two, "/away");
    await said(late, /^the store .* serves nobody; .*; trying again$/);
    await cluster.resumeStandby();
    await shows(late, 1);
  } finally {
    await cluster.resumeStandby();
  }
  await shows(page, await count(segment));
});

test("the list says which segments another server has", limits, async () => {
  await start();
  const own = await client(two.url);
  await counted(own, "/here");
  await counted(await client(one.url), "/there");
  const page = await view(two, "");
  const cells = (path: string) =>
    page.locator(".row", { hasText: path }).locator("[role=gridcell]").allTextContents();
  const row = (path: string, lock: string) =>
    page.locator(".row", { hasText: path }).getByText(lock, { exact: true }).waitFor();
  await row("/here", "free");
  await row("/there", "at another server");
  const [, version, , ...unknown] = await cells("/there");
  assert.equal(version, "1");
  assert.deepEqual(unknown.slice(0, 4), ["", "", "", "at another server"]);
  await Promise.all([
    interweave("move", `${one.url}/there`, two.url),
    interweave("move", `${two.url}/here`, one.url),
  ]);
  await Promise.all([row("/there", "free"), row("/here", "at another server")]);
  // Its clients are known to its server alone.
  await page.getByRole("link", { name: "/there" }).click();
  await page.locator(".readers li", { hasText: "viewer" }).waitFor();
  await interweave("move", `${two.url}/there`, one.url);
  await page.locator(".readers", { hasText: /^not known to this server$/ }).waitFor();
  assert.deepEqual(complaints, []);
});

test("a program with both servers continues through a move and a kill", limits, async () => {
  await start();
  const both = `${one.url},${two.address}`;
  const own = await client(both);
  const segment = await counted(own, "/both");
  const watched = await (await client(both)).open("/both", { readOnly: true });
  const listener = new Listener(both, "/both");
  listeners.push(listener);
  await listener.says("version 1");
  const value = () => watched.read(() => watched.get("n"));
  assert.equal(await value(), 1);
  // A writer is waited for, and the next one gets the lock at the new server.
  const lock = await segment.write();
  const moved = interweave("move", `${one.url}/both`, two.url);
  segment.block("n").value = 2;
  await lock.release();
  await moved;
  await count(segment);
  for (let line = ""; line !== "version 3"; line = await listener.next())
    assert.match(line, /^$|^version 2$/, "it noticed nothing of the move");
  assert.equal(await value(), 3);
  await interweave("move", `${two.url}/both`, one.url);
  // No writer lock survives its owner [SPACE-16].
  const held = await segment.write();
  segment.block("n").value = -1;
  await one.kill();
  await assert.rejects(held.release(), isUndone);
  assert.equal(await count(segment), 4);
  for (let line = ""; line !== "version 4"; line = await listener.next())
    assert.match(line, /^$|^version 3$|^connected$|^connection lost$/);
  assert.equal(await value(), 4);
});
