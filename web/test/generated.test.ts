/**
 * What `interweave compile --lang typescript` makes of .x files, as programs have it: compiled by
 * tsc --strict against the package, run by Node against the real server.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { connect } from "../src/node.js";
import { program, Server, Simulator } from "./processes.js";
import { root } from "./vectors.js";

const run = promisify(execFile);
const web = `${root}web/`;
const made = `${web}build/typed/`;
const dialects = `${root}idl/tests/dialects/`;

function filesOf(directory: string): string[] {
  const files = readdirSync(directory).filter((name) => name.endsWith(".x"));
  assert.ok(files.length > 0, directory);
  return files.map((name) => directory + name);
}

/** All of a directory's .ts files, and whether the compiler takes them. */
async function compiled(directory: string): Promise<void> {
  const tsc = `${web}node_modules/typescript/bin/tsc`;
  await run(process.execPath, [tsc, "-p", directory]).catch((error: { stdout: string }) =>
    assert.fail(error.stdout),
  );
}

async function generate(to: string, ...files: string[]): Promise<void> {
  await run(program, ["compile", "--lang", "typescript", "--out", to, ...files]);
}

before(async () => {
  rmSync(made, { recursive: true, force: true });
  cpSync(`${web}test/typed`, made, { recursive: true });
  const files = [`${dialects}all_types.x`, `${dialects}ledger.x`, `${dialects}list.x`];
  await generate(made, `${root}examples/astroflow/astroflow.x`, ...files);
  await compiled(made);
});

async function said(name: string, server: Server): Promise<unknown> {
  const { stdout } = await run(process.execPath, [`${made}${name}.js`, server.url]);
  return JSON.parse(stdout);
}

test("a program with generated types reads and steers the simulation", async () => {
  const server = await Server.start();
  const simulator = new Simulator(`${server.url}/astroflow`);
  const seen = (await said("steer", server)) as { last: number };
  assert.ok(seen.last > 0);
  assert.deepEqual(seen, {
    problem: 1,
    cfl: 0.25,
    isRunning: true,
    nx: 256,
    time: true,
    last: seen.last,
    refused: "BAD_VALUE",
    conflict: "TYPE_CONFLICT",
  });
  await simulator.stop();
  await server.stop();
});

test("a program with generated types makes what others read without them", async () => {
  const server = await Server.start();
  const expected = { key: 7, hash: 5, shares: 2, weight: 3, s: 1, sum: 144 };
  assert.deepEqual(await said("kinds", server), expected);
  const client = await connect(server.url);
  const segment = await client.open("/typed", { readOnly: true });
  await segment.read(() => {
    assert.equal(segment.block("account").type.name, "ledger::AccountEntry");
    const account = segment.get("account") as { homeDomain: string; balance: bigint };
    assert.deepEqual([account.homeDomain, account.balance], ["example.org", 1n << 40n]);
  });
  await client.close();
  await server.stop();
});

test("every dialect becomes strict TypeScript that loads", async () => {
  const all = `${made}dialects/`;
  for (const part of ["", "include/", "include/deeper/", "other/"]) {
    mkdirSync(all + part, { recursive: true });
    if (part === "include/deeper/") continue;
    await generate(all + part, ...filesOf(dialects + part));
  }
  cpSync(`${web}test/typed/tsconfig.json`, `${all}tsconfig.json`);
  await compiled(all);
  for (const name of readdirSync(all).filter((each) => each.endsWith(".js"))) {
    await import(all + name);
  }
});
