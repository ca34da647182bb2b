/**
 * A player in a real browser: `browser.mjs walk|hunt PAGE NAME`. `walk` presses arrow keys and looks
 * where the player is drawn. `hunt` lets the page play by itself, and prints the points when no coin
 * is left.
 */
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const require = createRequire(new URL("../../../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");

const cellPixels = 28;
const [what, address, name] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.IW_TEST_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"],
});
const page = await browser.newPage();
const complaints = [];
page.on("pageerror", (error) => complaints.push(error.message));
page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));

/** Once the page shows a line of points that the text is part of. */
async function shows(text) {
  await page.waitForFunction(
    (wanted) => document.querySelector("[role=status]").textContent.includes(wanted),
    text,
  );
  return page.textContent("[role=status]");
}

/** The cell in which the player with the colour is drawn; null: in none. */
function cellOf(colour) {
  return page.evaluate(
    ([wanted, pixels]) => {
      const canvas = document.querySelector("canvas");
      const from = canvas.getContext("2d", { willReadFrequently: true });
      for (let y = 0; y * pixels < canvas.height; ++y) {
        for (let x = 0; x * pixels < canvas.width; ++x) {
          const [r, g, b] = from.getImageData(x * pixels + 4, y * pixels + 4, 1, 1).data;
          if (r * 65536 + g * 256 + b === wanted) return { x, y };
        }
      }
      return null;
    },
    [colour, cellPixels],
  );
}

/** The second player, among others, walks down and up again, past no wall. */
async function walk() {
  const colour = 0xc23b22;
  const began = await cellOf(colour);
  assert.notEqual(began, null, "the player is not drawn");
  for (const [key, dy] of [["ArrowDown", 1], ["ArrowUp", 0]]) {
    await page.keyboard.press(key);
    for (let at = await cellOf(colour); at?.y !== began.y + dy; at = await cellOf(colour)) {
      assert.equal(at?.x ?? began.x, began.x);
    }
  }
  console.log("walked");
}

try {
  page.setDefaultTimeout(60_000);
  await page.goto(address);
  await page.fill("[name=player]", name);
  if (what === "hunt") await page.check("[name=hunts]");
  await page.click("button");
  await shows(`${name} `);
  if (what === "walk") await walk();
  else console.log(await shows(" 0 left"));
  assert.deepEqual(complaints, []);
} catch (error) {
  console.error(await page.textContent("[role=status]"), complaints);
  throw error;
} finally {
  await browser.close();
}
