/** Replays a trace: the trace leads, and each message of the client is compared with it. */
import { acquireReader, CoherenceModel } from "../src/wire/protocol/lock.js";
import { credit } from "../src/wire/protocol/notify.js";
import { decodeBody, type Message } from "../src/wire/frames.js";
import { MessageType } from "../src/wire/protocol/session.js";
import { meaningOf, messageOf, type Line, type Trace } from "./trace.js";
import { TracedClient } from "./traced_client.js";
import { settled, VirtualTime } from "./virtual_time.js";

/** Freedoms of spec/vectors/traces/README.md. */
const FREE: readonly number[] = [MessageType.PING, MessageType.CANCEL, MessageType.CREDIT];
const MAY_COME_EARLIER: readonly number[] = [
  MessageType.ABORT_WRITER,
  MessageType.RELEASE_READER,
  MessageType.SUBSCRIBE,
  MessageType.UNSUBSCRIBE,
  MessageType.OPEN_SEGMENT,
  MessageType.CLOSE_SEGMENT,
];
/** The recorded client sends the same when it looks at its timers. */
const SOON_FOLLOWED: readonly number[] = [
  MessageType.SUBSCRIBE,
  MessageType.UNSUBSCRIBE,
  MessageType.CLOSE_SEGMENT,
];
const MAY_COME_LATER: readonly number[] = [MessageType.CLOSE_SEGMENT];

export class Disagreement extends Error {
  constructor(trace: Trace, line: number, wanted: string, came: string) {
    super(`${trace.name}:${line}: wanted ${wanted}; came ${came}`);
  }
}

class Replay {
  private readonly time = new VirtualTime();
  private readonly client: TracedClient;
  /** Was sent, and not compared yet. */
  private waiting: Message[] = [];
  /** Of such messages: how many times the recorded client has looked at its timers since. */
  private ticks = new Map<Message, number>();
  /** Lines whose message may come later, with the answer if that was heard. */
  private owed: { line: Line; answer: Line | null }[] = [];
  /** By line: the stream of the request that was compared with it. */
  private readonly streams = new Map<number, number>();
  /** The last line that went in. */
  private cause = 1;
  private pushedBytes = 0n;
  private creditedBytes = 0n;
  /** Lines that ask for a Strict lock and are not answered. */
  private strictAsked = new Set<number>();
  /** The session may have a Strict lock of this opening. Otherwise RELEASE_READER says nothing. */
  private mayBeStrict = false;
  compared = 0;

  constructor(private readonly trace: Trace) {
    this.time.begin();
    this.client = new TracedClient(trace.head);
  }

  async run(): Promise<void> {
    try {
      await settled();
      const { lines } = this.trace;
      for (let i = 0; i < lines.length; ++i) {
        const line = lines[i] as Line;
        const chunk = [line];
        while (line.is === "heard" && isSamePiece(line, lines[i + 1])) {
          chunk.push(lines[++i] as Line);
        }
        await this.take(line, chunk);
      }
      this.nothingIsLeft();
      this.oneAbortMore();
    } finally {
      this.time.end();
    }
  }

  private fail(line: number, wanted: string, came: string): never {
    throw new Disagreement(this.trace, line, wanted, came);
  }

  private async take(line: Line, chunk: Line[]): Promise<void> {
    const comesOut = ["sends", "done", "hangs_up"].includes(line.is);
    if (!comesOut) this.nothingIsLeft();
    await this.time.advance(line.at / 1e6);
    if (!comesOut) this.cause = line.number;
    switch (line.is) {
      case "begins":
        if (line.action === "CLOSE") this.mayBeStrict = false;
        await this.client.begins(line);
        break;
      case "connected":
        this.newConnection();
        await this.client.connected();
        break;
      case "disconnected":
        this.newConnection();
        await this.client.disconnected();
        break;
      case "heard":
        await this.heard(chunk);
        break;
      case "bytes":
        await this.client.heard([]);
        break;
      case "tick":
        for (const one of this.waiting) this.ticks.set(one, (this.ticks.get(one) ?? 0) + 1);
        await this.client.tick();
        break;
      case "sends":
        this.collect();
        return this.sends(line);
      case "hangs_up":
        return this.hangsUp(line);
      case "done":
        this.collect();
        return this.done(line);
      default:
        this.fail(line.number, "a known event", line.is);
    }
    this.collect();
  }

  private newConnection(): void {
    this.oneAbortMore();
    this.waiting = [];
    this.ticks.clear();
    this.owed = [];
    this.streams.clear();
    this.pushedBytes = this.creditedBytes = 0n;
    if (this.strictAsked.size > 0) this.mayBeStrict = true;
    this.strictAsked.clear();
  }

  /** A client may end its lock by one ABORT_WRITER that the trace does not have. */
  private oneAbortMore(): void {
    const isAbort = (one: Message) => one.envelope.type === MessageType.ABORT_WRITER;
    const [, second] = this.waiting.filter(isAbort);
    if (second !== undefined) this.fail(this.cause, "no further message", meaningOf(second));
  }

  // ---- what goes in ----

  private async heard(chunk: Line[]): Promise<void> {
    const messages: Message[] = [];
    for (const line of chunk) {
      const wasStrict = this.strictAsked.delete(line.to ?? 0);
      if (wasStrict && line.message !== "ERROR") this.mayBeStrict = true;
      const stream = line.to === undefined ? this.client.nextNotification() : this.streamOf(line);
      if (stream === null) continue;
      const message = messageOf(line, stream);
      if (line.message === "PUSH") this.pushedBytes += message.envelope.bulk_bytes;
      messages.push(message);
    }
    await this.client.heard(messages);
  }

  /** Null: the client has not asked that. */
  private streamOf(line: Line): number | null {
    if (line.to === 0) return 0;
    const stream = this.streams.get(line.to as number);
    if (stream !== undefined) return stream;
    const owed = this.owed.find((one) => one.line.number === line.to);
    if (owed !== undefined) owed.answer = line;
    return null;
  }

  // ---- what comes out ----

  private collect(): void {
    for (const message of this.client.sent.splice(0)) {
      const { type } = message.envelope;
      if (type === MessageType.CREDIT) this.credited(message);
      if (FREE.includes(type)) continue;
      const [owed] = this.owed;
      if (owed !== undefined && MAY_COME_LATER.includes(type)) this.paid(owed, message);
      else this.waiting.push(message);
    }
  }

  private credited(message: Message): void {
    this.creditedBytes += decodeBody(message, credit).bytes;
    if (this.creditedBytes <= this.pushedBytes) return;
    const [most, came] = [this.pushedBytes, this.creditedBytes];
    this.fail(this.cause, `a credit of ${most} bytes at most`, `one of ${came}`);
  }

  /** A message that comes later than in the trace. */
  private paid(owed: { line: Line; answer: Line | null }, message: Message): void {
    this.owed.shift();
    this.compare(owed.line, message);
    if (owed.answer === null) return;
    const answer = messageOf(owed.answer, message.envelope.stream);
    queueMicrotask(() => void this.client.heard([answer]));
  }

  private sends(line: Line): void {
    const wanted = messageOf(line, 0);
    const { type } = wanted.envelope;
    if (FREE.includes(type)) return;
    const isStrict = this.isStrict(line, wanted);
    const ofType = (one: Message) => one.envelope.type === type;
    const isSame = (one: Message) => meaningOf(one) === meaningOf(wanted);
    const same = this.waiting.findIndex(isSame);
    // One that came earlier may be of an earlier grant.
    const isFound = same >= 0 && MAY_COME_EARLIER.includes(type);
    const at = isFound ? same : this.waiting.findIndex(ofType);
    const others = at < 0 ? this.waiting : this.waiting.slice(0, at);
    if (at < 0 && type === MessageType.RELEASE_READER && !isStrict) return;
    const other = others.find((one) => !MAY_COME_EARLIER.includes(one.envelope.type));
    if (other !== undefined) this.fail(line.number, meaningOf(wanted), meaningOf(other));
    const [found] = at < 0 ? [] : this.waiting.splice(at, 1);
    if (found !== undefined) return this.compare(line, found);
    if (!MAY_COME_LATER.includes(type)) this.fail(line.number, meaningOf(wanted), "nothing");
    this.owed.push({ line, answer: null });
  }

  /** Whether the session may have a Strict lock when that message is sent. */
  private isStrict(line: Line, wanted: Message): boolean {
    const before = this.mayBeStrict;
    if (wanted.envelope.type === MessageType.RELEASE_READER) this.mayBeStrict = false;
    if (wanted.envelope.type === MessageType.ACQUIRE_READER) {
      const { model } = decodeBody(wanted, acquireReader);
      if (model === CoherenceModel.STRICT) this.strictAsked.add(line.number);
    }
    return before;
  }

  private compare(line: Line, found: Message): void {
    const [wanted, came] = [meaningOf(messageOf(line, 0)), meaningOf(found)];
    if (wanted !== came) this.fail(line.number, wanted, came);
    this.streams.set(line.number, found.envelope.stream);
    this.compared += 1;
  }

  private async hangsUp(line: Line): Promise<void> {
    if (!this.client.isHungUp && !this.client.isSilent) {
      this.fail(line.number, "the end of the connection", "nothing");
    }
    this.newConnection();
    await this.client.disconnected();
  }

  private done(line: Line): void {
    const { ended } = this.client;
    const action = line.action as string;
    if (ended === null) this.fail(line.number, `the end of ${action}`, "nothing");
    const [incarnation, number, chain] = line.version ?? [];
    const shown = (code: unknown, outcome: unknown, fence: unknown, version: unknown) =>
      JSON.stringify({ action, code, outcome, fence, version }, (_, value) =>
        typeof value === "bigint" ? String(value) : (value as unknown),
      );
    const hasVersion = ["READ", "WRITE", "RELEASE"].includes(action);
    const wanted = shown(
      line.code,
      line.outcome,
      line.fence,
      hasVersion ? { incarnation, number, chain } : undefined,
    );
    const came = shown(
      ended.code,
      action === "RELEASE" ? ended.outcome : undefined,
      line.fence === undefined ? undefined : ended.fence,
      hasVersion ? ended.version : undefined,
    );
    if (wanted !== came) this.fail(line.number, wanted, came);
  }

  /** All that came out for one event was in the trace. */
  private nothingIsLeft(): void {
    this.collect();
    const isTooEarly = (one: Message) =>
      SOON_FOLLOWED.includes(one.envelope.type) && (this.ticks.get(one) ?? 0) > 1;
    const left = this.waiting.find(
      (one) => !MAY_COME_EARLIER.includes(one.envelope.type) || isTooEarly(one),
    );
    if (left !== undefined) this.fail(this.cause, "no further message", meaningOf(left));
  }
}

function isSamePiece(line: Line, next: Line | undefined): boolean {
  return next?.is === "heard" && next.at === line.at;
}

/** Gives the number of messages that were compared; throws a Disagreement. */
export async function replay(trace: Trace): Promise<number> {
  const one = new Replay(trace);
  await one.run();
  return one.compared;
}
