/**
 * The connection to one server, shared by all its segments. The link makes it, keeps it alive, and
 * makes it again after a loss. A connection is never repaired: a new one replaces it, and resumes
 * the session if its lease lives [SES-2]. Answers and notifications are taken in at once, in the
 * order in which they come. The task that asked continues afterwards.
 */
import {
  Connection,
  isSameSession,
  isSameSpace,
  spaceOf,
  type Answer,
  type Identity,
} from "../session/connection.js";
import type { Origin } from "../session/fields.js";
import { InterweaveError } from "../wire/error.js";
import { framesOf, type Message } from "../wire/frames.js";
import { ErrorCode } from "../wire/protocol/error.js";
import type { RedirectField } from "../wire/protocol/field.js";
import { cancel, MessageType, type Welcome } from "../wire/protocol/session.js";
import type { Codec } from "../wire/protocol/xdr.js";
import { now } from "./clock.js";
import { Condition } from "./condition.js";
import { noHost, passesOn, type Way } from "./hosts.js";
import { OwnTokens } from "./own_tokens.js";
import type { Dial, DialOptions, OwnToken, Transport } from "./transport.js";

const TICK_MS = 200;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;

/** A segment, as the link sees it. */
export interface Listener {
  notified(message: Message): void;
  connectionLost(): void;
  connectionMade(now: number): void;
  tick(now: number): void;
}

export interface Request<T> {
  type: MessageType;
  codec: Codec<T> | null;
  body: T | null;
  bulk?: Uint8Array;
  /** Takes the answer in before anything that comes after it. */
  absorb?: (answer: Answer, isLate: boolean) => void;
  /** Takes the first frame of an answer in of which the rest comes later. */
  begins?: (first: Message) => void;
  /** The server may let the request wait. At the deadline the client ends the request by CANCEL. */
  waitsForOthers?: boolean;
  deadline: number;
}

/** One connection, from hello to its loss. */
export class Live {
  isLost = false;
  isHelloAnswered = false;
  readonly madeAt = now();
  /** By number on this connection. */
  readonly listeners = new Map<number, Listener>();
  readonly waiting = new Set<(error: InterweaveError) => void>();

  constructor(
    readonly connection: Connection,
    readonly transport: Transport,
  ) {}

  get welcome(): Welcome {
    return this.connection.welcome as Welcome;
  }

  send(message: Message): void {
    for (const frame of framesOf(message)) this.transport.send(frame);
  }

  tell<T>(type: MessageType, codec: Codec<T> | null, body: T | null): void {
    if (!this.isLost) this.send(this.connection.tell(type, codec, body, now()));
  }
}

function lost(why: string): InterweaveError {
  return new InterweaveError(ErrorCode.UNREACHABLE, `the connection to the server is lost: ${why}`);
}

/** Whether another attempt alone may help; else the client is refused [CRED-2]. */
export function mayPass({ code }: InterweaveError): boolean {
  return (
    code === ErrorCode.UNREACHABLE || code === ErrorCode.STOPPING || code === ErrorCode.NO_MEMORY
  );
}

/** What the client tells the server of itself. */
export interface Introduction {
  token: string;
  label: string;
  origin: Origin;
}

export class Link {
  live: Live | null = null;
  isClosed = false;
  readonly listeners = new Set<Listener>();
  private readonly changed = new Condition();
  /** Token and session are secrets: no object that is printed or serialised may show them. */
  readonly #identity: Identity;
  readonly #ownTokens = new OwnTokens();
  readonly #options: DialOptions;
  private readonly hurried = new Condition();
  private sequence = 0n;
  private ticker: ReturnType<typeof setInterval> | undefined;
  /** Of the last attempt to reconnect, or of the connection before it. */
  failure: InterweaveError | null = null;
  private attempts = 0;
  private lostAt = 0;
  /** The pause before the next attempt to reconnect. */
  private pauseMs = 0;
  /** Of `ways`: the one that is tried next, or by which the client is connected. */
  private at = 0;
  /** What the hosts serve together; null: no host has welcomed the client, or it did not say. */
  private space: Uint8Array | null = null;

  /** `ways`: to the server of `url`, or to the hosts that it lists. */
  constructor(
    readonly url: string,
    private readonly ways: readonly Way[],
    private readonly dial: Dial,
    { token, label, origin, ...options }: DialOptions & Introduction,
    private readonly stateChanged: (isConnected: boolean) => void,
  ) {
    this.#identity = { session: new Uint8Array(16), token, client: label, origin };
    this.#options = options;
  }

  /** The first connection; fails at once if it cannot be made. */
  async begin(): Promise<void> {
    await this.connect();
    this.beginToTick();
  }

  /** The first connection is made as one after a loss. */
  beginSoon(): void {
    this.beginToTick();
    void this.reconnect();
  }

  private beginToTick(): void {
    this.ticker = setInterval(() => this.tick(), TICK_MS);
    (this.ticker as { unref?: () => void }).unref?.();
  }

  /**
   * The live connection, made anew if need be, until the deadline. A refusal is told after one
   * attempt [CRED-2]; the next call makes another.
   */
  async connected(deadline: number): Promise<Live> {
    const before = this.attempts;
    if (this.refusal !== null) this.hurried.notify();
    while (this.live === null) {
      if (this.isClosed) throw new InterweaveError(ErrorCode.NOT_OPEN, "the client was closed");
      if (this.refusal !== null && this.attempts > before) throw this.refusal;
      if (!(await this.changed.wait(deadline))) {
        throw this.failure ?? lost("no new connection before the deadline");
      }
    }
    return this.live;
  }

  /** As `connected`, but after one attempt that failed it fails. */
  async tried(deadline: number): Promise<Live> {
    const before = this.attempts;
    while (this.live === null && this.attempts === before && !this.isClosed) {
      if (!(await this.changed.wait(deadline))) break;
    }
    if (this.live !== null) return this.live;
    if (this.isClosed) throw new InterweaveError(ErrorCode.NOT_OPEN, "the client was closed");
    throw this.failure ?? lost("no new connection before the deadline");
  }

  private get refusal(): InterweaveError | null {
    const { failure, live } = this;
    return live === null && failure !== null && !mayPass(failure) ? failure : null;
  }

  /** The ways to the server; the one by which the client last came there is the first. */
  get waysInTurn(): readonly Way[] {
    return [...this.ways.slice(this.at), ...this.ways.slice(0, this.at)];
  }

  get session(): Uint8Array {
    return this.#identity.session;
  }

  /** Releases of a session count up [LOCK-8]. */
  nextSequence(): bigint {
    return ++this.sequence;
  }

  /** When the server was last heard, and how often it speaks. */
  get heard(): { at: number; heartbeatMs: number } {
    const { connection } = this.live ?? {};
    return { at: connection?.heard ?? -Infinity, heartbeatMs: connection?.heartbeatMs ?? 0 };
  }

  /** How long the connection has been away; 0 while there is one. */
  get lostForMs(): number {
    return this.live === null ? now() - this.lostAt : 0;
  }

  /** Sends and waits. TIMED_OUT at the deadline, UNREACHABLE if the connection is lost before. */
  call<T>(live: Live, request: Request<T>): Promise<Answer> {
    const { type, codec, body, bulk, absorb, begins, deadline } = request;
    if (live.isLost) return Promise.reject(lost("it ended before the request"));
    return new Promise((resolve, reject) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      let isLate = false;
      const settle = () => {
        clearTimeout(timer);
        live.waiting.delete(fail);
      };
      const fail = (error: InterweaveError) => {
        settle();
        reject(error);
      };
      live.waiting.add(fail);
      const answered = (answer: Answer) => {
        settle();
        absorb?.(answer, isLate);
        resolve(answer);
      };
      const { connection } = live;
      const asked = connection.request(type, codec, body, bulk, now(), answered, begins);
      live.send(asked.message);
      if (deadline === Infinity) return;
      timer = setTimeout(
        () => {
          isLate = true;
          if (request.waitsForOthers === true) {
            live.tell(MessageType.CANCEL, cancel, { stream: asked.stream });
          }
          live.waiting.delete(fail);
          reject(new InterweaveError(ErrorCode.TIMED_OUT, "the server did not answer in time"));
        },
        Math.max(0, deadline - now()),
      );
    });
  }

  /** Sends GOODBYE, which ends the session at once. */
  close(): void {
    this.isClosed = true;
    clearInterval(this.ticker);
    const { live } = this;
    live?.tell(MessageType.GOODBYE, null, null);
    if (live !== null) this.lose(live, "the client was closed");
    this.changed.notify();
    this.hurried.notify();
  }

  /**
   * Tries each way once. The last by which the client was welcomed comes first: it has the session,
   * with its writer locks [SPACE-46].
   */
  private async connect(): Promise<void> {
    const errors: InterweaveError[] = [];
    const tried: Way[] = [];
    for (;;) {
      const way = this.ways[this.at] as Way;
      try {
        return await this.connectBy(way);
      } catch (error) {
        if (!passesOn(error, way)) throw error;
        errors.push(error);
        tried.push(way);
      }
      this.at = (this.at + 1) % this.ways.length;
      const isOver = errors.length === this.ways.length || this.isClosed;
      if (isOver) throw noHost(this.url, tried, errors);
    }
  }

  /** Until the server takes what the client shows, or refuses all of it [OWN-6]. */
  private async connectBy(way: Way): Promise<void> {
    const mostMs = Math.min(this.#options.timeoutMs / this.ways.length, way.mostMs ?? Infinity);
    const deadline = now() + mostMs;
    while (!(await this.attempt(way, deadline))) continue;
  }

  /** False: the server refuses the token of a file, which is not shown to it again. */
  private async attempt(way: Way, deadline: number): Promise<boolean> {
    let live: Live | null = null;
    const connection = new Connection(now(), (message) => this.notified(live, message));
    const early: Uint8Array[] = [];
    const receive = (bytes: Uint8Array) => {
      if (live === null) {
        early.push(bytes);
      } else if (!live.isLost) {
        this.receive(live, bytes);
      }
    };
    const closed = (why: string | InterweaveError) => live !== null && this.lose(live, why);
    const { url, tlsName } = way;
    const timeoutMs = Math.max(0, Math.ceil(deadline - now()));
    const named = tlsName === undefined ? {} : { tlsName };
    const options = { ...this.#options, ...named, timeoutMs };
    const transport = await this.dial(url, { received: receive, closed }, options);
    live = new Live(connection, transport);
    const found = this.#identity.token === "" ? (transport.ownTokens?.() ?? []) : [];
    const own = this.#ownTokens.choose(found);
    const greeted = this.greet(live, own, way.relay, deadline);
    for (const bytes of early) this.receive(live, bytes);
    try {
      await greeted;
    } catch (error) {
      this.lose(live, "hello failed");
      // Otherwise TLS, or what came instead of an answer, says nothing of the token.
      const isOfToken = live.isHelloAnswered && error instanceof InterweaveError;
      if (!isOfToken || error.code !== ErrorCode.DENIED) throw error;
      if (own === null) throw this.#ownTokens.explain(error, found);
      this.#ownTokens.refused(own);
      return false;
    }
    if (this.isClosed) {
      this.lose(live, "the client was closed");
      return true;
    }
    this.live = live;
    this.failure = null;
    for (const listener of [...this.listeners]) listener.connectionMade(now());
    this.stateChanged(true);
    this.changed.notify();
    return true;
  }

  private greet(
    live: Live,
    own: OwnToken | null,
    relay: RedirectField | undefined,
    deadline: number,
  ): Promise<void> {
    const { connection, waiting } = live;
    return new Promise((resolve, reject) => {
      const late = () => reject(lost("no welcome in time"));
      const timer = setTimeout(late, Math.max(0, deadline - now()));
      waiting.add((error) => {
        clearTimeout(timer);
        reject(error);
      });
      const token = own === null ? this.#identity.token : own.text;
      live.send(
        connection.hello({ ...this.#identity, token }, relay, now(), (answer) => {
          clearTimeout(timer);
          live.isHelloAnswered = true;
          try {
            this.welcomed(connection.welcomed(answer));
            resolve();
          } catch (error) {
            reject(error as Error);
          }
        }),
      );
    });
  }

  private welcomed(welcome: Welcome): void {
    const { session } = welcome;
    this.checkSpace(spaceOf(welcome));
    if (!isSameSession(session, this.#identity.session)) this.sequence = 0n;
    this.#identity.session = session;
  }

  /** All hosts of a URL serve the space of the first one that welcomed the client [SPACE-47]. */
  private checkSpace(found: Uint8Array | null): void {
    const isFirst = this.session.every((byte) => byte === 0);
    if (this.ways.length > 1 && !isFirst && !isSameSpace(this.space, found)) {
      throw new InterweaveError(
        ErrorCode.UNREACHABLE,
        `${this.ways[this.at]?.url} serves another space than the host that this client asked ` +
          "before; ask its operator",
      );
    }
    this.space = found;
  }

  private receive(live: Live, bytes: Uint8Array): void {
    try {
      live.connection.receive(bytes, now());
    } catch (error) {
      if (!(error instanceof InterweaveError)) throw error;
      const isWelcome = live.connection.welcome !== null;
      if (isWelcome) this.failure = error;
      // A server that takes no hello says so instead of an answer to it.
      this.lose(live, isWelcome ? error.message : error);
    }
  }

  private notified(live: Live | null, message: Message): void {
    // Messages about a segment begin with its number on this connection.
    const { body } = message;
    if (live === null || body.length < 4) return;
    const number = new DataView(body.buffer, body.byteOffset).getUint32(0);
    live.listeners.get(number)?.notified(message);
  }

  private lose(live: Live, why: string | InterweaveError): void {
    if (live.isLost) return;
    live.isLost = true;
    live.transport.close();
    const error = typeof why === "string" ? lost(why) : why;
    for (const fail of [...live.waiting]) fail(error);
    if (this.live !== live) return;
    this.live = null;
    this.lostAt = now();
    // The pause stays long for a server that takes every connection and drops it.
    if (this.lostAt - live.madeAt > LONGEST_PAUSE_MS) this.pauseMs = 0;
    for (const listener of [...this.listeners]) listener.connectionLost();
    this.stateChanged(false);
    if (!this.isClosed) void this.reconnect();
  }

  private async reconnect(): Promise<void> {
    while (!this.isClosed && this.live === null) {
      if (this.pauseMs > 0) await this.hurried.wait(now() + this.pauseMs);
      this.pauseMs = Math.min(Math.max(2 * this.pauseMs, FIRST_PAUSE_MS), LONGEST_PAUSE_MS);
      if (this.isClosed) return;
      try {
        await this.connect();
      } catch (error) {
        if (error instanceof InterweaveError) this.failure = error;
        ++this.attempts;
        this.changed.notify();
      }
    }
  }

  private tick(): void {
    const { live } = this;
    if (live === null) return;
    const time = now();
    if (live.connection.isSilent(time)) return this.lose(live, "the server has fallen silent");
    for (const listener of [...this.listeners]) listener.tick(time);
    if (live.connection.isPingDue(time)) {
      const ping = live.connection.request(MessageType.PING, null, null, undefined, time, () => {});
      live.send(ping.message);
    }
  }
}
