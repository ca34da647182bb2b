/**
 * Leaders that Patroni keeps are killed under a writer and a reader; the dead node comes back as a
 * standby each time. Prints how much was done, and the longest pauses. It fails at the first read
 * that is stale, or of something that was lost.
 *
 *     make/test_patroni.sh          3 kills; KILLS=20 make/test_patroni.sh: 20
 */
import assert from "node:assert/strict";
import { connect, InterweaveError, t, type Client, type Segment } from "../src/node.js";
import { Patroni } from "./patroni.js";
import { Server } from "./processes.js";

const KILLS = Number(process.env["KILLS"] ?? 3);
const PATIENCE = { timeoutMs: 120_000 };

class Work {
  /** The newest version whose release was acknowledged. */
  acknowledged = 0;
  releases = 0;
  undone = 0;
  reads = 0;
  private last = performance.now();
  private pause = 0;
  private isOver = false;
  private released: () => void = () => undefined;

  async write(segment: Segment): Promise<void> {
    while (!this.isOver) {
      try {
        await segment.write(() => void (segment.block("n").value = segment.version + 1));
      } catch (error) {
        // The store was away, or the owner was over: nothing of it is kept.
        assert.ok(error instanceof InterweaveError, String(error));
        this.undone += 1;
        continue;
      }
      const now = performance.now();
      this.pause = Math.max(this.pause, now - this.last);
      this.last = now;
      this.releases += 1;
      this.acknowledged = segment.version;
      this.released();
    }
  }

  async read(segment: Segment): Promise<void> {
    while (!this.isOver) {
      const { acknowledged } = this;
      await this.readOnce(segment, acknowledged);
    }
  }

  /** A stale read, or one of something that was lost, throws. */
  async readOnce(segment: Segment, acknowledged: number): Promise<void> {
    const { version, value } = await segment.read(
      () => ({ version: segment.version, value: segment.get("n") }),
      { ...PATIENCE, fresh: true },
    );
    assert.equal(value, version);
    assert.ok(version >= acknowledged, `version ${version} after ${acknowledged}`);
    this.reads += 1;
  }

  /** The longest time without a release since this was asked for the last time. */
  takePause(): number {
    const longest = Math.max(this.pause, performance.now() - this.last);
    this.pause = 0;
    return longest;
  }

  /** Until a release is acknowledged that began after this. */
  async goesOn(): Promise<void> {
    const enough = this.releases + 2;
    while (this.releases < enough)
      await new Promise<void>((released) => (this.released = released));
  }

  end(): void {
    this.isOver = true;
  }
}

/** Clients and servers that are ended at the end, whatever happens. */
class Made {
  private readonly clients: Client[] = [];
  private readonly servers: Server[] = [];

  constructor(private readonly patroni: Patroni) {}

  async server(): Promise<Server> {
    const server = await Server.startMember(this.patroni.storeUrl("kills"), "--space-lease", "2");
    this.servers.push(server);
    return server;
  }

  async open(server: Server): Promise<Segment> {
    const others = this.servers.filter((other) => other !== server);
    const url = [server, ...others].map(({ address }) => address).join(",");
    const client = await connect(`iw://${url}`, PATIENCE);
    this.clients.push(client);
    return client.open("/kept");
  }

  /** Starts servers again that have ended, as a service manager does. Returns how many. */
  async restart(): Promise<number> {
    const ended = this.servers.filter((server) => server.hasEnded);
    await Promise.all(ended.map((server) => server.restart()));
    return ended.length;
  }

  async stopServers(): Promise<void> {
    await Promise.all(this.servers.splice(0).map((server) => server.stop()));
  }

  async end(): Promise<void> {
    for (const client of this.clients) await client.close();
    for (const server of this.servers) await server.kill();
  }
}

interface Outcome {
  /** In milliseconds, in order. */
  readonly pauses: number[];
  /** So many dead nodes came back by pg_rewind. */
  rewound: number;
  /** So many servers of InterWeave ended. */
  ended: number;
}

/** Kills leaders while others work. */
async function killLeaders(patroni: Patroni, made: Made, work: Work): Promise<Outcome> {
  const outcome: Outcome = { pauses: [], rewound: 0, ended: 0 };
  for (let i = 0; i < KILLS; ++i) {
    await work.goesOn();
    work.takePause();
    const dead = await patroni.killLeader();
    const before = patroni.log(dead).length;
    await patroni.ledByAnother(dead);
    await work.goesOn();
    const pause = work.takePause();
    outcome.pauses.push(pause);
    await patroni.returned(dead);
    outcome.rewound += Number(patroni.log(dead).slice(before).includes("pg_rewind"));
    outcome.ended += await made.restart();
    console.log(`kill ${i + 1} of ${KILLS}: ${dead}, ${Math.round(pause)} ms`);
  }
  outcome.pauses.sort((a, b) => a - b);
  return outcome;
}

async function campaign(patroni: Patroni, made: Made): Promise<void> {
  const [one, two] = await Promise.all([made.server(), made.server()]);
  const [written, read] = [await made.open(one), await made.open(two)];
  await written.write(() => void (written.allocate(t.int, { name: "n" }).value = 1));
  const work = new Work();
  const workers = Promise.all([work.write(written), work.read(read)]);
  const failed = workers.then(() => new Promise<never>(() => undefined));
  const outcome = await Promise.race([killLeaders(patroni, made, work), failed]);
  work.end();
  await workers;
  // The database's content, in the eyes of a server that knows nothing.
  await made.stopServers();
  await work.readOnce(await made.open(await made.server()), work.acknowledged);
  const { pauses, rewound, ended } = outcome;
  const [median, worst] = [pauses[pauses.length >> 1] ?? 0, pauses[pauses.length - 1] ?? 0];
  console.log(
    `${work.releases} releases, ${work.undone} undone, ${work.reads} reads; ` +
      `pause, median ${Math.round(median)} ms, worst ${Math.round(worst)} ms; ` +
      `pg_rewind in ${rewound} of ${KILLS} returns; ${ended} servers ended`,
  );
}

const patroni = await Patroni.start();
const made = new Made(patroni);
try {
  await campaign(patroni, made);
} finally {
  await made.end();
  await patroni.stop();
}
