/**
 * Pictures of every page of the viewer, to look at: light and dark, on a desk and on a phone, with
 * one segment and with 200.
 *
 *     npm run pictures -- FOLDER [WORD...]     only those whose names have all words
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { connect, type Client } from "../src/node.js";
import { startBrowser } from "./browser_process.js";
import { Server } from "./processes.js";
import { openPage } from "./viewer_pages.js";
import { makeCell, makeFleet, moveCell } from "./viewer_world.js";

const [folder = "pictures", ...words] = process.argv.slice(2);
const schemes = ["light", "dark"] as const;
const widths = { 1280: 800, 390: 844 };

interface View {
  readonly name: string;
  readonly address: string;
  /** Until it is there. */
  readonly wanted: string;
  readonly act?: (page: Page) => Promise<unknown>;
}

const cell = "#/lab/cell";
const views: readonly View[] = [
  { name: "login", address: "login", wanted: "#token" },
  { name: "segments", address: "#", wanted: ".grid .leaf" },
  {
    name: "segments-flat",
    address: "#",
    wanted: ".grid .row",
    act: async (page) => {
      await page.getByLabel("folders").click();
      await page.getByRole("button", { name: "Size", exact: true }).click();
      await page.locator(".grid .rows .row").first().hover();
    },
  },
  {
    name: "filter-empty",
    address: "#",
    wanted: ".grid .row",
    act: (page) => page.getByLabel("Filter segments").fill("nothing like it"),
  },
  {
    name: "map",
    address: `${cell}?block=density`,
    wanted: "canvas.map",
    act: (page) => page.mouse.move(600, 450),
  },
  {
    name: "map-steered",
    address: `${cell}?block=density&steer=dials.gain:0:1,dials.mode`,
    wanted: "canvas.map",
  },
  {
    name: "plot",
    address: `${cell}?block=wave`,
    wanted: "canvas.plot",
    act: (page) => page.mouse.move(700, 400),
  },
  { name: "record", address: `${cell}?block=dials`, wanted: "svg.spark" },
  {
    name: "editing",
    address: `${cell}?block=dials`,
    wanted: "svg.spark",
    act: (page) => page.getByRole("button", { name: "40", exact: true }).click(),
  },
  { name: "history", address: `${cell}?block=dials&at=gain&view=history`, wanted: "canvas.plot" },
  { name: "array", address: `${cell}?block=density&view=table`, wanted: "table.array" },
  { name: "list", address: `${cell}?block=head&view=list`, wanted: "table.array" },
  { name: "graph", address: `${cell}?block=head&view=graph`, wanted: "svg.graph a" },
  {
    name: "types",
    address: `${cell}?block=dials`,
    wanted: "svg.spark",
    act: (page) => page.getByRole("button", { name: "Types" }).click(),
  },
  {
    name: "remove",
    address: cell,
    wanted: "canvas.map",
    act: (page) => page.getByRole("button", { name: "Remove…" }).click(),
  },
  { name: "keys", address: cell, wanted: "canvas.map", act: (page) => page.keyboard.press("?") },
  { name: "missing", address: "#/not/there", wanted: ".empty" },
];

async function take(browser: Browser, web: string, count: number, move: () => Promise<void>) {
  for (const view of views) {
    for (const [width, height] of Object.entries(widths)) {
      for (const colorScheme of schemes) {
        const name = `${view.name}-${count}-${width}-${colorScheme}`;
        if (!words.every((word) => name.includes(word))) continue;
        const viewport = { width: Number(width), height };
        const options = { viewport, colorScheme };
        const complaints: string[] = [];
        const page = await openPage(browser, `http://${web}/${view.address}`, complaints, options);
        await page.locator(view.wanted).first().waitFor({ timeout: 10_000 }).catch(String);
        if (view.address.startsWith(cell)) for (let i = 0; i < 12; ++i) await move();
        await view.act?.(page);
        await page.screenshot({ path: join(folder, `${name}.png`) });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        const more = wide > 0 ? `, ${wide} px too wide` : "";
        console.log(`${name}${more}${complaints.map((text) => `, ${text}`).join("")}`);
        await page.context().close();
      }
    }
  }
}

async function main(): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const browser = await startBrowser();
  for (const count of [1, 200]) {
    const server = await Server.start();
    const client: Client = await connect(server.url, { label: "cell control" });
    const segment = await makeCell(client);
    await makeFleet(client, count - 1);
    let time = 0;
    await take(browser, server.web, count, () => moveCell(segment, (time += 0.13)));
    await client.close();
    await server.stop();
  }
  await browser.close();
}

await main();
