/**
 * One connection, without I/O: bytes and time in, messages out. It assigns streams to requests and
 * answers to requests. It says when to send a heartbeat and when the server is silent [SES-3].
 */
import { InterweaveError, malformed } from "../wire/error.js";
import { decodeBody, FrameDecoder, message, nameOfType, type Message } from "../wire/frames.js";
import { ErrorCode, errorReply, plainError, type ErrorReply } from "../wire/protocol/error.js";
import {
  FieldKey,
  idField,
  movingField,
  redirectField,
  type RedirectField,
} from "../wire/protocol/field.js";
import {
  hello,
  MessageType,
  PROTOCOL_VERSION_MAX,
  PROTOCOL_VERSION_MIN,
  welcome,
  type Welcome,
} from "../wire/protocol/session.js";
import { toBytes, type Codec } from "../wire/protocol/xdr.js";
import { checkFields, findField, originFields, readable, type Origin } from "./fields.js";

const NOTIFICATION_BIT = 0x80000000;
const MAX_REQUESTS = 65536;
/** Heartbeats missed before the connection is taken for lost. */
const PATIENCE_HEARTBEATS = 5;
/** The client follows segments that move [SPACE-23]. */
const FOLLOWS_MOVES = {
  key: FieldKey.FIELD_MOVING,
  value: toBytes(movingField, { follows_moves: true }),
};
/** Until the welcome says otherwise: it has no bulk. */
const NO_BULK = 0n;

export function isSameSession(one: Uint8Array, other: Uint8Array): boolean {
  return one.every((byte, index) => byte === other[index]);
}

export interface Identity {
  /** All zeros: a new session. */
  session: Uint8Array;
  readonly token: string;
  /** For people: program and language. */
  readonly client: string;
  /** For people: where it runs. */
  readonly origin: Origin;
}

/** The answer to a request. */
export interface Answer {
  readonly message: Message;
  readonly sentAt: number;
}

interface Pending {
  readonly type: MessageType;
  readonly sentAt: number;
  readonly answered: (answer: Answer) => void;
  /** The first frame of the answer has come; the rest comes later. */
  readonly begins: (first: Message) => void;
}

export class Connection {
  /** Holds the session, which is a secret. No printed object may show it. */
  #welcome: Welcome | null = null;
  /** When a message last began to come [FRESH-3]. */
  heard: number;
  private bytesCame: number;
  private said: number;
  private readonly frames = new FrameDecoder(NO_BULK);
  private readonly pending = new Map<number, Pending>();
  private nextStream = 1;

  /**
   * `notified` is called with each notification, in order among the answers; also with the first
   * frame of one of which the rest comes later.
   */
  constructor(
    now: number,
    private readonly notified: (message: Message) => void,
  ) {
    this.heard = now;
    this.bytesCame = now;
    this.said = now;
  }

  /** `relay`: where the server is to pass the connection on to [SPACE-48]. */
  hello(
    identity: Identity,
    relay: RedirectField | undefined,
    now: number,
    answered: Pending["answered"],
  ): Message {
    const { session, token, client, origin } = identity;
    const magic = new TextEncoder().encode("IWV1");
    const versions = { version_min: PROTOCOL_VERSION_MIN, version_max: PROTOCOL_VERSION_MAX };
    const fields = [...originFields(origin), FOLLOWS_MOVES];
    if (relay !== undefined) {
      fields.push({ key: FieldKey.FIELD_REDIRECT, value: toBytes(redirectField, relay) });
    }
    const body = { magic, ...versions, session, token, client, fields };
    return this.request(MessageType.HELLO, hello, body, undefined, now, answered).message;
  }

  /** Takes the answer to hello in. */
  welcomed(answer: Answer): Welcome {
    const said = expectWelcome(answer.message);
    checkFields(said.fields);
    if (said.version < PROTOCOL_VERSION_MIN || said.version > PROTOCOL_VERSION_MAX) {
      throw new InterweaveError(
        ErrorCode.VERSION_MISMATCH,
        `the server chose version ${said.version} of the protocol, which was not offered`,
      );
    }
    if (said.heartbeat_ms === 0 || said.session_lease_ms === 0) {
      throw malformed("the server's welcome has no heartbeat or lease");
    }
    this.frames.setMaxBulkBytes(said.max_diff_bytes);
    this.#welcome = said;
    return said;
  }

  get welcome(): Welcome | null {
    return this.#welcome;
  }

  /** The message to send, and its stream. */
  request<T>(
    type: MessageType,
    codec: Codec<T> | null,
    body: T | null,
    bulk: Uint8Array | undefined,
    now: number,
    answered: Pending["answered"],
    begins: Pending["begins"] = () => undefined,
  ): { message: Message; stream: number } {
    if (this.pending.size >= MAX_REQUESTS) {
      throw new InterweaveError(ErrorCode.TOO_LARGE, "too many requests wait for their answers");
    }
    while (this.nextStream === 0 || this.pending.has(this.nextStream)) {
      this.nextStream = (this.nextStream + 1) % NOTIFICATION_BIT;
    }
    const stream = this.nextStream;
    this.nextStream = (stream + 1) % NOTIFICATION_BIT;
    const whole = message(type, stream, codec, body, bulk);
    this.pending.set(stream, { type, sentAt: now, answered, begins });
    this.said = now;
    return { message: whole, stream };
  }

  /** A message that has no answer. */
  tell<T>(type: MessageType, codec: Codec<T> | null, body: T | null, now: number): Message {
    this.said = now;
    return message(type, this.nextStream, codec, body);
  }

  /** After an error the connection is to be closed. */
  receive(bytes: Uint8Array, now: number): void {
    this.bytesCame = now;
    for (const come of this.frames.push(bytes)) {
      const { stream } = come.envelope;
      // The server may have begun other messages before the frames that follow a first one.
      if (come.part !== "rest") this.heard = now;
      if (stream >= NOTIFICATION_BIT) {
        this.notified(come);
        continue;
      }
      const pending = this.pending.get(stream);
      if (pending === undefined) {
        // Stream 0: the server says why it is about to close the connection.
        expect(come, MessageType.DONE, null);
        throw malformed("the server answered what was not asked");
      }
      if (come.part === "first") {
        pending.begins(come);
        continue;
      }
      this.pending.delete(stream);
      pending.answered({ message: come, sentAt: pending.sentAt });
    }
  }

  get heartbeatMs(): number {
    return this.welcome?.heartbeat_ms ?? 0;
  }

  isPingDue(now: number): boolean {
    return this.welcome !== null && now - this.said >= this.welcome.session_lease_ms / 3;
  }

  isSilent(now: number): boolean {
    return this.welcome !== null && now - this.bytesCame > PATIENCE_HEARTBEATS * this.heartbeatMs;
  }
}

/** An ERROR in either of its forms [SES-5]. */
function readError(answer: Message): ErrorReply {
  try {
    return decodeBody(answer, errorReply);
  } catch (error) {
    try {
      return { ...decodeBody(answer, plainError), fields: [] };
    } catch {
      throw error;
    }
  }
}

/** Where a server sends the client on [SPACE-9]; null: it does not. */
export function redirectOf(answer: Message): RedirectField | null {
  if (answer.envelope.type !== MessageType.ERROR) return null;
  const { code, fields } = readError(answer);
  if (code !== ErrorCode.REDIRECTED) return null;
  checkFields(fields);
  return findField(fields, FieldKey.FIELD_REDIRECT, redirectField) ?? null;
}

/** Whether two servers say that they serve the same space. */
export function isSameSpace(one: Uint8Array | null, other: Uint8Array | null): boolean {
  return one !== null && other !== null && one.every((byte, at) => byte === other[at]);
}

/** What the server serves together with others; null: it does not say. */
export function spaceOf({ fields }: Welcome): Uint8Array | null {
  return findField(fields, FieldKey.FIELD_SPACE_ID, idField)?.id ?? null;
}

/** A server of version 1 takes the hello of this version for something else [SES-5]. */
function expectWelcome(answer: Message): Welcome {
  try {
    return expect(answer, MessageType.WELCOME, welcome);
  } catch (error) {
    const isOlder =
      answer.envelope.type === MessageType.ERROR &&
      error instanceof InterweaveError &&
      error.code === ErrorCode.NOT_OPEN;
    if (!isOlder) throw error;
    throw new InterweaveError(
      ErrorCode.VERSION_MISMATCH,
      `this client speaks protocol versions ${PROTOCOL_VERSION_MIN} to ${PROTOCOL_VERSION_MAX}; ` +
        "the server does not understand its hello, as servers of version 1 do not; update the " +
        `older program (the server said: ${error.message})`,
    );
  }
}

/** The body of an answer of that type; anything else, an error among it, is thrown. */
export function expect<T>(answer: Message, type: MessageType, codec: Codec<T> | null): T {
  const found = answer.envelope.type;
  if (found === MessageType.ERROR) {
    const { code, text, fields } = readError(answer);
    if (code === ErrorCode.OK) throw malformed("the server answered with the error OK");
    checkFields(fields);
    const to = findField(fields, FieldKey.FIELD_REDIRECT, redirectField);
    const instead = to === undefined ? "" : `; ask the server at ${readable(to.address)}`;
    throw new InterweaveError(code, readable(text) + instead);
  }
  if (found === MessageType.UNIMPLEMENTED) {
    throw new InterweaveError(ErrorCode.UNIMPLEMENTED, "the server does not implement this");
  }
  if (found !== type) {
    throw malformed(`the server answered with ${nameOfType(found)}, not ${nameOfType(type)}`);
  }
  if (codec === null) {
    if (answer.body.length > 0) throw malformed(`${nameOfType(type)} has a body`);
    return undefined as T;
  }
  return decodeBody(answer, codec);
}
