/** The browser of the tests. */
import { chromium, type Browser } from "playwright-core";

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env["IW_TEST_CHROMIUM"] ?? "/usr/bin/chromium",
    args: flags,
  });
}
