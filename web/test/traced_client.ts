/** A client whose network, time and program are those of a trace. */
import { now } from "../src/client/clock.js";
import { ANSWER_MS, type Conversation } from "../src/client/conversation.js";
import { Client } from "../src/client/client.js";
import type { Condition } from "../src/client/condition.js";
import type { Link } from "../src/client/link.js";
import type { ReadLock } from "../src/client/locks.js";
import type { Segment } from "../src/client/segment.js";
import type { Dial, TransportEvents } from "../src/client/transport.js";
import type { Writing } from "../src/client/writing.js";
import type { Bound } from "../src/coherence/freshness.js";
import { InterweaveError } from "../src/wire/error.js";
import { FrameDecoder, framesOf, type Message } from "../src/wire/frames.js";
import { ErrorCode } from "../src/wire/protocol/error.js";
import { CoherenceModel } from "../src/wire/protocol/lock.js";
import { Durability, type VersionStamp } from "../src/wire/protocol/segment.js";
import type { Head, Line } from "./trace.js";
import { ROUNDING_MS, settled } from "./virtual_time.js";
import { fromHex } from "./vectors.js";

const FOREVER_MS = 1e9;

/** The parts of a segment that programs do not see. */
interface Inside {
  conversation: Conversation;
  writing: Writing | null;
  bound: Bound;
}

/** The end of an action. */
export interface Ended {
  code: string;
  outcome: string;
  version: VersionStamp;
  fence: bigint;
}

function codeOf(error: unknown): string {
  if (!(error instanceof InterweaveError)) throw error;
  const found = Object.entries(ErrorCode).find(([, code]) => code === error.code);
  return found?.[0] ?? `error ${error.code}`;
}

export class TracedClient {
  /** The messages that the client has sent since they were last taken. */
  readonly sent: Message[] = [];
  ended: Ended | null = null;
  isHungUp = false;
  private dialing: { events: TransportEvents; made: () => void } | null = null;
  private events: TransportEvents | null = null;
  private readonly client: Client;
  private hasBegun = false;
  private segment: Segment | null = null;
  private lock: ReadLock | null = null;
  private notifications = 0x80000000;

  constructor(private readonly head: Head) {
    const options = { timeoutMs: FOREVER_MS, serverUrl: "iw://trace" };
    this.client = new Client("iw://trace", this.dial, options);
    this.begin();
  }

  private readonly dial: Dial = (_url, events) =>
    new Promise((resolve) => {
      const decoder = new FrameDecoder(1n << 30n);
      const transport = {
        send: (frame: Uint8Array) => {
          this.sent.push(...decoder.push(frame).filter(({ part }) => part !== "first"));
        },
        close: () => {
          if (this.events === events) this.isHungUp = true;
        },
      };
      const made = () => {
        this.events = events;
        this.isHungUp = false;
        resolve(transport);
      };
      this.dialing = { events, made };
    });

  private get link(): Link {
    return (this.client as unknown as { link: Link }).link;
  }

  private get inside(): Inside {
    return this.segment as unknown as Inside;
  }

  /** The first connection may fail; programs call again then. */
  private begin(): void {
    this.hasBegun = true;
    this.client.begin().catch(() => (this.hasBegun = false));
  }

  // ---- what goes in ----

  async connected(): Promise<void> {
    if (this.dialing === null && !this.hasBegun) this.begin();
    if (this.dialing === null) {
      (this.link as unknown as { hurried: Condition }).hurried.notify();
    }
    await settled();
    const { dialing } = this;
    if (dialing === null) throw new Error("the client does not want a connection");
    this.dialing = null;
    dialing.made();
    await settled();
  }

  async disconnected(): Promise<void> {
    const { events } = this;
    this.events = null;
    events?.closed("the trace says so");
    await settled();
  }

  /** Whether the client would give up the connection now, too. */
  get isSilent(): boolean {
    return this.link.live?.connection.isSilent(now()) ?? true;
  }

  async heard(messages: Message[]): Promise<void> {
    const pieces = messages.flatMap((message) => [...framesOf(message)]);
    this.events?.received(Uint8Array.from(pieces.flatMap((piece) => [...piece])));
    await settled();
  }

  nextNotification(): number {
    return this.notifications++;
  }

  /** As the link's timer does, but for PING and for silence, which the trace decides. */
  async tick(): Promise<void> {
    if (this.link.live === null) return;
    for (const listener of [...this.link.listeners]) listener.tick(now() + ROUNDING_MS);
    await settled();
  }

  async begins(line: Line): Promise<void> {
    this.ended = null;
    const action = this.act(line);
    action.then(
      () => this.end("OK"),
      (error: unknown) => this.end(codeOf(error)),
    );
    await settled();
  }

  private end(code: string): void {
    const { segment } = this;
    const state = segment === null ? null : this.inside.conversation.state;
    const isHeld = segment !== null && this.inside.writing !== null;
    const isKnown = state?.hasCopy ?? true;
    const failed = isHeld ? "HELD" : isKnown ? "ROLLED_BACK" : "UNKNOWN";
    this.ended = {
      code,
      outcome: code === "OK" ? "COMMITTED" : failed,
      version: state?.have ?? { incarnation: 0n, number: 0n, chain: 0n },
      fence: segment === null ? 0n : (this.inside.conversation.granted?.fence ?? 0n),
    };
  }

  // ---- the program ----

  private async act(line: Line): Promise<void> {
    const { action, until } = line;
    const patienceMs = until === undefined ? FOREVER_MS : (until - line.at) / 1e6;
    const deadline = now() + patienceMs;
    if (action === "CLOSE") return this.close();
    const segment = await this.open(patienceMs);
    // The library waits a while longer for an answer than the server may take.
    const timeoutMs = deadline - now() - ANSWER_MS;
    switch (action) {
      case "READ":
        return this.read(segment, line, timeoutMs);
      case "END_READ":
        return this.lock?.release();
      case "WRITE":
        await segment.write({ timeoutMs });
        return this.watchChanges(null);
      case "RELEASE":
        this.watchChanges(line.diff === undefined ? null : fromHex(line.diff));
        await this.writing.release(deadline);
        return;
      case "ABORT":
        return this.writing.abort();
      case "SERIALS":
        return this.writing.moreSerials(64, deadline);
      case "LISTEN":
        await this.inside.conversation.liveAndOpen(deadline);
        return this.inside.conversation.listen(true);
      case "IGNORE":
        await this.inside.conversation.liveAndOpen(deadline);
        return this.inside.conversation.listen(false);
      default:
        throw new Error(`no action ${action}`);
    }
  }

  private get writing(): Writing {
    if (this.inside.writing === null) throw new InterweaveError(ErrorCode.NO_LOCK, "no lock");
    return this.inside.writing;
  }

  private async open(timeoutMs: number): Promise<Segment> {
    const durability = Durability[this.head.durability as keyof typeof Durability];
    this.segment ??= await this.client.open(this.head.path, { durability, timeoutMs });
    return this.segment;
  }

  private async close(): Promise<void> {
    const { segment } = this;
    if (segment === null) throw new InterweaveError(ErrorCode.NOT_OPEN, "it is not open");
    this.segment = null;
    await segment.close();
  }

  private async read(segment: Segment, line: Line, timeoutMs: number): Promise<void> {
    const model = CoherenceModel[line.model as keyof typeof CoherenceModel];
    const bound = { model, x: line.x ?? 0 };
    const { coherence } = segment;
    const isSame = coherence.model === bound.model && coherence.x === bound.x;
    if (!isSame) segment.coherence = bound;
    this.lock = await segment.read({ timeoutMs, fresh: line.fresh === true });
  }

  /** The program's changes are those of the trace. */
  private watchChanges(diff: Uint8Array | null): void {
    const { copy } = this.segment as Segment;
    const changes = {
      collect: () => diff,
      commit: () => diff !== null && copy.apply(diff),
      undo: () => undefined,
      touch: () => undefined,
      addSerials: () => undefined,
    };
    Object.assign(this.writing, { changes });
  }
}
