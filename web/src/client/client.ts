/** A program's connection to a server, and the segments it has open there. */
import type { Bound } from "../coherence/freshness.js";
import { expect, redirectOf, spaceOf } from "../session/connection.js";
import type { Origin } from "../session/fields.js";
import { InterweaveError } from "../wire/error.js";
import { isPath } from "../wire/mip.js";
import { ErrorCode } from "../wire/protocol/error.js";
import { CoherenceModel } from "../wire/protocol/lock.js";
import {
  listSegments,
  removeSegment,
  segmentList,
  type SegmentInfo,
} from "../wire/protocol/segment.js";
import { MAX_TOKEN, MessageType } from "../wire/protocol/session.js";
import type { Codec } from "../wire/protocol/xdr.js";
import { now } from "./clock.js";
import { hostUrls, pathAt, serverUrlOf, waysTo } from "./hosts.js";
import { inspected, type Inspect } from "./inspect.js";
import { Link } from "./link.js";
import { checkSpace, failedThere, isAway, MOST_HOPS, Owners, sentTooOften } from "./owners.js";
import { Segment, type OpenOptions } from "./segment.js";
import type { Dial, DialOptions } from "./transport.js";

export interface ConnectOptions {
  /** The token that the client shows to the server; in Node otherwise IW_TOKEN. */
  token?: string;
  /** For people: the program's name. */
  label?: string;
  /** How long connecting, and calls that name no time of their own, may take; 30,000 by default. */
  timeoutMs?: number;
  webSocket?: DialOptions["webSocket"];
  /** The server's name in MIPs, `iw://host:port`. The port of its WebSocket is another one. */
  serverUrl?: string;
}

/** How recent is recent enough (spec/coherence.md). */
export const Coherence = {
  full: { model: CoherenceModel.FULL, x: 0 } as Bound,
  strict: { model: CoherenceModel.STRICT, x: 0 } as Bound,
  /** Any version. Only the first copy is fetched. */
  none: { model: CoherenceModel.NULL_COHERENCE, x: 0 } as Bound,
  /** At most so many versions behind. */
  delta: (versions: number): Bound => ({ model: CoherenceModel.DELTA, x: versions }),
  /** At most so many seconds old. */
  temporal: (seconds: number): Bound => ({ model: CoherenceModel.TEMPORAL, x: seconds }),
  /** A version since which at most so many per cent of the units changed. */
  diff: (perCent: number): Bound => ({ model: CoherenceModel.DIFF, x: perCent }),
};

/** No text shows a token [CRED-3]. */
function checkToken(token: string): void {
  const bad = (why: string) =>
    new InterweaveError(ErrorCode.BAD_ARGUMENT, `the token (IW_TOKEN, or the option token) ${why}`);
  if (typeof token !== "string") throw bad(`is not a string; it is a ${typeof token}`);
  if (token.includes("\0")) throw bad("has a NUL character");
  if (new TextEncoder().encode(token).length > MAX_TOKEN) {
    throw bad(`is longer than ${MAX_TOKEN} bytes`);
  }
}

export class Client {
  readonly serverUrl: string;
  private readonly link: Link;
  private readonly owners: Owners;
  private readonly segments = new Map<string, Segment>();
  private readonly closing = new Map<string, Promise<void>>();
  private readonly watchers = new Set<(isConnected: boolean) => void>();
  private readonly timeoutMs: number;

  constructor(
    readonly url: string,
    dial: Dial,
    options: ConnectOptions,
    origin: Origin = {},
  ) {
    const {
      token = "",
      label = "interweave (TypeScript)",
      timeoutMs = 30_000,
      webSocket,
    } = options;
    checkToken(token);
    this.serverUrl = options.serverUrl ?? serverUrlOf(url);
    this.timeoutMs = timeoutMs;
    const introduction = { token, label, origin: { program: label, ...origin } };
    const dialing = { timeoutMs, ...(webSocket === undefined ? {} : { webSocket }) };
    const whole = { ...introduction, ...dialing };
    const hosts = hostUrls(url).map((host) => ({ url: host }));
    this.link = new Link(url, hosts, dial, whole, (isConnected) => {
      for (const watcher of this.watchers) watcher(isConnected);
    });
    this.owners = new Owners(/^(iws|wss|https):/.test(url), (there, tlsName, to) => {
      const ways = waysTo(there, tlsName, to, this.link.waysInTurn);
      return new Link(there, ways, dial, whole, () => undefined);
    });
  }

  /** Fails at once if the server cannot be reached; later losses are repaired. */
  begin(): Promise<void> {
    return this.link.begin();
  }

  get isConnected(): boolean {
    return this.link.live !== null;
  }

  /** What `console.log` shows in Node. */
  [inspected](_depth: number, options: object, inspect: Inspect): string {
    const { url, isConnected } = this;
    return `Client ${inspect({ url, isConnected, segments: [...this.segments.keys()] }, options)}`;
  }

  /** Milliseconds since the server was last heard. */
  get silentForMs(): number {
    const { live, heard, lostForMs } = this.link;
    return live === null ? lostForMs : now() - heard.at;
  }

  /** Why the last attempt to connect failed; null: it did not, or none has ended yet. */
  get failure(): InterweaveError | null {
    return this.link.failure;
  }

  /** Calls back when the connection is lost or made again. Returns a function that ends this. */
  onConnection(watcher: (isConnected: boolean) => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  /** Opens a segment. A program has one opening of a segment, unless it was removed or lost. */
  async open(path: string, options: OpenOptions = {}): Promise<Segment> {
    if (!isPath(path)) {
      throw new InterweaveError(
        ErrorCode.BAD_URL,
        `\`${path}\` is not a path: a path begins with '/', has no '#' and at most 1024 bytes`,
      );
    }
    await this.closing.get(path);
    const known = this.segments.get(path);
    if (known !== undefined && !known.isOver) return known;
    const ownOptions = { timeoutMs: this.timeoutMs, ...options };
    const segment = new Segment(this.link, this.owners, path, ownOptions, {
      serverUrl: this.serverUrl,
      segmentAt: (text) => this.segmentAt(text),
      forget: (closed, end) => this.forget(closed, end),
    });
    this.segments.set(path, segment);
    try {
      await segment.open();
    } catch (error) {
      await segment.close();
      throw error;
    }
    return segment;
  }

  /** Lets the next opening of the path wait until this one is closed. */
  private forget(segment: Segment, closed: Promise<void>): void {
    const { path } = segment;
    if (this.segments.get(path) === segment) this.segments.delete(path);
    this.closing.set(path, closed);
    void closed.then(() => this.closing.get(path) === closed && this.closing.delete(path));
  }

  private segmentAt(slotText: string): Segment | null {
    const path = pathAt(this.serverUrl, slotText);
    return path === null ? null : (this.segments.get(path) ?? null);
  }

  /** Lists the server's segments whose paths begin with `prefix`. */
  async list(prefix = "/"): Promise<SegmentInfo[]> {
    const found: SegmentInfo[] = [];
    for (let after = ""; ;) {
      const body = { prefix, after };
      const list = await this.ask(
        MessageType.LIST_SEGMENTS,
        listSegments,
        body,
        MessageType.SEGMENT_LIST,
        segmentList,
      );
      found.push(...list.segments);
      const last = list.segments[list.segments.length - 1];
      if (!list.more || last === undefined) return found;
      after = last.path;
    }
  }

  /** Removes a segment from the server, for all programs. */
  async remove(path: string): Promise<void> {
    const deadline = now() + this.timeoutMs;
    // They are kept until the end, with the pauses between their attempts to connect.
    const entered: Link[] = [];
    try {
      let isRemoved = false;
      while (!isRemoved) isRemoved = await this.removeOnce(path, deadline, entered);
    } finally {
      for (const link of entered) this.owners.leave(link);
    }
  }

  /**
   * False if its owner was not reached: another server may have it by now [SPACE-55]. A server that
   * was asked and did not answer may have removed it, and the error says so.
   */
  private async removeOnce(path: string, deadline: number, entered: Link[]): Promise<boolean> {
    let link = this.link;
    let live = await link.connected(deadline);
    for (let hops = 0; ; ++hops) {
      const type = MessageType.REMOVE_SEGMENT;
      const request = { type, codec: removeSegment, body: { path }, deadline };
      const { message } = await link.call(live, request);
      const to = redirectOf(message);
      if (to === null) {
        expect(message, MessageType.DONE, null);
        return true;
      }
      if (hops === MOST_HOPS) throw sentTooOften(path, to);
      link = this.owners.enter(to);
      entered.push(link);
      const space = spaceOf(live.welcome);
      try {
        live = await link.tried(deadline);
      } catch (error) {
        if (isAway(error) && now() < deadline) return false;
        throw failedThere(link, this.link, error);
      }
      checkSpace(space, live, link);
    }
  }

  private async ask<Q, A>(
    type: MessageType,
    codec: Codec<Q>,
    body: Q,
    reply: MessageType,
    replyCodec: Codec<A> | null,
  ): Promise<A> {
    const deadline = now() + this.timeoutMs;
    const live = await this.link.connected(deadline);
    const answer = await this.link.call(live, { type, codec, body, deadline });
    return expect(answer.message, reply, replyCodec);
  }

  /** Ends the session. Its locks are given back, and changes that were not released are undone. */
  async close(): Promise<void> {
    const closing = [...this.segments.values()].map((segment) => segment.close());
    this.link.close();
    this.owners.close();
    await Promise.all(closing);
  }
}

/** Returns a `connect` that reaches servers by `dial`. */
/** `originOf` says where the program runs, as far as the platform tells that. */
export function connectBy(dial: Dial, originOf: () => Origin = () => ({})) {
  return async (url: string, options: ConnectOptions = {}): Promise<Client> => {
    const client = new Client(url, dial, options, originOf());
    await client.begin();
    return client;
  };
}
