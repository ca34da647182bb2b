/** The login of browsers [ACC-10]: the real server, and a real browser. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { connect, t, type Client } from "../src/node.js";
import { startBrowser } from "./browser_process.js";
import { makeCertificates, removeCertificates, serveWith } from "./certificates.js";
import { program, Server } from "./processes.js";

const directory = mkdtempSync(join(tmpdir(), "interweave-login-"));
const [tokens, rules] = [join(directory, "tokens"), join(directory, "rules")];
const papers = ["--tokens", tokens, "--rules", rules];
let browser: Browser;
let server: Server;
let client: Client;

function make(name: string): string {
  const words = ["token", "new", name, "--tokens", tokens];
  return execFileSync(program, words, { encoding: "utf8" }).trim();
}

const [alice, root] = [make("alice"), make("root")];
writeFileSync(rules, "allow alice read /a/**\nallow root all /**\nend\n");

before(async () => {
  browser = await startBrowser();
});

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
  await client.close();
  await server.stop();
});

after(async () => {
  await browser.close();
  removeCertificates();
  rmSync(directory, { recursive: true });
});

/** Two segments that root has made. */
async function fill(url: string): Promise<void> {
  process.env["IW_TOKEN"] = root;
  client = await connect(url);
  delete process.env["IW_TOKEN"];
  for (const path of ["/a/x", "/b/y"]) {
    const segment = await client.open(path);
    await segment.write(() => void segment.allocate(t.array(t.int, 4), { name: "n" }));
  }
}

async function open(url: string): Promise<Page> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

async function logIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
}

test("a person logs in, sees what the rules allow, and logs out", async () => {
  server = await Server.start("--store", "memory", ...papers);
  await fill(server.url);
  const page = await open(`http://${server.web}/`);
  assert.match(page.url(), /\/login$/);
  await logIn(page, `${alice.slice(0, -1)}${alice.endsWith("0") ? "1" : "0"}`);
  await page.getByRole("alert").filter({ hasText: "not valid" }).waitFor();
  await logIn(page, alice);
  await page.getByRole("link", { name: "/a/x" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "/b/y" }).count(), 0);
  await page.locator("#identity", { hasText: "alice" }).waitFor();
  assert.equal(await page.evaluate(() => document.cookie), "");
  const [cookie] = await page.context().cookies();
  assert.deepEqual([cookie?.httpOnly, cookie?.sameSite, cookie?.secure], [true, "Strict", false]);
  await page.goto(`http://${server.web}/#/a/x`);
  await page.locator("#connection", { hasText: "version 1" }).waitFor();
  await page.getByRole("button", { name: "Log out" }).click();
  await page.waitForURL(/\/login$/);
  await page.goto(`http://${server.web}/`);
  assert.match(page.url(), /\/login$/);
});

test("the viewer of a person whose token is revoked asks for another login", async () => {
  const name = "brief";
  const token = make(name);
  writeFileSync(rules, `allow ${name} read /a/**\nallow root all /**\nend\n`);
  server = await Server.start("--store", "memory", ...papers);
  await fill(server.url);
  const page = await open(`http://${server.web}/`);
  await logIn(page, token);
  await page.getByRole("link", { name: "/a/x" }).waitFor();
  execFileSync(program, ["token", "revoke", name, "--tokens", tokens]);
  await page.waitForURL(/\/login$/);
});

test("over https the cookie is for https alone", async () => {
  const certificates = makeCertificates();
  server = await serveWith(certificates, "--tls", "required", ...papers);
  process.env["IW_CA"] = join(certificates, "ca.pem");
  await fill(server.url.replace("iw://", "iws://"));
  delete process.env["IW_CA"];
  const page = await open(`https://localhost:${server.web.split(":")[1]}/`);
  await logIn(page, root);
  await page.getByRole("link", { name: "/b/y" }).waitFor();
  const [cookie] = await page.context().cookies();
  assert.deepEqual([cookie?.httpOnly, cookie?.sameSite, cookie?.secure], [true, "Strict", true]);
});
