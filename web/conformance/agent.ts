/**
 * The conformance agent of the TypeScript client: obeys the commands of conformance/README.md.
 *
 * The library's tasks have no identity, but this program is one task: it counts the locks that it
 * holds itself, as a thread's are counted elsewhere.
 */
import { createInterface } from "node:readline";
import { parseMip, parseUrl, hostsText } from "../src/wire/mip.js";
import { mipOfPlace } from "../src/client/place.js";
import { ownMipOf } from "../src/client/mips.js";
import {
  Coherence,
  connect,
  Durability,
  ErrorCode,
  InterweaveError,
  type Client,
  type ReadLock,
  type Segment,
  type WriteLock,
} from "../src/node.js";
import { Listening } from "./listening.js";
import { Declarations, typeJson } from "./types.js";
import {
  badArgument,
  findBlock,
  ownedSerials,
  placeAt,
  putUnit,
  unitList,
  unitValue,
  wholeOf,
  type Lead,
} from "./units.js";

interface Open {
  segment: Segment;
  reads: number;
  writes: number;
  read: ReadLock | null;
  write: WriteLock | null;
  listening: Listening | null;
}

const CONTROLS: Record<string, string> = { b: "08", f: "0c", n: "0a", r: "0d", t: "09" };

/** As every agent writes it: control characters by number, and bytes from 0x7f on escaped, too. */
function json(value: unknown): string {
  return JSON.stringify(value)
    .replace(/\\(.)/g, (pair, c: string) => (c in CONTROLS ? `\\u00${CONTROLS[c]}` : pair))
    .replace(/[\u007f-\u00ff]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`);
}

class Agent {
  private readonly clients = new Map<string, Client>();
  private readonly segments = new Map<string, Open>();
  private readonly types = new Declarations();

  async run(line: string): Promise<string> {
    const [command = ""] = line.split(" ", 1);
    const handler = this.commands[command];
    if (handler === undefined) return "error UNIMPLEMENTED no such command";
    try {
      const answer = await handler(line.slice(command.length + 1));
      return answer === undefined ? "ok" : `ok ${answer}`;
    } catch (error) {
      if (error instanceof InterweaveError) return `error ${error.codeName} ${error.message}`;
      if (error instanceof SyntaxError || error instanceof TypeError)
        return `error BAD_ARGUMENT ${error.message}`;
      throw error;
    }
  }

  private readonly commands: Record<string, (rest: string) => unknown> = {
    hello: () =>
      json({
        client: "typescript",
        machine: process.arch,
        byte_order: "little",
        pointer_bits: 64,
        abilities: ["declare", "write", "owned", "pointers", "coherence"],
      }),
    types: (rest) => this.types.add(JSON.parse(rest) as never),
    open: (rest) => this.open(rest.split(" ")),
    close: async (rest) => {
      await this.of(rest).segment.close();
      this.segments.delete(rest);
    },
    reset: async () => {
      for (const { segment } of this.segments.values()) await segment.close();
      this.segments.clear();
    },
    rl: (rest) => this.acquireReader(rest.split(" ")),
    rl_release: (rest) => this.releaseReader(this.of(rest)),
    wl: (rest) => this.acquireWriter(rest.split(" ")),
    wl_release: (rest) => this.releaseWriter(this.of(rest)),
    wl_abort: (rest) => {
      const open = this.of(rest);
      if (open.write === null) throw noLock();
      open.write.abort();
      Object.assign(open, { write: null, writes: 0 });
    },
    coherence: (rest) => {
      const [name = "", model = "", x = "0"] = rest.split(" ");
      const number = Number(x);
      const bounds = {
        full: Coherence.full,
        strict: Coherence.strict,
        null: Coherence.none,
        delta: Coherence.delta(number),
        temporal: Coherence.temporal(number),
        diff: Coherence.diff(number),
      } as const;
      const bound = bounds[model as keyof typeof bounds];
      if (bound === undefined) throw badArgument(`no model ${model}`);
      this.of(name).segment.coherence = bound;
    },
    version: (rest) => this.of(rest).segment.version,
    staleness: (rest) => {
      const { staleness } = this.of(rest).segment;
      return Number.isFinite(staleness) ? staleness : "never";
    },
    refresh: async (rest) => {
      const open = this.of(rest);
      if (open.reads + open.writes === 0) await open.segment.read(() => undefined, { fresh: true });
    },
    listen: (rest) => {
      const open = this.of(rest);
      open.listening = new Listening(open.segment);
    },
    told: (rest) => {
      const [name = "", what = "", seconds = "30"] = rest.split(" ");
      const { listening } = this.of(name);
      if (listening === null) throw badArgument("the segment has no listener");
      return listening.told(what, Number(seconds));
    },
    make: async (rest) => {
      const [name = "", blockName = "", count = ""] = rest.split(" ");
      const text = rest.split(" ").slice(3).join(" ");
      const declared = this.types.from(JSON.parse(text) as never);
      const { segment } = this.of(name);
      await segment.reserveBlocks(1);
      return segment.allocate(declared, {
        count: Number(count),
        name: blockName === "-" ? "" : blockName,
      }).serial;
    },
    free: (rest) => {
      const [name = "", block = ""] = rest.split(" ");
      const { segment } = this.of(name);
      segment.changes();
      segment.free(segment.block(findBlock(segment, block).serial));
    },
    get: (rest) => {
      const { segment, place } = this.placeOf(rest);
      const found = place();
      segment.checkReadable();
      return json(unitValue(found));
    },
    put: async (rest) => {
      const { segment, place, value } = this.placeOf(rest);
      place();
      segment.changes();
      const parsed = await this.canonical(JSON.parse(value));
      await segment.reserveBlocks(mostBlocks(parsed));
      putUnit(place(), parsed, this.leadFrom(segment));
    },
    mip: (rest) => {
      const { segment, place } = this.placeOf(rest);
      segment.checkReadable();
      return ownMipOf(place());
    },
    resolve: (rest) => this.resolve(rest),
    dump: (rest) => this.dump(this.of(rest).segment),
  };

  private of(name: string): Open {
    const open = this.segments.get(name);
    if (open === undefined) throw new InterweaveError(ErrorCode.NOT_OPEN, `${name} is not open`);
    return open;
  }

  private placeOf(rest: string) {
    const [name = "", placeText = ""] = rest.split(" ", 2);
    const { segment } = this.of(name);
    const value = rest.slice(name.length + placeText.length + 2);
    return { segment, value, place: () => placeAt(segment, placeText) };
  }

  private async clientOf(server: string): Promise<Client> {
    let client = this.clients.get(server);
    if (client === undefined) this.clients.set(server, (client = await connect(server)));
    return client;
  }

  private async open([name = "", urlText = "", ...options]: string[]): Promise<void> {
    const { server, path } = parseUrl(urlText);
    const client = await this.clientOf(hostsText(server));
    const number = (key: string) =>
      options.find((option) => option.startsWith(`${key}=`))?.slice(key.length + 1);
    const [timeout, quota] = [number("timeout"), number("quota")];
    const segment = await client.open(path, {
      create: options.includes("create"),
      readOnly: options.includes("read_only"),
      durability: options.includes("memory")
        ? Durability.MEMORY
        : options.includes("written")
          ? Durability.WRITTEN
          : Durability.SYNCED,
      ...(timeout === undefined ? {} : { timeoutMs: 1000 * Number(timeout) }),
      ...(quota === undefined ? {} : { quotaBytes: Number(quota) }),
    });
    const none = { reads: 0, writes: 0, read: null, write: null, listening: null };
    this.segments.set(name, { segment, ...none });
  }

  private async acquireReader([name = "", seconds, fresh]: string[]): Promise<void> {
    const open = this.of(name);
    if (open.reads === 0 && open.writes === 0) {
      const timeoutMs = seconds === undefined ? {} : { timeoutMs: 1000 * Number(seconds) };
      open.read = await open.segment.read({ ...timeoutMs, fresh: fresh === "fresh" });
    }
    open.reads += 1;
  }

  private releaseReader(open: Open): void {
    if (open.reads === 0) throw noLock();
    open.reads -= 1;
    if (open.reads > 0) return;
    open.read?.release();
    open.read = null;
  }

  private async acquireWriter([name = "", seconds]: string[]): Promise<void> {
    const open = this.of(name);
    if (open.reads > 0 && open.writes === 0) {
      throw new InterweaveError(ErrorCode.WOULD_DEADLOCK, "a reader lock is held");
    }
    if (open.writes === 0) {
      open.write = await open.segment.write(
        seconds === undefined ? {} : { timeoutMs: 1000 * Number(seconds) },
      );
    }
    open.writes += 1;
  }

  private async releaseWriter(open: Open): Promise<void> {
    if (open.write === null) throw noLock();
    open.writes -= 1;
    if (open.writes > 0) return;
    try {
      await open.write.release();
      open.write = null;
    } catch (error) {
      if (open.segment.isWriting) open.writes = 1;
      else open.write = null;
      throw error;
    }
  }

  /** A value with the MIPs by name in it made those by serial, which may mean asking the server. */
  private async canonical(value: unknown): Promise<unknown> {
    if (typeof value === "string" && /^(iws?|unix):.*#[^0-9]/.test(value))
      return this.resolve(value);
    if (Array.isArray(value)) return Promise.all(value.map((each) => this.canonical(each)));
    if (typeof value !== "object" || value === null) return value;
    const members = Object.entries(value).map(async ([name, each]) => [
      name,
      await this.canonical(each),
    ]);
    return Object.fromEntries((await Promise.all(members)) as [string, unknown][]);
  }

  private leadFrom(segment: Segment): Lead {
    return (text) => {
      const { url, block, offset } = parseMip(text);
      const server = hostsText(url.server);
      const isHere = segment.url === server + url.path;
      const heap = isHere
        ? segment
        : [...this.segments.values()].find((open) => open.segment.url === server + url.path)
            ?.segment;
      const serial =
        typeof block === "number"
          ? block
          : heap === undefined
            ? 0
            : findBlock(heap, String(block)).serial;
      const isSameServer = segment.url.startsWith(`${server}/`);
      return {
        slotText: isHere ? null : isSameServer ? url.path : server + url.path,
        serial,
        offset,
      };
    };
  }

  private async resolve(text: string): Promise<string> {
    const { url, block, offset } = parseMip(text);
    const server = hostsText(url.server);
    const client = await this.clientOf(server);
    const segment = await client.open(url.path, { create: false });
    const find = () => {
      const found = block === null ? firstBlock(segment) : findBlock(segment, String(block));
      if (offset > BigInt(found.units))
        throw new InterweaveError(ErrorCode.BAD_POINTER, `the value has no unit ${offset}`);
      return mipOfPlace({ ...wholeOf(segment, found), unit: Number(offset) });
    };
    const isHeld = [...this.segments.values()].some(
      (open) => open.segment === segment && open.reads + open.writes > 0,
    );
    return isHeld ? find() : segment.read(find);
  }

  private dump(segment: Segment): string {
    segment.checkReadable();
    const owned = ownedSerials(segment);
    const blocks = [...segment.copy.blocks.values()]
      .filter(({ serial }) => !owned.has(serial))
      .sort((a, b) => a.serial - b.serial);
    return json(
      blocks.map((block) => ({
        serial: block.serial,
        name: block.name,
        type: typeJson(block.type, segment),
        count: block.count,
        units: unitList(wholeOf(segment, block), block.count),
      })),
    );
  }
}

/** How many blocks a value may need at most: one for each list and text in it. */
function mostBlocks(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, each) => sum + mostBlocks(each), 1);
}

function firstBlock(segment: Segment) {
  const [first] = segment.copy.blocks.values();
  if (first !== undefined) return first;
  throw new InterweaveError(ErrorCode.NO_BLOCK, "the segment has no block");
}

function noLock(): InterweaveError {
  return new InterweaveError(ErrorCode.NO_LOCK, "this program holds no such lock");
}

const agent = new Agent();
let last: Promise<void> = Promise.resolve();
const input = createInterface({ input: process.stdin });
input.on("line", (line) => {
  last = last.then(
    async () => void process.stdout.write(`${(await agent.run(line)).replaceAll("\n", " ")}\n`),
  );
});
input.on("close", () => void last.then(() => process.exit(0)));
