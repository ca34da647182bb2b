/** HTTP and WebSockets over TLS [NET-6]: the real server, Node, and a real browser. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { get } from "node:https";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { connect as connectInBrowser } from "../src/index.js";
import { connect, t } from "../src/node.js";
import { startBrowser } from "./browser_process.js";
import { makeCertificates, removeCertificates, serveWith } from "./certificates.js";
import { fails } from "./clients.js";
import type { Server } from "./processes.js";

const certificates = makeCertificates();
let browser: Browser;
let server: Server;

before(async () => {
  browser = await startBrowser();
});

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
  await server?.stop();
});

after(async () => {
  await browser.close();
  removeCertificates();
});

/** A page of the viewer over https; the browser is told to trust any server. */
async function view(address: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
  const page = await context.newPage();
  const port = server.web.split(":")[1];
  await page.goto(`https://localhost:${port}/#${address}`);
  return page;
}

test("a browser views and steers over https and wss alone", async () => {
  server = await serveWith(certificates, "--tls", "required");
  process.env["IW_CA"] = join(certificates, "ca.pem");
  const client = await connect(server.url.replace("iw://", "iws://"));
  const segment = await client.open("/rate");
  await segment.write(() => void segment.allocate(t.array(t.double, 3), { name: "rate" }));
  const page = await view("/rate");
  await page.locator("#connection", { hasText: "version 1" }).waitFor();
  await segment.write(() => void (segment.get("rate") as Float64Array).fill(7));
  await page.locator("#connection", { hasText: "version 2" }).waitFor();
  await client.close();
  delete process.env["IW_CA"];
});

test("a page opens a WebSocket at the port of iws:// URLs", async () => {
  server = await serveWith(certificates);
  // The viewer's own policy lets it speak with its own port alone.
  const page = await view("", { bypassCSP: true });
  await page.locator("#connection", { hasText: "connected" }).waitFor();
  const opened = await page.evaluate(
    (url) =>
      new Promise((resolve) => {
        const socket = new WebSocket(url);
        socket.onopen = () => resolve("open");
        socket.onerror = () => resolve("error");
      }),
    `wss://localhost:${server.address.split(":")[1]}/ws`,
  );
  assert.equal(opened, "open");
});

test("iws:// is wss:// at the same port where only WebSockets are", async () => {
  const asked: string[] = [];
  class Asked {
    binaryType = "";
    constructor(url: string) {
      asked.push(url);
    }
    send(): void {}
    close(): void {}
    addEventListener(type: string, listener: (event: object) => void): void {
      if (type === "error") listener({});
    }
  }
  const unreachable = fails("UNREACHABLE", /wss:/);
  for (const url of ["iws://sim.example", "iws://[::1]:9000", "wss://sim.example:7748"]) {
    await assert.rejects(connectInBrowser(url, { webSocket: Asked }), unreachable);
  }
  assert.deepEqual(asked, [
    "wss://sim.example:7747/ws",
    "wss://[::1]:9000/ws",
    "wss://sim.example:7748/ws",
  ]);
  await assert.rejects(connectInBrowser("iw://a", { webSocket: Asked }), fails("BAD_URL", /iws:/));
});

/** What https answers, with Node's own client. */
function ask(path: string): Promise<{ status: number; text: string }> {
  const port = server.web.split(":")[1];
  const ca = readFileSync(join(certificates, "ca.pem"));
  return new Promise((resolve, reject) => {
    const request = get(`https://localhost:${port}${path}`, { ca }, (answer) => {
      let text = "";
      answer.on("data", (part) => (text += part));
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    request.on("error", reject);
  });
}

test("a program asks over https with the authority's certificate", async () => {
  server = await serveWith(certificates);
  const { status, text } = await ask("/healthz");
  assert.equal(status, 200);
  assert.match(text, /"status":"ok"/);
});

test("a browser shows its client certificate", async () => {
  const authority = join(certificates, "ca.pem");
  server = await serveWith(certificates, "--tls", "required", "--client-ca", authority);
  await assert.rejects(view(""), /ERR_BAD_SSL_CLIENT_AUTH_CERT|ERR_/);
  const origin = `https://localhost:${server.web.split(":")[1]}`;
  const page = await view("", {
    clientCertificates: [
      {
        origin,
        certPath: join(certificates, "alice.pem"),
        keyPath: join(certificates, "alice.key"),
      },
    ],
  });
  await page.locator("h1", { hasText: "InterWeave" }).waitFor();
});
