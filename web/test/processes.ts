/**
 * The real server, and C++ clients, as child processes. Nothing waits by time: the server says when
 * it listens, an agent answers each command with a line (native/abi/tests/agent_main.cc).
 */
import assert from "node:assert/strict";
import { spawn, type ChildProcess, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { root } from "./vectors.js";

export const program = process.env["IW_TEST_SERVER"] ?? `${root}target/release/interweave`;
export const agentProgram =
  process.env["IW_TEST_AGENT"] ?? `${root}build/release/native/abi/test_agent`;

const simulatorProgram =
  process.env["IW_TEST_SIMULATOR"] ?? `${root}build/release/examples/astroflow/astroflow-simulator`;

const clusterProgram =
  process.env["IW_TEST_CLUSTER"] ?? `${root}target/release/interweave-test-cluster`;

/** The lines that a child says, as they are asked for. */
class Lines {
  private readonly lines: string[] = [];
  private readonly waiting: ((line: string) => void)[] = [];

  constructor(stream: NodeJS.ReadableStream) {
    const reader = createInterface({ input: stream });
    reader.on("line", (line) => this.put(line));
    reader.on("close", () => this.put(""));
  }

  private put(line: string): void {
    const waiting = this.waiting.shift();
    if (waiting === undefined) this.lines.push(line);
    else waiting(line);
  }

  next(): Promise<string> {
    const line = this.lines.shift();
    if (line !== undefined) return Promise.resolve(line);
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  child.kill(signal);
  await once(child, "exit");
}

export class Server {
  private constructor(
    private child: ChildProcess,
    readonly address: string,
    /** Of HTTP. */
    readonly web: string,
    private readonly options: string[],
  ) {}

  static async start(...options: string[]): Promise<Server> {
    const all = options.length === 0 ? ["--store", "memory"] : options;
    const { child, address, web } = await begin(await freeAddress(), await freeAddress(), all);
    return new Server(child, address, web, all);
  }

  /** One of a space: at that store, which other servers share. */
  static async startMember(store: string, ...options: string[]): Promise<Server> {
    const [listen, http] = [await freeAddress(), await freeAddress()];
    const lease = options.includes("--space-lease") ? [] : ["--space-lease", "1"];
    const space = ["--advertise", listen, ...lease];
    const all = ["--store", store, ...space, ...options];
    const { child, address, web } = await begin(listen, http, all);
    return new Server(child, address, web, all);
  }

  get url(): string {
    return `iw://${this.address}`;
  }

  /** kill -9 */
  kill(): Promise<void> {
    return end(this.child, "SIGKILL");
  }

  stop(): Promise<void> {
    return end(this.child, "SIGTERM");
  }

  get hasEnded(): boolean {
    return hasEnded(this.child);
  }

  /** The process hears what is said meanwhile when it is resumed. */
  suspend(): void {
    this.child.kill("SIGSTOP");
  }

  resume(): void {
    this.child.kill("SIGCONT");
  }

  /** On the same addresses. */
  async restart(): Promise<void> {
    this.child = (await begin(this.address, this.web, this.options)).child;
  }
}

/**
 * An address to listen on that the system gives to no other process while a server is started
 * again. Its port is below those that Linux gives to a program that asks for any.
 */
export async function freeAddress(): Promise<string> {
  for (;;) {
    const port = 20000 + Math.floor(Math.random() * 12000);
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    probe.close();
    await once(probe, "close");
    return `127.0.0.1:${port}`;
  }
}

/** Lets everybody in, also pages and plain requests over HTTP, unless the options say who may. */
async function begin(listen: string, http: string, options: string[]) {
  const saysWho = options.some((option) => /^--(tokens|rules|own-token)$/.test(option));
  const who = saysWho ? [] : ["--insecure"];
  const child = spawn(program, ["serve", "--listen", listen, "--http", http, ...who, ...options], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1" },
  });
  const [said, logged] = [new Lines(child.stdout), new Lines(child.stderr)];
  let web = "";
  for (let line = await logged.next(); line !== ""; line = await logged.next()) {
    web = / HTTP: .* address=(\S+)/.exec(line)?.[1] ?? web;
    if (line.includes(" listening ")) break;
  }
  const address = (await said.next()).replace(/^listening /, "");
  assert.ok(address !== "" && web !== "", `${program} serve does not start`);
  return { child, address, web };
}

/** A command of the program runs, and must succeed. */
export async function interweave(...words: string[]): Promise<void> {
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (text += part));
  const [code] = await once(child, "close");
  assert.equal(code, 0, `interweave ${words.join(" ")}: ${text}`);
}

/** PostgreSQL, a primary and a standby, which servers of a space share. */
export class Cluster {
  private constructor(
    private readonly child: ChildProcessByStdio<Writable, Readable, null>,
    private readonly lines: Lines,
    private readonly url: string,
  ) {}

  static async start(): Promise<Cluster> {
    const child = spawn(clusterProgram, { stdio: ["pipe", "pipe", "inherit"] });
    const lines = new Lines(child.stdout);
    const url = await lines.next();
    assert.match(url, /SCHEMA/, `${clusterProgram} does not start; make/web.sh test builds it`);
    return new Cluster(child, lines, url);
  }

  /** Of a space of its own, for each name. */
  storeUrl(schema: string): string {
    return this.url.replace("SCHEMA", schema);
  }

  /** By the end of its input: killed, it would leave the database's processes behind. */
  async stop(): Promise<void> {
    const ended = once(this.child, "exit");
    this.child.stdin.end();
    await ended;
  }

  /** No write is committed until the standby is resumed. */
  async pauseStandby(): Promise<void> {
    await this.tell("pause standby");
  }

  async resumeStandby(): Promise<void> {
    await this.tell("resume standby");
  }

  private async tell(command: string): Promise<void> {
    this.child.stdin.write(`${command}\n`);
    assert.equal(await this.lines.next(), "ok", command);
  }
}

/** A C++ client. */
export class Agent {
  private readonly lines: Lines;

  constructor(
    private readonly child = spawn(agentProgram, { stdio: ["pipe", "pipe", "inherit"] }),
  ) {
    this.lines = new Lines(child.stdout);
  }

  ask(command: string): Promise<string> {
    this.child.stdin.write(`${command}\n`);
    return this.lines.next();
  }

  /** Commands that must be answered ok. */
  async do(...commands: string[]): Promise<void> {
    for (const command of commands) assert.equal(await this.ask(command), "ok", command);
  }

  stop(): Promise<void> {
    return end(this.child, "SIGKILL");
  }
}

/** A Node program that only listens: it says each version, and what becomes of its connection. */
export class Listener {
  private readonly child;
  private readonly lines: Lines;

  constructor(url: string, path: string) {
    const listener = fileURLToPath(new URL("./listener.js", import.meta.url));
    this.child = spawn(process.execPath, [listener, url, path], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.lines = new Lines(this.child.stdout);
  }

  /** The next lines must be these. */
  async says(...lines: string[]): Promise<void> {
    for (const line of lines) assert.equal(await this.lines.next(), line);
  }

  next(): Promise<string> {
    return this.lines.next();
  }

  /** The process notices what happens meanwhile when it is resumed. */
  suspend(): void {
    this.child.kill("SIGSTOP");
  }

  resume(): void {
    this.child.kill("SIGCONT");
  }

  stop(): Promise<void> {
    return end(this.child, "SIGKILL");
  }
}

/** The gas simulation of the demo, which obeys whoever steers. */
export class Simulator {
  private readonly child;

  constructor(url: string) {
    const options = ["--url", url, "--quiet", "--max-fps", "30"];
    this.child = spawn(simulatorProgram, options, { stdio: ["ignore", "ignore", "inherit"] });
  }

  stop(): Promise<void> {
    return end(this.child, "SIGTERM");
  }
}
