/** Encrypted connections from Node [NET-5]: the real server, with real certificates. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, afterEach, test } from "node:test";
import { makeCertificates, removeCertificates, serveWith } from "./certificates.js";
import { Clients, fails } from "./clients.js";
import { Server } from "./processes.js";
import { t } from "../src/node.js";

function secure(server: Server): string {
  return server.url.replace("iw://", "iws://");
}

const certificates = makeCertificates();
const clients = new Clients();
let server: Server;

function trust(folder: string): void {
  process.env["IW_CA"] = join(folder, "ca.pem");
}

function be(folder: string, name: string): void {
  process.env["IW_CERT"] = join(folder, `${name}.pem`);
  process.env["IW_KEY"] = join(folder, `${name}.key`);
}

afterEach(async () => {
  await clients.close();
  await server.kill();
  for (const name of ["IW_CA", "IW_CERT", "IW_KEY"]) delete process.env[name];
});
after(removeCertificates);

test("encrypted and plain clients of one port share a segment [NET-5]", async () => {
  server = await serveWith(certificates);
  trust(certificates);
  const count = 1 << 20;
  const writer = await clients.connectTo(secure(server));
  const written = await writer.open("/numbers");
  await written.write(() => {
    const numbers = written.allocate(t.array(t.int, count), { name: "n" }).value as Int32Array;
    numbers.forEach((_, i) => (numbers[i] = i));
  });
  for (const url of [secure(server), server.url]) {
    const reader = await (await clients.connectTo(url)).open("/numbers");
    const sum = await reader.read(() =>
      (reader.get("n") as Int32Array).reduce((all, value) => all + value, 0),
    );
    assert.equal(sum, (count * (count - 1)) / 2);
  }
});

test("a server that cannot be trusted is left", async () => {
  server = await serveWith(certificates);
  await assert.rejects(clients.connectTo(secure(server)), fails("DENIED", /not trusted.*IW_CA/));
  trust(makeCertificates());
  await assert.rejects(clients.connectTo(secure(server)), fails("DENIED", /not trusted/));
  process.env["IW_CA"] = "/nowhere/ca.pem";
  await assert.rejects(clients.connectTo(secure(server)), fails("DENIED", /nowhere.*IW_CA/));
});

test("a client shows its certificate", async () => {
  const authority = join(certificates, "ca.pem");
  server = await serveWith(certificates, "--tls", "required", "--client-ca", authority);
  trust(certificates);
  await assert.rejects(clients.connectTo(secure(server)), fails("DENIED", /IW_CERT/));
  be(certificates, "alice");
  await (await clients.connectTo(secure(server))).open("/s");
});

test("options go before the environment [CRED-1]", async () => {
  const authority = join(certificates, "ca.pem");
  server = await serveWith(certificates, "--tls", "required", "--client-ca", authority);
  const alice = {
    ca: authority,
    cert: join(certificates, "alice.pem"),
    key: join(certificates, "alice.key"),
  };
  trust("/nowhere");
  be("/nowhere", "bob");
  const url = secure(server);
  await (await clients.connectTo(url, alice)).open("/s");
  const refusals: [object, RegExp][] = [
    [{ ...alice, ca: "/nowhere/ca" }, /nowhere\/ca of IW_CA or of the option ca/],
    [{ ...alice, cert: alice.key }, /alice\.key of IW_CERT or of the option cert/],
    [{ ...alice, key: join(certificates, "server.key") }, /server\.key of IW_KEY.*option key/],
    [{ ca: alice.ca, cert: alice.cert }, /options cert and key, belong together/],
    [{ ca: alice.ca, cert: "", key: "" }, /refused this client's certificate/],
  ];
  for (const [options, text] of refusals) {
    await assert.rejects(clients.connectTo(url, options), fails("DENIED", text));
  }
});

test("a server without TLS is named", async () => {
  server = await Server.start();
  trust(certificates);
  await assert.rejects(clients.connectTo(secure(server)), fails("UNREACHABLE", /--tls-cert/));
});
