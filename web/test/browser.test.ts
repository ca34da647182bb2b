/** The viewer in a real browser, served by the server itself. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { connect, plain, t, type Client, type RecordView, type Segment } from "../src/node.js";
import { colourTable } from "../viewer/colours.js";
import { startBrowser } from "./browser_process.js";
import { Agent, Server, Simulator } from "./processes.js";
import { openPage } from "./viewer_pages.js";

let browser: Browser;
let server: Server;
let client: Client;
const programs: { stop(): Promise<void> }[] = [];
/** The complaints of pages. */
let complaints: string[] = [];
const directory = mkdtempSync(join(tmpdir(), "iw-viewer-"));

before(async () => {
  browser = await startBrowser();
});

after(async () => {
  await browser.close();
  rmSync(directory, { recursive: true });
});

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
  for (const program of programs.splice(0)) await program.stop();
  await client.close();
  await server.stop();
});

async function start(...options: string[]): Promise<void> {
  server = await Server.start(...options);
  client = await connect(server.url);
  complaints = [];
}

/** A page of the viewer, at an address behind `#`. */
function view(address: string, options: BrowserContextOptions = {}): Promise<Page> {
  return openPage(browser, `http://${server.web}/#${address}`, complaints, options);
}

/** Until the header says that. */
function said(page: Page, text: string): Promise<unknown> {
  return page.locator("#connection", { hasText: text }).waitFor();
}

/** The segment with an 8 x 8 array of double, "grid", all zeros. */
async function grid(path: string): Promise<Segment> {
  const segment = await client.open(path);
  await segment.write(() => void segment.allocate(t.array(t.double, 8, 8), { name: "grid" }));
  return segment;
}

async function fill(
  segment: Segment,
  value: (row: number, column: number) => number,
): Promise<void> {
  await segment.write(() => {
    const rows = segment.get("grid") as Float64Array[];
    for (let row = 0; row < 8; ++row) {
      const values = rows[row] as Float64Array;
      for (let column = 0; column < 8; ++column) values[column] = value(row, column);
    }
  });
}

/** The picture's pixels, as its canvas has them. */
function pixels(page: Page): Promise<number[]> {
  return page.evaluate(() => {
    const canvas = document.querySelector("canvas.map") as HTMLCanvasElement;
    const { data } = (canvas.getContext("2d") as CanvasRenderingContext2D).getImageData(0, 0, 8, 8);
    return [...new Uint32Array(data.buffer)];
  });
}

test("the heat map's pixels follow the data", async () => {
  await start();
  const segment = await grid("/heat");
  const colours = colourTable("viridis");
  await fill(segment, (row, column) => row * 8 + column);
  const page = await view("/heat");
  await said(page, "version 2");
  await page.locator("canvas.map").waitFor();
  // Row 0 is at the bottom, and the range is 0 to 63.
  const expected = Array.from(
    { length: 64 },
    (_, i) => colours[Math.round((((7 - (i >> 3)) * 8 + (i & 7)) * 255) / 63)],
  );
  assert.deepEqual(await pixels(page), expected);
  await fill(segment, (row, column) => (row === 7 && column === 0 ? 1 : 0));
  await said(page, "version 3");
  await page.waitForFunction(
    () => document.querySelector(".live .shown")?.textContent === "version 3",
  );
  const now = await pixels(page);
  assert.equal(now[0], colours[255]);
  assert.ok(now.slice(1).every((pixel) => pixel === colours[0]));
  // Paused, nothing moves; what was received can be looked at again.
  await page.getByRole("button", { name: "Pause" }).click();
  await fill(segment, () => 5);
  await said(page, "version 4");
  assert.deepEqual(await pixels(page), now);
  await page.getByLabel("Look back").fill("0");
  assert.deepEqual(await pixels(page), expected);
  assert.deepEqual(complaints, []);
});

test("steering reaches a program", async () => {
  await start();
  const program = new Agent();
  programs.push(program);
  await program.do(
    `open ${server.address}/steered 10`,
    "wl",
    "make rate 1",
    "put rate 0 3",
    "release",
  );
  const page = await view("/steered");
  await page.getByRole("button", { name: "3", exact: true }).click();
  await page.getByLabel("New value").pressSequentially("40"); // typed over the 3
  await page.keyboard.press("Enter");
  await said(page, "version 2");
  await program.do("rl");
  assert.equal(await program.ask("get rate 0"), "40");
  await program.do("rl_release");
  // A value that is not an int is refused with a reason, and nothing is shared.
  await page.getByRole("button", { name: "40", exact: true }).click();
  await page.getByLabel("New value").fill("4.5");
  await page.keyboard.press("Enter");
  await page.locator("#notices .bad", { hasText: 'rate: "4.5" is not an int' }).waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("td.value").textContent(), "40");
});

test("what is not a number is refused with its reason, and the box stays open", async () => {
  await start();
  const segment = await client.open("/typed");
  const record = t.record("dials_t", { gain: t.double, count: t.uchar });
  await segment.write(() => {
    Object.assign(segment.allocate(record, { name: "dials" }).value as RecordView, {
      gain: 0.5,
      count: 7,
    });
  });
  const page = await view("/typed");
  const box = page.getByLabel("New value");
  const refused = async (was: string, texts: string[], why: string) => {
    await page.getByRole("button", { name: was, exact: true }).click();
    for (const text of texts) {
      await box.fill(text);
      await box.press("Enter");
      const notice = page.locator("#notices .bad", { hasText: `${JSON.stringify(text)} ${why}` });
      await notice.waitFor();
      assert.equal(await box.inputValue(), text);
    }
    await box.press("Escape");
    await page.getByRole("button", { name: was, exact: true }).waitFor();
  };
  await refused("0.5", ["abc", "", "1e999", "Infinity"], "is not a double (a number, NaN, inf or");
  await refused(
    "7",
    ["256", "-1", "1.5", "seven", ""],
    "is not a uchar (an integer from 0 to 255)",
  );
  // Nothing of it was shared, and what is a number is.
  await segment.read(() => {
    assert.deepEqual(plain(segment.get("dials")), { gain: 0.5, count: 7 });
  });
  assert.equal(segment.version, 1);
  await page.getByRole("button", { name: "0.5", exact: true }).click();
  await box.fill("-inf");
  await box.press("Enter");
  await said(page, "version 2");
  assert.equal(await segment.read(() => (segment.get("dials") as RecordView)["gain"]), -Infinity);
  // It is edited as the text that it was typed as.
  await page.getByRole("button", { name: "-Infinity", exact: true }).click();
  assert.equal(await box.inputValue(), "-inf");
  assert.deepEqual(complaints, []);
});

/** Where `make demo` sends people. */
const demo = "/astroflow?block=density&steer=header.want_cfl:0.05:0.8,header.want_problem";

/** Until the simulator says that it computes with that CFL number. */
async function untilCfl(cfl: number): Promise<void> {
  const segment = await client.open("/astroflow", { readOnly: true });
  const header = () => segment.get("header") as RecordView;
  for await (const _ of segment) if ((await segment.read(() => header()["cfl"])) === cfl) return;
}

test("a slider steers the simulator, with the heat map in sight", async () => {
  await start();
  const page = await view(demo);
  await page.getByText("There is no segment /astroflow yet").waitFor();
  programs.push(new Simulator(`${server.url}/astroflow`));
  await page.locator("canvas.map").waitFor();
  const slider = page.getByRole("slider", { name: "header.want_cfl" });
  const began = Number(await slider.inputValue());
  // Dragged by its thumb.
  const { x, y, width, height } = (await slider.boundingBox())!;
  const at = (cfl: number) => x + (width * (cfl - 0.05)) / 0.75;
  await page.mouse.move(at(began), y + height / 2);
  await page.mouse.down();
  await page.mouse.move(at(0.2), y + height / 2, { steps: 20 });
  await page.mouse.up();
  const dragged = Number(await slider.inputValue());
  assert.ok(dragged < 0.3 && dragged < began, `${began} was dragged to ${dragged}`);
  await untilCfl(dragged);
  // By keyboard; what a program does not want it sets to what is so.
  await slider.press("End");
  await untilCfl(0.8);
  await slider.press("ArrowLeft");
  await untilCfl(0.795);
  const field = page.getByLabel("Value of header.want_cfl");
  await field.fill("7");
  await field.press("Enter");
  await untilCfl(0.8);
  await page.waitForFunction(
    () => (document.querySelector("#steering .slider + input") as HTMLInputElement).value === "0.8",
  );
  // Another problem, by its name.
  await page.getByLabel("Value of header.want_problem").selectOption("FLOW_SOD");
  const segment = await client.open("/astroflow", { readOnly: true });
  for await (const _ of segment) {
    if (await segment.read(() => (segment.get("header") as RecordView)["problem"] === 1)) break;
  }
  // Types are shown whole.
  await page.getByRole("button", { name: "Types" }).click();
  await page.getByText("typedef double flow_row[256];").waitFor();
  assert.deepEqual(complaints, []);
});

test("slider and heat map are in sight together, on a phone, too", async () => {
  await start();
  programs.push(new Simulator(`${server.url}/astroflow`));
  for (const viewport of [
    { width: 1100, height: 700 },
    { width: 360, height: 740 },
  ]) {
    const page = await view(demo, { viewport });
    await page.locator("canvas.map").waitFor();
    for (const name of ["canvas.map", "#steering"]) {
      const { x, y, width, height } = (await page.locator(name).boundingBox())!;
      assert.ok(x >= 0 && x + width <= viewport.width, `${name} from ${x}, ${width} wide`);
      assert.ok(y >= 0 && y + height <= viewport.height, `${name} from ${y}, ${height} high`);
    }
    const thumb = page.getByRole("slider", { name: "header.want_cfl" });
    assert.ok((await thumb.boundingBox())!.width >= 100);
  }
});

test("a number that is edited has a slider, and can be pinned with a range", async () => {
  await start();
  const segment = await client.open("/dials");
  await segment.write(() => void segment.allocate(t.int, { name: "dial" }));
  const page = await view("/dials");
  await page.getByRole("button", { name: "0", exact: true }).click();
  await page.getByRole("slider", { name: "value" }).press("PageUp");
  await said(page, "version 2");
  await page.getByRole("button", { name: "Pin" }).click();
  await page.getByLabel("Most dial").fill("1000");
  await page.getByLabel("Most dial").press("Enter");
  await page.waitForFunction(() => location.hash.endsWith("steer=dial:0:1000"));
  await page.getByRole("slider", { name: "dial" }).press("End");
  await said(page, "version 3");
  assert.equal(await segment.read(() => segment.get("dial")), 1000);
  // A refused value does not stay in the field.
  const field = page.getByLabel("Value of dial");
  await field.fill("half");
  await field.press("Enter");
  await page.locator("#notices .bad", { hasText: 'dial: "half" is not an int' }).waitFor();
  await page.waitForFunction(
    () =>
      (document.querySelector("#steering .slider + input") as HTMLInputElement).value === "1000",
  );
  await page.getByRole("button", { name: "Unpin dial" }).click();
  await page.locator("#steering").waitFor({ state: "hidden" });
  assert.ok(!page.url().includes("steer"));
  assert.deepEqual(complaints, []);
});

test("a killed server shows as lost, and recovers", async () => {
  await start("--store", join(directory, "killed"));
  const segment = await grid("/kept");
  const page = await view("/kept?block=grid&view=table");
  await said(page, "connected · version 1");
  await server.kill();
  await said(page, "Connection lost");
  assert.match((await page.locator("#connection").textContent()) ?? "", /shown: version 1, .* old/);
  assert.equal(await page.locator("body.is-lost").count(), 1);
  // A value cannot be edited meanwhile, and people are told why.
  await page.locator("td button.edit").first().click();
  await page.locator("#notices .bad", { hasText: "cannot be reached" }).waitFor();
  await server.restart();
  await said(page, "connected · version 1");
  await fill(segment, () => 1);
  await said(page, "connected · version 2");
  assert.equal(await page.locator("body.is-lost").count(), 0);
});

test("a segment that ends is not shown as live, and is shown when it is there again", async () => {
  await start();
  await grid("/fleeting");
  const page = await view("/fleeting");
  await said(page, "connected · version 1");
  // The memory of a server that was killed is gone.
  await server.kill();
  await said(page, "Connection lost");
  await server.restart();
  await page.getByText("There is no segment /fleeting yet").waitFor();
  const lost = "The server lost version 1 of /fleeting; what it has now is shown.";
  await page.locator("#notices .bad", { hasText: lost }).waitFor();
  await page.locator("#connection", { hasText: /^connected$/ }).waitFor();
  assert.equal(await page.locator("canvas.map").count(), 0);
  // A program makes it again, and somebody removes it.
  await client.close();
  client = await connect(server.url);
  await fill(await grid("/fleeting"), (row) => row);
  await page.locator("canvas.map").waitFor();
  await said(page, "connected · version 2");
  await client.remove("/fleeting");
  await page.getByText("There is no segment /fleeting yet").waitFor();
  assert.equal(await page.locator("canvas.map").count(), 0);
  // From there a way leads back.
  await page.keyboard.press("Escape");
  await page.locator("#filter").waitFor();
});

test("a segment that comes back with less is shown anew and said to be so [LOST-1]", async () => {
  const [store, older] = [join(directory, "store"), join(directory, "older")];
  await start("--store", store);
  await fill(await grid("/restored"), (row) => row);
  await client.close();
  await server.stop();
  cpSync(store, older, { recursive: true });
  await server.restart();
  client = await connect(server.url);
  const segment = await client.open("/restored");
  for (const value of [5, 6]) await fill(segment, () => value);
  const page = await view("/restored?block=grid&view=map");
  await said(page, "connected · version 4");
  await client.close();
  await server.stop();
  rmSync(store, { recursive: true });
  cpSync(older, store, { recursive: true });
  await server.restart();
  const lost = "The server lost version 4 of /restored; what it has now is shown.";
  await page.locator("#notices .bad", { hasText: lost }).waitFor();
  await said(page, "connected · version 2");
  await page.locator("canvas.map").waitFor();
  // It is live again.
  client = await connect(server.url);
  await fill(await client.open("/restored"), (row, column) => row * column);
  await said(page, "connected · version 3");
  assert.ok(page.url().endsWith("#/restored?block=grid&view=map"));
});

test("a segment and its blocks of any names are opened from the list, and pinned", async () => {
  await start();
  const [path, name] = ["/100%?/a b", "rec.a,b:c[0]"];
  const segment = await client.open(path);
  const record = t.record("dials_t", { dial: t.int });
  await segment.write(() => void segment.allocate(record, { name }));
  // Typed by hand, before there is one of that name.
  const page = await view("/100%");
  await page.getByText("There is no segment /100% yet").waitFor();
  await page.evaluate(() => void (location.hash = ""));
  await page.getByRole("link", { name: path }).click();
  await page.getByRole("button", { name: "0", exact: true }).click();
  await page.getByRole("button", { name: "Pin" }).click();
  const pinned = page.locator("#steering a", { hasText: `${name}.dial` });
  await pinned.waitFor();
  // The address leads other people to the same.
  const address = await page.evaluate(() => location.hash.slice(1));
  const other = await view(address);
  const field = other.getByLabel(`Value of ${name}.dial`);
  await field.fill("7");
  await field.press("Enter");
  await said(page, "version 2");
  assert.equal(await segment.read(() => (segment.get(name) as RecordView)["dial"]), 7);
  assert.deepEqual(complaints, []);
});

/**
 * The segment "/many" with a wave, and what writes another one: as one version, as
 * quickly as it can.
 */
async function waves() {
  const segment = await client.open("/many");
  await segment.write(() => void segment.allocate(t.double, { count: 1000, name: "wave" }));
  const write = async (times: number) => {
    for (let i = 0; i < times; ++i) {
      await segment.write(() => {
        const wave = segment.get("wave") as Float64Array;
        for (let k = 0; k < wave.length; ++k) wave[k] = Math.sin(k / 50 + segment.version / 10);
      });
    }
  };
  return { segment, write };
}

/** From now on each version that the page paints is counted, and how many frames go by. */
function countPaints(page: Page): Promise<void> {
  return page.evaluate(() => {
    const counted = { versions: new Set<string>(), frames: 0 };
    Object.assign(window, { counted });
    const look = () => {
      counted.frames += 1;
      counted.versions.add(document.querySelector(".live .shown")?.textContent ?? "");
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
}

/**
 * Until the page paints that version: how many frames that took, and how many versions it painted.
 */
function painted(page: Page, version: number): Promise<{ frames: number; versions: number }> {
  return page.evaluate((wanted) => {
    const { counted } = window as unknown as {
      counted: { versions: Set<string>; frames: number };
    };
    const before = counted.frames;
    return new Promise<{ frames: number; versions: number }>((resolve) => {
      const look = () => {
        if (!counted.versions.has(`version ${wanted}`)) return requestAnimationFrame(look);
        resolve({ frames: counted.frames - before, versions: counted.versions.size });
        return 0;
      };
      look();
    });
  }, version);
}

test("a hundred updates a second do not pile up in a slow browser", async (context) => {
  await start();
  const { segment, write } = await waves();
  const page = await view("/many");
  await page.locator("canvas.plot").waitFor();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: 10 });
  await countPaints(page);
  const [count, began] = [2000, performance.now()];
  await write(count);
  const rate = count / ((performance.now() - began) / 1000);
  const { frames, versions } = await painted(page, segment.version);
  context.diagnostic(
    `${Math.round(rate)} releases a second; ${versions} of ${count} were painted, the last one ` +
      `${frames} frames after its release`,
  );
  if (rate < 100) {
    context.diagnostic(
      "fewer than a hundred: this machine is too slow to show more than the next line",
    );
  } else {
    assert.ok(versions < (count * 60) / 90, `every release was painted: ${versions} of ${count}`);
  }
  // One version a frame would have taken as many frames as were left out.
  assert.ok(frames < count / 8, `the newest was painted ${frames} frames late`);
  assert.deepEqual(complaints, []);
});

test("memory is flat over ten thousand updates", async (context) => {
  await start();
  const { segment, write } = await waves();
  const page = await view("/many");
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable");
  const use = async () => {
    await said(page, `version ${segment.version}`);
    await devtools.send("HeapProfiler.collectGarbage");
    const { usedSize, backingStorageSize = 0 } = (await devtools.send("Runtime.getHeapUsage")) as {
      usedSize: number;
      backingStorageSize?: number;
    };
    const { metrics } = await devtools.send("Performance.getMetrics");
    const metric = (wanted: string) => metrics.find(({ name }) => name === wanted)?.value ?? NaN;
    return {
      bytes: usedSize + backingStorageSize,
      nodes: metric("Nodes"),
      listeners: metric("JSEventListeners"),
    };
  };
  // Until there are as many pictures to look back at as are kept.
  const kept = page.getByLabel("Look back");
  while (Number(await kept.getAttribute("max")) < 239) await write(100);
  const first = await use();
  await write(10_000);
  const last = await use();
  const [was, is] = [JSON.stringify(first), JSON.stringify(last)];
  context.diagnostic(`before ${was}, after ${is}`);
  assert.ok(last.bytes - first.bytes < 512 << 10, `${was} grew to ${is}`);
  // What is being painted just then may count one way or the other; ten thousand leaks would not.
  assert.ok(
    last.nodes - first.nodes < 100 && last.listeners - first.listeners < 100,
    `${was} grew to ${is}`,
  );
  assert.deepEqual(complaints, []);
});

test("records, unions and pointers can be walked, and everything has a MIP to copy", async () => {
  await start();
  const segment = await client.open("/list");
  const node = t.record("node_t", { key: t.int, next: t.pointer("node_t"), name: t.text() });
  await segment.write(() => {
    const head = segment.allocate(node, { name: "head" }).value as RecordView;
    const next = segment.allocate("node_t").value as RecordView;
    Object.assign(next, { key: 7, name: "second", next: head });
    head["next"] = next;
  });
  const page = await view("/list?block=1");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const row = page.locator("tr", { has: page.locator("th", { hasText: "next" }) });
  await row.getByRole("button", { name: "Copy MIP" }).click();
  await page.locator("#notices", { hasText: "Copied" }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${server.url}/list#1#1`);
  await row.getByRole("button", { name: "→ #2" }).click();
  await page.getByRole("button", { name: "second" }).waitFor();
  await page.getByRole("link", { name: "Graph" }).click();
  await page.getByRole("link", { name: /^head node_t key 0/ }).click();
  assert.match(page.url(), /block=1/);
  // As a list, which ends where it began.
  await page.getByRole("link", { name: "List" }).click();
  await page.getByText("2 nodes, ends at a node that was there before").waitFor();
  await page.getByRole("button", { name: "Types" }).click();
  const types = await page.locator("dialog pre").allTextContents();
  assert.deepEqual(types, ["struct node_t {\n  int key;\n  node_t *next;\n  string name<>;\n};"]);
  assert.deepEqual(complaints, []);
});

test("it works by keyboard, on a phone's width, in light and dark", async () => {
  await start();
  await fill(await grid("/keys"), (row) => row);
  const page = await view("", { viewport: { width: 360, height: 740 }, colorScheme: "dark" });
  await page.getByRole("link", { name: "/keys" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("keys");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.locator("canvas.map").waitFor();
  await page.locator("main").focus();
  await page.keyboard.press("Space");
  await page.getByRole("button", { name: "Go on" }).waitFor();
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok((await overflow()) <= 0);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  await page.emulateMedia({ colorScheme: "light" });
  assert.notEqual(await ground(), dark);
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "/keys" }).waitFor();
  assert.ok((await overflow()) <= 0);
  // The list is as it was left, and Enter leads back.
  assert.equal(await page.getByLabel("Filter segments").inputValue(), "keys");
  await page.locator(".grid .row:focus").waitFor();
  await page.keyboard.press("Enter");
  await page.locator("canvas.map").waitFor();
});

test("the list says who has the writer lock, who waits, how far copies are behind", async () => {
  await start();
  const segment = await grid("/locked");
  const other = await connect(server.url, { label: "patient" });
  const waiting = await other.open("/locked");
  const lock = await segment.write();
  const turn = waiting.write();
  const page = await view("", { viewport: { width: 1280, height: 800 } });
  const cell = (hasText: string | RegExp) => page.locator("[role=gridcell]", { hasText });
  const held = cell(/held by browser.test.js · .* · pid [0-9]+, 1 waiting/);
  await held.waitFor();
  assert.equal(await held.getAttribute("title"), "patient waits");
  lock.abort();
  (await turn).abort();
  await cell(/^free$/).waitFor();
  await fill(segment, () => 1);
  const behind = cell(/^1 of 2 behind by 1, [0-9]/);
  await behind.waitFor();
  assert.match((await behind.getAttribute("title")) ?? "", /patient · .*: 1 version behind for \d/);
  // Of the segment, everybody by name.
  await page.getByRole("link", { name: "/locked" }).click();
  const reader = page.locator(".readers li", { hasText: "patient" });
  await reader.getByText(/^1 version behind for [1-9.]+ s$/).waitFor();
  await waiting.read(() => undefined);
  await reader.getByText("up to date").waitFor();
  await other.close();
});

test("of 10,000 segments or blocks only those in view are in the page", async (context) => {
  await start();
  const segment = await client.open("/blocks");
  await segment.write(async () => {
    await segment.reserveBlocks(10_000);
    for (let i = 0; i < 10_000; ++i) segment.allocate(t.int, { name: `block-${i}` });
  });
  const paths = Array.from({ length: 9_999 }, (_, i) => `/many/${i % 100}/${i}`);
  while (paths.length > 0)
    await Promise.all(paths.splice(-200).map(async (path) => (await client.open(path)).close()));
  const page = await view("");
  await page.getByText("10\u202f000 segments").waitFor();
  await page.getByLabel("folders").click();
  const rows = () => page.locator(".grid .rows .row").count();
  assert.ok((await rows()) < 60, `${await rows()} rows`);
  const [began, last] = [performance.now(), page.locator(".grid .rows .row").last()];
  await page.locator(".grid .rows .row").first().focus();
  await page.keyboard.press("End");
  await last.getByRole("link", { name: "/many/99/9899" }).waitFor();
  context.diagnostic(`the end was shown after ${Math.round(performance.now() - began)} ms`);
  assert.ok((await rows()) < 60, `${await rows()} rows`);
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await page.locator(".block-list li").first().waitFor();
  const blocks = () => page.locator(".block-list li").count();
  assert.ok((await blocks()) < 60, `${await blocks()} blocks`);
  await page.keyboard.press("/");
  await page.keyboard.type("block-9876");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "block-9876" }).waitFor();
  assert.deepEqual(complaints, []);
});

test("a page of another site is kept out", async () => {
  await start();
  const answer = await fetch(`http://${server.web}/status`, {
    headers: { Origin: "https://example.org" },
  });
  assert.equal(answer.status, 403);
  const page = await fetch(`http://${server.web}/`);
  assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/);
});
