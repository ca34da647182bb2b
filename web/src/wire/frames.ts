/**
 * Frames and messages: spec/protocol/session.x, [FRAME-1..4].
 *
 * `FrameDecoder` turns the bytes of one direction into whole messages, wherever they are cut. What
 * it holds is bounded by what has arrived: a bulk's memory is allocated for the bytes that came, at
 * most twice as much, never for what was announced.
 */
import { decoding, InterweaveError, malformed } from "./error.js";
import { ErrorCode } from "./protocol/error.js";
import {
  envelope as envelopeCodec,
  MAX_CHUNK_BYTES,
  MAX_CONTROL_BYTES,
  MAX_OPEN_STREAMS,
  MessageType,
  type Envelope,
} from "./protocol/session.js";
import { Reader, toBytes, Writer, type Codec } from "./protocol/xdr.js";

/** control_bytes:u32 bulk_bytes:u32 */
export const HEAD_BYTES = 8;
const NONE = new Uint8Array(0);

/**
 * How much of a message has come: all of it, in one frame; the first of its frames, without the
 * bulk; or all of it, after its first frame was told.
 */
export type Part = "whole" | "first" | "rest";

export interface Message {
  readonly envelope: Envelope;
  /** The XDR that follows the envelope. */
  readonly body: Uint8Array;
  readonly bulk: Uint8Array;
  readonly part: Part;
}

const typeNames = new Map<number, string>(
  Object.entries(MessageType).map(([name, type]) => [type, name]),
);

/** The name in session.x. */
export function nameOfType(type: number): string {
  return typeNames.get(type) ?? `message ${type}`;
}

/** The body, which must be that and nothing more. */
export function decodeBody<T>(message: Message, codec: Codec<T>): T {
  return decoding(`the body of ${nameOfType(message.envelope.type)}`, () => {
    const r = new Reader(message.body);
    const value = codec.decode(r);
    r.finish();
    return value;
  });
}

export function message<T>(
  type: MessageType,
  stream: number,
  codec: Codec<T> | null,
  body: T | null,
  bulk: Uint8Array = NONE,
): Message {
  return {
    envelope: { type, stream, bulk_bytes: BigInt(bulk.length) },
    body: codec === null ? NONE : toBytes(codec, body as T),
    bulk,
    part: "whole",
  };
}

/** The frames of a message, each as one piece. */
export function* framesOf(whole: Message): Generator<Uint8Array> {
  let at = 0;
  do {
    const bulk = whole.bulk.subarray(at, at + MAX_CHUNK_BYTES);
    const w = new Writer();
    const { stream } = whole.envelope;
    const left = BigInt(whole.bulk.length - at);
    const type = at === 0 ? whole.envelope.type : MessageType.CONTINUE;
    envelopeCodec.encode(w, { type, stream, bulk_bytes: left });
    const head = w.finish();
    const body = at === 0 ? whole.body : NONE;
    const control = head.length + body.length;
    const frame = new Uint8Array(HEAD_BYTES + control + bulk.length);
    const view = new DataView(frame.buffer);
    view.setUint32(0, control);
    view.setUint32(4, bulk.length);
    frame.set(head, HEAD_BYTES);
    frame.set(body, HEAD_BYTES + head.length);
    frame.set(bulk, HEAD_BYTES + control);
    at += bulk.length;
    yield frame;
  } while (at < whole.bulk.length);
}

/** A message whose bulk has not come whole. */
class Incomplete {
  private bytes = NONE;
  length = 0;
  /** Of the whole message. */
  private part: Part = "whole";

  constructor(
    readonly envelope: Envelope,
    readonly body: Uint8Array,
  ) {}

  get missing(): number {
    return Number(this.envelope.bulk_bytes) - this.length;
  }

  append(piece: Uint8Array): void {
    const length = this.length + piece.length;
    if (length > this.bytes.length) {
      const whole = Number(this.envelope.bulk_bytes);
      const grown = new Uint8Array(Math.min(Math.max(length, 2 * this.bytes.length), whole));
      grown.set(this.bytes.subarray(0, this.length));
      this.bytes = grown;
    }
    this.bytes.set(piece, this.length);
    this.length = length;
  }

  finish(): Message {
    const { envelope, body, bytes: bulk, part } = this;
    return { envelope, body, bulk, part };
  }

  /** Null: it was told before. */
  first(): Message | null {
    if (this.part === "rest") return null;
    this.part = "rest";
    const { envelope, body } = this;
    return { envelope, body, bulk: NONE, part: "first" };
  }
}

export class FrameDecoder {
  /** Bytes that came and are of no bulk yet, in their pieces. */
  private pieces: Uint8Array[] = [];
  private held = 0;
  private readonly incomplete = new Map<number, Incomplete>();
  /** The frame whose bulk is arriving: its message and how much of the frame is missing. */
  private arriving: { message: Incomplete; missing: number } | null = null;
  private maxBulkBytes: bigint;

  /** `maxBulkBytes` bounds a message's whole bulk. */
  constructor(maxBulkBytes: bigint) {
    this.maxBulkBytes = maxBulkBytes;
  }

  setMaxBulkBytes(bytes: bigint): void {
    this.maxBulkBytes = bytes;
  }

  /**
   * Takes bytes and gives the messages that are whole now, and those of which the first frame is
   * here, in their order. After an error the framing is lost.
   */
  push(bytes: Uint8Array): Message[] {
    if (bytes.length > 0) {
      this.pieces.push(bytes);
      this.held += bytes.length;
    }
    const come: Message[] = [];
    while (this.arriving !== null ? this.takeBulk(come) : this.takeHead());
    this.copyHeld();
    return come;
  }

  /** What was given belongs to the transport, which may use its memory again. */
  private copyHeld(): void {
    if (this.held === 0) return;
    this.pieces = [this.take(this.held).slice()];
    this.held = this.pieces[0]?.length ?? 0;
  }

  /** The first `count` bytes as one piece; they must be there. */
  private take(count: number): Uint8Array {
    this.held -= count;
    const first = this.pieces[0] ?? NONE;
    if (first.length > count) {
      this.pieces[0] = first.subarray(count);
      return first.subarray(0, count);
    }
    if (first.length === count) {
      this.pieces.shift();
      return first;
    }
    const taken = new Uint8Array(count);
    for (let at = 0; at < count;) {
      const piece = this.pieces[0] ?? NONE;
      const part = piece.subarray(0, count - at);
      taken.set(part, at);
      at += part.length;
      if (part.length === piece.length) this.pieces.shift();
      else this.pieces[0] = piece.subarray(part.length);
    }
    return taken;
  }

  private peek(count: number): Uint8Array {
    const bytes = this.take(count);
    this.pieces.unshift(bytes);
    this.held += count;
    return bytes;
  }

  /** False: more bytes are needed. */
  private takeBulk(come: Message[]): boolean {
    const { arriving } = this;
    if (arriving === null) return false;
    while (arriving.missing > 0 && this.held > 0) {
      const piece = this.take(Math.min(arriving.missing, this.pieces[0]?.length ?? 0));
      arriving.message.append(piece);
      arriving.missing -= piece.length;
    }
    if (arriving.missing > 0) return false;
    this.arriving = null;
    if (arriving.message.missing === 0) {
      this.incomplete.delete(arriving.message.envelope.stream);
      come.push(arriving.message.finish());
    } else {
      const first = arriving.message.first();
      if (first !== null) come.push(first);
    }
    return true;
  }

  private takeHead(): boolean {
    if (this.held < HEAD_BYTES) return false;
    const head = this.peek(HEAD_BYTES);
    const view = new DataView(head.buffer, head.byteOffset, HEAD_BYTES);
    if (view.getUint32(0) === 0x48545450) {
      throw malformed(
        "HTTP answers there, not this protocol: a server's HTTP port (7748 by " +
          "default) takes ws://host:port, its port for programs (7747 by default) iw://host:port",
      );
    }
    const [controlBytes, bulkBytes] = [view.getUint32(0), view.getUint32(4)];
    if (controlBytes > MAX_CONTROL_BYTES || bulkBytes > MAX_CHUNK_BYTES) {
      throw malformed(
        `a frame of ${controlBytes} and ${bulkBytes} bytes; ${MAX_CONTROL_BYTES} ` +
          `and ${MAX_CHUNK_BYTES} are the most`,
      );
    }
    if (this.held < HEAD_BYTES + controlBytes) return false;
    const control = this.take(HEAD_BYTES + controlBytes).subarray(HEAD_BYTES);
    const r = new Reader(control);
    const envelope = decoding("a frame's envelope", () => envelopeCodec.decode(r));
    const body = control.slice(r.at);
    const message =
      envelope.type === MessageType.CONTINUE
        ? this.continued(envelope.stream, body, bulkBytes)
        : this.begun(envelope, body, bulkBytes);
    this.arriving = { message, missing: bulkBytes };
    return true;
  }

  /** [FRAME-4] */
  private continued(stream: number, body: Uint8Array, bulkBytes: number): Incomplete {
    const message = this.incomplete.get(stream);
    if (message === undefined) {
      throw malformed(`CONTINUE on stream ${stream}, which has no message begun`);
    }
    if (body.length > 0 || bulkBytes > message.missing) {
      throw malformed(`CONTINUE on stream ${stream} has more than the bytes missing`);
    }
    return message;
  }

  /** [FRAME-3] */
  private begun(envelope: Envelope, body: Uint8Array, bulkBytes: number): Incomplete {
    const announced = envelope.bulk_bytes;
    if (announced > this.maxBulkBytes) {
      throw new InterweaveError(
        ErrorCode.TOO_LARGE,
        `a message with ${announced} bytes of bulk; ${this.maxBulkBytes} are the most`,
      );
    }
    if (BigInt(bulkBytes) > announced) throw malformed("a frame has more bulk than its message");
    if (this.incomplete.has(envelope.stream)) {
      throw malformed(`a second message begins on stream ${envelope.stream}`);
    }
    if (BigInt(bulkBytes) < announced && this.incomplete.size >= MAX_OPEN_STREAMS) {
      throw malformed(`more than ${MAX_OPEN_STREAMS} messages are incomplete`);
    }
    const message = new Incomplete(envelope, body);
    this.incomplete.set(envelope.stream, message);
    return message;
  }
}
