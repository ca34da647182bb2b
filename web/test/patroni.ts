/**
 * Three nodes of PostgreSQL that Patroni keeps, and the etcd in which it remembers who leads. They
 * run as the user of PostgreSQL, as docs/operations.md says ("Who promotes the standby").
 */
import { spawn, type ChildProcess } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { end, freeAddress } from "./processes.js";

const NAMES = ["a", "b", "c"] as const;
const PROGRAMS = process.env["IW_POSTGRES_BIN"] ?? "/usr/lib/postgresql/15/bin";
const LOOK_MS = 100;

interface Node {
  readonly name: string;
  /** Of PostgreSQL. */
  readonly address: string;
  /** Of Patroni. */
  readonly rest: string;
  child: ChildProcess | null;
}

/** A node as Patroni's GET /cluster tells of it. */
interface Told {
  readonly name: string;
  readonly role: string;
  readonly state: string;
}

function settingsOf(node: Node, folder: string, etcd: string): string {
  return `
scope: interweave
name: ${node.name}
restapi: {listen: '${node.rest}', connect_address: '${node.rest}'}
etcd3: {hosts: '${etcd}'}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql: {use_pg_rewind: true, parameters: {wal_keep_size: 64MB}}
  initdb: [{encoding: UTF8}, data-checksums]
postgresql:
  listen: '${node.address}'
  connect_address: '${node.address}'
  data_dir: ${folder}/${node.name}
  bin_dir: ${PROGRAMS}
  pg_hba: [host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
  parameters: {unix_socket_directories: ''}
  authentication:
    superuser: {username: postgres}
    replication: {username: replicator}
    rewind: {username: rewinder}
`;
}

/** The user of PostgreSQL, which does not run as root. */
function ordinaryUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const line = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync("/etc/passwd", "utf8"));
  if (line === null) throw new Error("the user postgres is missing; install postgresql-15");
  return { uid: Number(line[1]), gid: Number(line[2]) };
}

export class Patroni {
  private readonly user = ordinaryUser();
  private etcd: ChildProcess | null = null;

  private constructor(
    readonly folder: string,
    private readonly etcdAddress: string,
    private readonly nodes: readonly Node[],
  ) {}

  /** With a leader and a synchronous standby. */
  static async start(): Promise<Patroni> {
    const folder = mkdtempSync("/dev/shm/interweave-patroni-");
    const addresses = [];
    while (addresses.length < 2 + 2 * NAMES.length) addresses.push(await freeAddress());
    const [client, peer, ...others] = addresses as [string, string, ...string[]];
    const nodes = NAMES.map((name, i) => ({
      name,
      address: others[2 * i] as string,
      rest: others[2 * i + 1] as string,
      child: null,
    }));
    const patroni = new Patroni(folder, client, nodes);
    patroni.beginEtcd(peer);
    for (const node of nodes) patroni.begin(node);
    await patroni.whole();
    return patroni;
  }

  /** The URL of a store on whichever node leads. */
  storeUrl(schema: string): string {
    const hosts = this.nodes.map(({ address }) => address).join(",");
    const asked = `target_session_attrs=read-write&sslmode=disable&schema=${schema}`;
    return `postgres://postgres@${hosts}/postgres?${asked}`;
  }

  /** Kills every process of the node that leads. Returns its name. */
  async killLeader(): Promise<string> {
    const leader = (await this.told()).find(({ role }) => role === "leader");
    const node = this.nodes.find(({ name }) => name === leader?.name);
    if (node === undefined) throw new Error("nobody leads");
    await this.killNode(node);
    return node.name;
  }

  /** Until another node than that one leads. */
  async ledByAnother(than: string): Promise<void> {
    await this.until((told) =>
      told.some(
        ({ name, role, state }) => role === "leader" && state === "running" && name !== than,
      ),
    );
  }

  /** The machine of a killed node is back: Patroni starts, and makes it a standby. */
  async returned(name: string): Promise<void> {
    const node = this.nodes.find((each) => each.name === name) as Node;
    this.begin(node);
    await this.whole();
  }

  /** All that the node's Patroni has logged. */
  log(name: string): string {
    return readFileSync(`${this.folder}/${name}.log`, "utf8");
  }

  /** Nobody needs the databases any more, and an order to end would wait for other nodes. */
  async stop(): Promise<void> {
    for (const node of this.nodes) await this.killNode(node);
    if (this.etcd !== null) await end(this.etcd, "SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async killNode(node: Node): Promise<void> {
    if (node.child !== null) await end(node.child, "SIGKILL");
    const file = `${this.folder}/${node.name}/postmaster.pid`;
    if (!existsSync(file)) return;
    const postmaster = Number(readFileSync(file, "utf8").split("\n")[0]);
    try {
      // Its children end without it.
      process.kill(postmaster, "SIGKILL");
    } catch {
      // It was killed before, and its file is left.
    }
  }

  private beginEtcd(peer: string): void {
    const at = `http://${this.etcdAddress}`;
    const words = ["--data-dir", `${this.folder}/etcd`, "--initial-cluster", `one=http://${peer}`];
    words.push("--name", "one", "--listen-client-urls", at, "--advertise-client-urls", at);
    for (const urls of ["--listen-peer-urls", "--initial-advertise-peer-urls"])
      words.push(urls, `http://${peer}`);
    chmodSync(this.folder, 0o755);
    const { uid, gid } = this.user;
    if (uid !== undefined && gid !== undefined) chownSync(this.folder, uid, gid);
    this.etcd = this.spawn("etcd", words, "etcd");
  }

  private begin(node: Node): void {
    const file = `${this.folder}/${node.name}.yml`;
    writeFileSync(file, settingsOf(node, this.folder, this.etcdAddress));
    node.child = this.spawn("patroni", [file], node.name);
  }

  private spawn(program: string, words: string[], log: string): ChildProcess {
    const out = openSync(`${this.folder}/${log}.log`, "a");
    const env = { ...process.env, HOME: this.folder };
    return spawn(program, words, {
      ...this.user,
      cwd: this.folder,
      env,
      stdio: ["ignore", out, out],
    });
  }

  /** The nodes as one of them tells it; none: nobody answers. */
  private async told(): Promise<Told[]> {
    for (const { rest } of this.nodes) {
      try {
        const answer = await fetch(`http://${rest}/cluster`);
        return ((await answer.json()) as { members: Told[] }).members;
      } catch {
        // It is dead, or not there yet.
      }
    }
    return [];
  }

  private whole(): Promise<void> {
    const runs = ({ state }: Told) => state === "running" || state === "streaming";
    return this.until(
      (told) =>
        told.filter(runs).length === NAMES.length &&
        told.some(({ role }) => role === "leader") &&
        told.some(({ role }) => role === "sync_standby"),
    );
  }

  /** Patroni says nothing by itself. */
  private async until(is: (told: Told[]) => boolean): Promise<void> {
    while (!is(await this.told())) await new Promise((again) => setTimeout(again, LOOK_MS));
  }
}
