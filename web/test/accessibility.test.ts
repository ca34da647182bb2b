/** Every page of the viewer by axe-core, in light and dark; and all of it by keyboard. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { connect, type Client } from "../src/node.js";
import { startBrowser } from "./browser_process.js";
import { Server } from "./processes.js";
import { accessibilityOf, openPage } from "./viewer_pages.js";
import { makeCell, makeFleet } from "./viewer_world.js";

let browser: Browser;
let server: Server;
let client: Client;
let page: Page;
let complaints: string[] = [];

before(async () => {
  browser = await startBrowser();
});

after(async () => browser.close());

beforeEach(async () => {
  server = await Server.start();
  client = await connect(server.url, { label: "cell control" });
  await makeCell(client);
  complaints = [];
});

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
  await client.close();
  await server.stop();
  assert.deepEqual(complaints, []);
});

async function open(address: string, colorScheme: "light" | "dark" = "light"): Promise<void> {
  const options = { viewport: { width: 1280, height: 800 }, colorScheme };
  page = await openPage(browser, `http://${server.web}/${address}`, complaints, options);
}

/** Addresses, and what is on the page when it is there. */
const pages: readonly (readonly [address: string, wanted: string])[] = [
  ["login", "#token"],
  ["#", ".grid .leaf"],
  ["#/lab/cell?block=density&steer=dials.gain:0:1,dials.mode", "canvas.map"],
  ["#/lab/cell?block=wave", "canvas.plot"],
  ["#/lab/cell?block=dials", "svg.spark"],
  ["#/lab/cell?block=dials&at=gain&view=history", "canvas.plot"],
  ["#/lab/cell?block=density&view=table", "table.array tbody td"],
  ["#/lab/cell?block=head&view=list", "table.array tbody td"],
  ["#/lab/cell?block=head&view=graph", "svg.graph a"],
  ["#/not/there", ".empty"],
];

for (const scheme of ["light", "dark"] as const) {
  test(`axe-core finds nothing on any page, ${scheme}`, async () => {
    await makeFleet(client, 20);
    for (const [address, wanted] of pages) {
      await open(address, scheme);
      await page.locator(wanted).first().waitFor();
      assert.deepEqual(await accessibilityOf(page), [], `the page ${address}`);
      await page.context().close();
    }
  });
}

test("axe-core finds nothing in dialogs and editors", async () => {
  await open("#/lab/cell?block=dials");
  await page.getByRole("button", { name: "40", exact: true }).click();
  assert.deepEqual(await accessibilityOf(page), []);
  await page.keyboard.press("Escape");
  for (const name of ["Types", "Remove…"]) {
    await page.getByRole("button", { name }).click();
    assert.deepEqual(await accessibilityOf(page), [], name);
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    // The focus is where it was.
    await page.waitForFunction((text) => document.activeElement?.textContent === text, name);
  }
  await page.locator("main").focus();
  await page.keyboard.press("?");
  assert.deepEqual(await accessibilityOf(page), []);
});

/** The text of what has the focus. */
function focused(): Promise<string> {
  return page.evaluate(() => document.activeElement?.textContent ?? "");
}

test("the list of segments is a tree for the arrows, and removes by Delete", async () => {
  await makeFleet(client, 99);
  await open("#");
  await page.getByText("100 segments").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.press("ArrowDown");
  assert.match(await focused(), /^\/fleet\/ \(99\)/);
  // Folders are open as far as there is room.
  assert.equal(await page.locator(".grid .rows .row").count(), 22);
  await page.keyboard.press("ArrowLeft");
  assert.equal(await page.locator(".grid .rows .row").count(), 2);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.match(await focused(), /^robot-00\/ \(5\)/);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.match(await focused(), /^arm/);
  await page.keyboard.press("Delete");
  await page.getByRole("heading", { name: "Remove /fleet/robot-00/arm?" }).waitFor();
  // Enter keeps it: nothing is removed by a key that was pressed twice.
  await page.keyboard.press("Enter");
  await page.locator("dialog").waitFor({ state: "detached" });
  assert.match(await focused(), /^arm/);
  await page.keyboard.press("Delete");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.locator("#notices", { hasText: "Removed /fleet/robot-00/arm" }).waitFor();
  await page.getByText("99 segments").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "/lab/cell" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("99 segments").waitFor();
});

test("a heat map is read, zoomed and opened by keys", async () => {
  await open("#/lab/cell?block=density");
  await page.locator("canvas.map").focus();
  const size = () =>
    page.evaluate(() => document.querySelector<HTMLCanvasElement>("canvas.map")!.width);
  assert.equal(await size(), 192);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Shift+ArrowUp");
  await page.locator("figcaption", { hasText: /^\[10\]\[1\] = [0-9.]+$/ }).waitFor();
  await page.keyboard.press("+");
  assert.equal(await size(), 96);
  // A row beyond the edge comes into view.
  for (let i = 0; i < 10; ++i) await page.keyboard.press("Shift+ArrowRight");
  await page.locator("figcaption", { hasText: /^\[10\]\[101\] = / }).waitFor();
  assert.equal(await page.locator(".marker:not(.frame)").isVisible(), true);
  for (let i = 0; i < 10; ++i) await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.press("0");
  assert.equal(await size(), 192);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("at=[10][1]"));
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "Segments" }).waitFor();
});
