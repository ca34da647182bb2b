/**
 * Pages of the viewer in the browser of the tests. With IW_TEST_VIEWER=FOLDER they have the
 * program and the style of that folder, so that a change is seen before the server is built anew.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { fileURLToPath } from "node:url";

const folder = process.env["IW_TEST_VIEWER"];
/** Not the page itself: a browser that did not get it from this machine trusts it less. */
const files: Record<string, string> = { "/viewer.js": "viewer.js", "/viewer.css": "viewer.css" };

/** Opens an address of a server's page; `complaints` takes what the page complains of. */
export async function openPage(
  browser: Browser,
  url: string,
  complaints: string[],
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1100, height: 800 }, ...options });
  const page = await context.newPage();
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  if (folder !== undefined) await serveFrom(page, folder);
  await page.goto(url);
  return page;
}

async function serveFrom(page: Page, from: string): Promise<void> {
  for (const [path, name] of Object.entries(files)) {
    await page.route(
      (url) => url.pathname === path,
      async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, body: readFileSync(join(from, name)) });
      },
    );
  }
}

/** The faults that axe-core finds in the page as it is, a line each. */
export async function accessibilityOf(page: Page): Promise<string[]> {
  await page.evaluate(axeSource());
  return page.evaluate(async () => {
    type Found = { violations: { id: string; help: string; nodes: { html: string }[] }[] };
    const { axe } = window as unknown as { axe: { run(): Promise<Found> } };
    const { violations } = await axe.run();
    return violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`),
    );
  });
}

let source: string | null = null;
function axeSource(): string {
  source ??= readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");
  return source;
}
