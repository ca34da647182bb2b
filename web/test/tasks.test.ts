/**
 * Ten things that people do in the viewer, done in a real browser, each in no more steps than it
 * may take. A step is one press of a button or key, one text typed, or one drag.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { connect, type Client, type RecordView, type Segment } from "../src/node.js";
import { startBrowser } from "./browser_process.js";
import { Server } from "./processes.js";
import { openPage } from "./viewer_pages.js";
import { makeCell, makeFleet, moveCell } from "./viewer_world.js";

let browser: Browser;
let server: Server;
let client: Client;
let cell: Segment;
let page: Page;
let complaints: string[] = [];

before(async () => {
  browser = await startBrowser();
});

after(async () => browser.close());

beforeEach(async () => {
  server = await Server.start();
  client = await connect(server.url, { label: "cell control" });
  cell = await makeCell(client);
  complaints = [];
  page = await openPage(browser, `http://${server.web}/`, complaints, {
    viewport: { width: 1280, height: 800 },
  });
});

afterEach(async () => {
  await page.context().close();
  await client.close();
  await server.stop();
  assert.deepEqual(complaints, []);
});

/** Counts what a person does. */
class Steps {
  count = 0;

  async click(what: Locator): Promise<void> {
    this.count += 1;
    await what.click();
  }

  link(name: string | RegExp): Promise<void> {
    return this.click(page.getByRole("link", { name }).first());
  }

  button(name: string): Promise<void> {
    return this.click(page.getByRole("button", { name, exact: true }));
  }

  async key(key: string): Promise<void> {
    this.count += 1;
    await page.keyboard.press(key);
  }

  async type(text: string): Promise<void> {
    this.count += 1;
    await page.keyboard.insertText(text);
  }

  /** Of "/lab/cell" on the list of segments. */
  openCell(): Promise<void> {
    return this.link("/lab/cell");
  }
}

/** The file that is saved meanwhile: its name and bytes. */
async function saved(act: () => Promise<void>): Promise<{ name: string; bytes: Buffer }> {
  const [download] = await Promise.all([page.waitForEvent("download"), act()]);
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  return { name: download.suggestedFilename(), bytes: Buffer.concat(chunks) };
}

/** A task in at most so many steps. */
function task(what: string, most: number, body: (steps: Steps) => Promise<void>): void {
  test(`${what}, in ${most} steps`, async () => {
    const steps = new Steps();
    await body(steps);
    assert.ok(steps.count <= most, `it took ${steps.count} steps`);
  });
}

task("find the block that changed last", 2, async (steps) => {
  await steps.openCell();
  await page.locator("#connection", { hasText: "version 2" }).waitFor();
  await cell.write(() => void ((cell.get("dials") as RecordView)["limit"] = 41));
  await page.locator("#connection", { hasText: "version 3" }).waitFor();
  await page.getByLabel("Order of blocks").selectOption("changed last");
  steps.count += 1;
  const first = page.locator(".block-list li").first();
  assert.equal(await first.locator("span").first().textContent(), "dials");
  assert.match((await first.textContent()) ?? "", /version 3/);
});

task("follow a list to its third node", 3, async (steps) => {
  await steps.openCell();
  await steps.link(/^head/);
  await steps.link("List");
  const row = page.locator("table.array tbody tr").nth(2);
  await row.getByRole("button", { name: "part 3" }).waitFor();
});

task("set a limit", 5, async (steps) => {
  await steps.openCell();
  await steps.link(/^dials/);
  await steps.button("40");
  await page.getByLabel("New value").waitFor();
  await page.getByLabel("New value").selectText();
  await steps.type("55");
  await steps.key("Enter");
  await page.locator("#notices", { hasText: "dials.limit is 55" }).waitFor();
  assert.equal(await cell.read(() => (cell.get("dials") as RecordView)["limit"]), 55);
});

task("export a plot as a picture", 3, async (steps) => {
  await steps.openCell();
  await steps.link(/^wave/);
  await page.locator("canvas.plot").waitFor();
  const { name, bytes } = await saved(() => steps.button("PNG"));
  assert.equal(name, "lab-cell-wave.png");
  assert.equal(bytes.subarray(1, 4).toString(), "PNG");
  assert.ok(bytes.length > 5000, `${bytes.length} bytes`);
});

task("export a graph as a picture", 4, async (steps) => {
  await steps.openCell();
  await steps.link(/^head/);
  await steps.link("Graph");
  await page.locator("svg.graph a").nth(7).waitFor();
  const { name, bytes } = await saved(() => steps.button("PNG"));
  assert.equal(name, "lab-cell-head-graph.png");
  assert.equal(bytes.subarray(1, 4).toString(), "PNG");
  // The picture has all eight nodes. The window shows some of them.
  const width = await page.evaluate(() => document.querySelector(".stage")!.clientWidth);
  const area = bytes.readUInt32BE(16) * bytes.readUInt32BE(20);
  assert.ok(area > 8 * 184 * 58 * 4 && bytes.readUInt32BE(16) <= 2 * width + 48, `${area} pixels`);
  assert.ok(bytes.length > 20_000, `${bytes.length} bytes`);
});

task("export an array's numbers, exactly", 3, async (steps) => {
  await steps.openCell();
  await steps.link(/^density ?double\[160\]\[192\]/);
  await page.locator("canvas.map").waitFor();
  const { name, bytes } = await saved(() => steps.button("CSV"));
  assert.equal(name, "lab-cell-density.csv");
  const rows = bytes.toString().trimEnd().split("\n");
  const wanted = await cell.read(() =>
    [...cell.get<Iterable<Float64Array>>("density")].map((row) => row.join()),
  );
  assert.deepEqual(rows, wanted);
});

task("open one of 200 segments by a part of its path", 3, async (steps) => {
  await makeFleet(client, 199);
  await page.getByText("200 segments").waitFor();
  await steps.key("/");
  await steps.type("17 camera");
  await steps.key("Enter");
  await page.getByRole("heading", { name: "/fleet/robot-17/camera" }).waitFor();
});

task("find the segment of 200 that changes most often", 2, async (steps) => {
  await makeFleet(client, 199);
  await page.getByText("200 segments").waitFor();
  await steps.click(page.getByLabel("folders"));
  await steps.click(page.getByRole("button", { name: "Updates/s" }));
  const first = page.locator(".grid .rows .row").first();
  for (let time = 0; (await first.locator(".path").textContent()) !== "/lab/cell"; ++time) {
    await moveCell(cell, time);
  }
  assert.match((await first.locator(".rate").textContent()) ?? "", /[0-9]/);
});

task("see which program writes, and where it runs", 1, async (steps) => {
  const lock = await cell.write();
  await steps.openCell();
  const writer = page.locator(".readers li", { hasText: "writes" });
  await writer.getByText("cell control").waitFor();
  await writer.getByText(`pid ${process.pid}`).waitFor();
  lock.abort();
});

task("see how a number moved", 3, async (steps) => {
  await steps.openCell();
  await steps.link(/^dials/);
  await page.locator("svg.spark").first().waitFor();
  for (let time = 1; time < 6; ++time) await moveCell(cell, time);
  await steps.link("History of gain");
  await page.getByText(/ in version 7$/).waitFor();
});

task("remove a segment", 3, async (steps) => {
  await steps.openCell();
  await steps.button("Remove…");
  await steps.button("Remove");
  await page.getByText("There is no segment yet").waitFor();
  assert.deepEqual(await client.list(), []);
});
