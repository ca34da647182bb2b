/**
 * A server of a space as clients see it: it owns every segment, or sends clients on. It grants
 * writer locks, commits no release, and says of every release that version 1 came of it. Its
 * segments can move to another server [SPACE-20, SPACE-23]. It can pass clients on [SPACE-48].
 */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createSecureServer, type TlsOptions } from "node:tls";
import { findField } from "../src/session/fields.js";
import { decodeBody, FrameDecoder, framesOf, message, type Message } from "../src/wire/frames.js";
import { ErrorCode, errorReply } from "../src/wire/protocol/error.js";
import { FieldKey, idField, redirectField } from "../src/wire/protocol/field.js";
import {
  readerAcquired,
  releaseResolved,
  releaseWriter,
  resolveRelease,
  writerAcquired,
} from "../src/wire/protocol/lock.js";
import { segmentMoved } from "../src/wire/protocol/moving.js";
import { notRecent, subscribed } from "../src/wire/protocol/notify.js";
import {
  Durability,
  NOT_KNOWN,
  openSegment,
  segmentList,
  segmentOpened,
} from "../src/wire/protocol/segment.js";
import {
  hello,
  MessageType,
  PROTOCOL_VERSION_MAX,
  welcome,
  type Hello,
} from "../src/wire/protocol/session.js";
import { toBytes, type Codec } from "../src/wire/protocol/xdr.js";

const FOREVER_MS = 3_600_000;
const BEFORE = { incarnation: 1n, number: 0n, chain: 0n };
const AFTER = { incarnation: 1n, number: 1n, chain: 0n };
const FIRST_NOTIFICATION = 0x80000000;

interface Place {
  address: string;
  tls_name: string;
}

/**
 * Of the many loopback addresses one that is this process's own: other programs cannot take the
 * port there while the server is down.
 */
const OWN_HOST = `127.8.${(process.pid >> 8) & 0xff}.${process.pid & 0xff}`;

export class SpaceServer {
  readonly hellos: Hello[] = [];
  readonly resolved: { session: Uint8Array; sequence: bigint }[] = [];
  /** Names of the messages about segments and releases that came and were not taken yet. */
  readonly heard: string[] = [];
  /** Where clients are sent on; null: it owns all. */
  owner: Place | null = null;
  /** The first release ends it, unanswered. */
  diesOfReleases = false;
  /** The error with which it answers releases; null: it takes them. */
  refusesReleases: ErrorCode | null = null;
  /** The next opening ends it, unanswered. */
  diesOfOpenings = false;
  /** It answers neither openings nor removals. */
  isSlow = false;
  /** It says that it passes clients on. */
  relays = false;
  /** Where it has passed clients on to. */
  readonly relayed: string[] = [];
  /** The error with which it answers HELLO; null: it welcomes clients. */
  welcomesNobody: ErrorCode | null = null;
  /** Requests of these types wait: for locks, subscriptions and releases. */
  readonly later = new Set<number>();
  /** The version of its segments. */
  newest = BEFORE;
  private readonly waiting: (() => void)[] = [];
  private readonly open = new Set<Socket>();
  private server: Server | null = null;
  private port = 0;
  /** Openings, whose numbers no other openings have. */
  private readonly openings = new Map<number, { socket: Socket; path: string }>();
  private readonly unanswered = new Set<{ socket: Socket; asked: Message; path: string }>();
  /** By path: where the segments are that have moved. */
  private readonly moved = new Map<string, Place>();
  private notifications = FIRST_NOTIFICATION;

  private constructor(
    private readonly space: number,
    private readonly secure: TlsOptions | null,
  ) {}

  static async start(space: number, secure: TlsOptions | null = null): Promise<SpaceServer> {
    const made = new SpaceServer(space, secure);
    await made.listen();
    return made;
  }

  /** Certificates have the usual address alone. */
  private get host(): string {
    return this.secure === null ? OWN_HOST : "127.0.0.1";
  }

  get address(): string {
    return `${this.host}:${this.port}`;
  }

  get url(): string {
    return `iw${this.secure === null ? "" : "s"}://${this.address}`;
  }

  sendsTo(other: SpaceServer, tlsName = ""): this {
    this.owner = { address: other.address, tls_name: tlsName };
    return this;
  }

  /** Its segments are of version 1. */
  isWritten(): this {
    this.newest = AFTER;
    return this;
  }

  /** No copy of its segments is confirmed any more [SPACE-20]. */
  confirmsNoMore(): void {
    for (const [segment, { socket }] of this.openings) {
      const body = { segment, now: this.newest };
      this.notify(socket, MessageType.NOT_RECENT, notRecent, body);
    }
  }

  /** As `moves`, but the client learns it by the answers to its requests alone. */
  movesUnsaid(path: string, to: SpaceServer): void {
    this.moved.set(path, { address: to.address, tls_name: "" });
  }

  /** The segment is at another server from now on. Writers that wait are told so first. */
  moves(path: string, to: SpaceServer): void {
    this.movesUnsaid(path, to);
    this.refuse(path, (type) => type === MessageType.ACQUIRE_WRITER);
    for (const [segment, opening] of this.openings) {
      if (opening.path !== path) continue;
      const body = { segment, address: to.address, tls_name: "" };
      this.notify(opening.socket, MessageType.SEGMENT_MOVED, segmentMoved, body);
    }
  }

  /** Answers requests about a segment that has moved which wait. */
  refuse(path: string, isMeant: (type: number) => boolean = () => true): void {
    for (const each of this.unanswered) {
      const { type, stream } = each.asked.envelope;
      if (each.path !== path || !isMeant(type)) continue;
      this.unanswered.delete(each);
      write(each.socket, sendOn(stream, this.moved.get(path) as Place));
    }
  }

  private notify<T>(socket: Socket, type: MessageType, codec: Codec<T>, body: T): void {
    write(socket, message(type, this.notifications++, codec, body));
  }

  /** Takes connections, at the same port if it did so before. */
  async listen(): Promise<void> {
    const serve = (socket: Socket) => this.serve(socket);
    this.server =
      this.secure === null ? createServer(serve) : createSecureServer(this.secure, serve);
    this.server.on("tlsClientError", () => undefined);
    this.server.listen(this.port, this.host);
    await once(this.server, "listening");
    this.port = (this.server.address() as AddressInfo).port;
  }

  /** The next message about segments or releases; waits for one. */
  async next(): Promise<string> {
    while (this.heard.length === 0) {
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
    return this.heard.shift() as string;
  }

  /** Ends all connections. */
  cut(): void {
    for (const socket of this.open) socket.destroy();
  }

  /** And takes no other. */
  kill(): void {
    this.server?.close();
    this.server = null;
    this.cut();
  }

  private serve(socket: Socket): void {
    const decoder = new FrameDecoder(1n << 20n);
    this.open.add(socket);
    socket.on("close", () => this.open.delete(socket));
    socket.on("error", () => undefined);
    const take = (bytes: Uint8Array) => {
      for (const whole of decoder.push(bytes)) {
        const to = wishOf(whole);
        if (to !== null) return this.passOn(socket, to, whole, () => socket.off("data", take));
        const answer = this.answer(socket, whole);
        if (answer !== null) write(socket, answer);
      }
    };
    socket.on("data", take);
  }

  /** Says the HELLO there without its wish, and passes all bytes on. */
  private passOn(socket: Socket, to: Place, asked: Message, letGo: () => void): void {
    const said = decodeBody(asked, hello);
    const fields = said.fields.filter(({ key }) => key !== FieldKey.FIELD_REDIRECT);
    const [host = "", port] = to.address.split(":");
    this.relayed.push(to.address);
    letGo();
    const there = connect(Number(port), host);
    const { stream } = asked.envelope;
    there.on("error", (error) => {
      write(socket, refusal(stream, ErrorCode.UNREACHABLE, error.message));
    });
    this.open.add(there);
    socket.on("close", () => there.destroy());
    there.on("close", () => socket.end());
    write(there, message(MessageType.HELLO, stream, hello, { ...said, fields }));
    socket.pipe(there);
    there.pipe(socket);
  }

  private answer(socket: Socket, asked: Message): Message | null {
    const { type, stream } = asked.envelope;
    if (type === MessageType.HELLO) return this.welcome(asked);
    if (type === MessageType.GOODBYE) return null;
    const name = Object.entries(MessageType).find(([, number]) => number === type)?.[0];
    this.heard.push(name ?? String(type));
    for (const wake of this.waiting.splice(0)) wake();
    const isOfOwner = type === MessageType.OPEN_SEGMENT || type === MessageType.REMOVE_SEGMENT;
    if (isOfOwner && this.owner !== null) return sendOn(stream, this.owner, this.relays);
    if (isOfOwner && this.isSlow) return null;
    switch (type) {
      case MessageType.OPEN_SEGMENT:
        if (this.diesOfOpenings) this.kill();
        return this.diesOfOpenings ? null : this.openFor(socket, asked);
      case MessageType.LIST_SEGMENTS:
        return list(stream);
      case MessageType.RELEASE_WRITER:
        if (this.refusesReleases !== null) return refusal(stream, this.refusesReleases, "a test");
        if (this.diesOfReleases) this.kill();
        return this.diesOfReleases ? null : this.answerLater(socket, asked);
      case MessageType.ACQUIRE_READER:
      case MessageType.ACQUIRE_WRITER:
      case MessageType.SUBSCRIBE:
      case MessageType.RESOLVE_RELEASE:
        return this.answerLater(socket, asked);
      default:
        return message(MessageType.DONE, stream, null, null);
    }
  }

  /** A request about a segment that is open, unless the segment has moved. */
  private answerLater(socket: Socket, asked: Message): Message | null {
    const { type, stream } = asked.envelope;
    const { path } = this.openings.get(numberIn(asked)) as { path: string };
    const moved = this.moved.get(path);
    if (moved !== undefined) return sendOn(stream, moved);
    const waits = type === MessageType.RELEASE_WRITER || this.later.has(type);
    if (waits) this.unanswered.add({ socket, asked, path });
    return waits ? null : this.answerNow(asked);
  }

  private answerNow(asked: Message): Message {
    const { type, stream } = asked.envelope;
    const { newest } = this;
    if (type === MessageType.SUBSCRIBE) {
      return message(MessageType.SUBSCRIBED, stream, subscribed, { now: newest });
    }
    if (type === MessageType.ACQUIRE_READER) {
      const body = { now: newest, updated: false };
      return message(MessageType.READER_ACQUIRED, stream, readerAcquired, body);
    }
    if (type === MessageType.RESOLVE_RELEASE) {
      this.resolved.push(decodeBody(asked, resolveRelease));
      const body = { committed: true, version: AFTER };
      return message(MessageType.RELEASE_RESOLVED, stream, releaseResolved, body);
    }
    return message(MessageType.WRITER_ACQUIRED, stream, writerAcquired, {
      now: newest,
      updated: false,
      fence: 7n,
      lease_ms: FOREVER_MS,
      max_hold_ms: FOREVER_MS,
      first_serial: 1n,
      serial_count: 64,
    });
  }

  /** The session tells the server's port. */
  session(count: number): Uint8Array {
    const session = new Uint8Array(16);
    session.set([count, this.port & 0xff, this.port >> 8]);
    return session;
  }

  private welcome(asked: Message): Message {
    this.hellos.push(decodeBody(asked, hello));
    if (this.welcomesNobody !== null) {
      return refusal(asked.envelope.stream, this.welcomesNobody, "not now");
    }
    const id = new Uint8Array(16).fill(this.space);
    return message(MessageType.WELCOME, asked.envelope.stream, welcome, {
      version: PROTOCOL_VERSION_MAX,
      session: this.session(this.hellos.length),
      resumed: false,
      heartbeat_ms: FOREVER_MS,
      session_lease_ms: FOREVER_MS,
      max_diff_bytes: 1n << 20n,
      server: "space",
      fields: [{ key: FieldKey.FIELD_SPACE_ID, value: toBytes(idField, { id }) }],
    });
  }

  private openFor(socket: Socket, asked: Message): Message {
    const { stream } = asked.envelope;
    const { path } = decodeBody(asked, openSegment);
    const moved = this.moved.get(path);
    if (moved !== undefined) return sendOn(stream, moved);
    const segment = this.openings.size + 1;
    this.openings.set(segment, { socket, path });
    return message(MessageType.SEGMENT_OPENED, stream, segmentOpened, {
      segment,
      created: false,
      newest: this.newest,
      durable: Durability.SYNCED,
      quota_bytes: 0n,
      block_count: 0n,
      wire_bytes: 0n,
      fields: [],
    });
  }
}

/** A segment of another server of the space [SPACE-35], and then one of its own. */
function list(stream: number): Message {
  const listed = (path: string, clients: number) => ({
    path,
    newest: AFTER,
    durable: Durability.SYNCED,
    block_count: 0n,
    wire_bytes: 0n,
    quota_bytes: 0n,
    clients,
    subscribers: 0,
    writer_locked: false,
    writers_waiting: 0,
  });
  const segments = [listed("/elsewhere", NOT_KNOWN), listed("/here", 2)];
  return message(MessageType.SEGMENT_LIST, stream, segmentList, { segments, more: false });
}

function write(socket: Socket, whole: Message): void {
  for (const frame of framesOf(whole)) socket.write(frame);
}

/** The number of the segment that a request is about. */
function numberIn(asked: Message): number {
  const { body } = asked;
  if (asked.envelope.type !== MessageType.RELEASE_WRITER) {
    return new DataView(body.buffer, body.byteOffset).getUint32(0);
  }
  return decodeBody(asked, releaseWriter).parts[0]?.segment ?? 0;
}

/** Where a HELLO asks to be passed on to; null: nowhere. */
function wishOf(asked: Message): Place | null {
  if (asked.envelope.type !== MessageType.HELLO) return null;
  const to = findField(decodeBody(asked, hello).fields, FieldKey.FIELD_REDIRECT, redirectField);
  return to?.relay === true ? to : null;
}

function refusal(stream: number, code: ErrorCode, text: string): Message {
  return message(MessageType.ERROR, stream, errorReply, { code, text, fields: [] });
}

function sendOn(stream: number, to: Place, relay = false): Message {
  const value = toBytes(redirectField, { ...to, relay });
  return message(MessageType.ERROR, stream, errorReply, {
    code: ErrorCode.REDIRECTED,
    text: `it is at ${to.address}`,
    fields: [{ key: FieldKey.FIELD_REDIRECT, value }],
  });
}
