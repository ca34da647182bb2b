/** The traces of spec/vectors/traces, and how their messages are compared with others. */
import { readdirSync, readFileSync } from "node:fs";
import { decodeBody, nameOfType, type Message } from "../src/wire/frames.js";
import {
  abortWriter,
  acquireReader,
  acquireWriter,
  moreSerials,
  releaseReader,
  releaseWriter,
  renewWriter,
  resolveRelease,
} from "../src/wire/protocol/lock.js";
import { credit, subscribe, unsubscribe } from "../src/wire/protocol/notify.js";
import { closeSegment, openSegment } from "../src/wire/protocol/segment.js";
import { hello, MessageType } from "../src/wire/protocol/session.js";
import type { Codec } from "../src/wire/protocol/xdr.js";
import { fromHex, root, toHex } from "./vectors.js";

export interface Head {
  trace: number;
  seed: number;
  keeps_grants: boolean;
  path: string;
  durability: string;
}

export interface Line {
  /** In the file, from 1 on. */
  number: number;
  at: number;
  is: string;
  action?: string;
  message?: string;
  body?: string;
  bulk?: string;
  to?: number;
  until?: number;
  model?: string;
  x?: number;
  fresh?: boolean;
  diff?: string;
  code?: string;
  outcome?: string;
  version?: string[];
  fence?: string;
}

export interface Trace {
  name: string;
  head: Head;
  lines: Line[];
}

export function traceOf(name: string, text: string): Trace {
  const [head, ...lines] = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
  return {
    name,
    head: head as Head,
    lines: lines.map((line, i) => ({ ...(line as Line), number: i + 2 })),
  };
}

export function traces(folder = `${root}spec/vectors/traces/`): Trace[] {
  const files = readdirSync(folder).filter((file) => file.endsWith(".jsonl"));
  return files.sort().map((file) => traceOf(file, readFileSync(folder + file, "utf8")));
}

/** A body's codec, and the members that may differ. */
type Meaning = [codec: unknown, free: string[]];

const meanings: Partial<Record<number, Meaning>> = {
  [MessageType.HELLO]: [hello, ["token", "client", "fields"]],
  [MessageType.OPEN_SEGMENT]: [openSegment, []],
  [MessageType.CLOSE_SEGMENT]: [closeSegment, []],
  [MessageType.ACQUIRE_READER]: [acquireReader, ["deadline_ms"]],
  [MessageType.RELEASE_READER]: [releaseReader, []],
  [MessageType.ACQUIRE_WRITER]: [acquireWriter, ["deadline_ms"]],
  [MessageType.RENEW_WRITER]: [renewWriter, []],
  [MessageType.MORE_SERIALS]: [moreSerials, ["count"]],
  [MessageType.RELEASE_WRITER]: [releaseWriter, []],
  [MessageType.ABORT_WRITER]: [abortWriter, []],
  [MessageType.RESOLVE_RELEASE]: [resolveRelease, []],
  [MessageType.SUBSCRIBE]: [subscribe, []],
  [MessageType.UNSUBSCRIBE]: [unsubscribe, []],
  [MessageType.CREDIT]: [credit, []],
};

/** Bytes as hex, large numbers as digits. */
function plain(_key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return toHex(value);
  return typeof value === "bigint" ? String(value) : value;
}

/** A text that is the same for messages that mean the same. */
export function meaningOf(message: Message): string {
  const name = nameOfType(message.envelope.type);
  const [codec, free] = meanings[message.envelope.type] ?? [null, []];
  const body =
    codec === null ? { body: message.body } : decodeBody(message, codec as Codec<object>);
  const members = Object.entries(body).filter(([member]) => !free.includes(member));
  const bulk = message.bulk.length > 0 ? ` with ${toHex(message.bulk)}` : "";
  const shown = JSON.stringify(Object.fromEntries(members), plain);
  return `${name} ${shown}${bulk}`;
}

/** The message of a line, on that stream. */
export function messageOf(line: Line, stream: number): Message {
  const bulk = fromHex(line.bulk ?? "");
  const type = MessageType[line.message as keyof typeof MessageType];
  const envelope = { type, stream, bulk_bytes: BigInt(bulk.length) };
  return { envelope, body: fromHex(line.body ?? ""), bulk, part: "whole" };
}
