/** The columns of the list of segments, for a segment and for a folder of them. */
import { Durability, NOT_KNOWN, type SegmentInfo } from "../src/wire/protocol/segment.js";
import { clientText } from "./clients.js";
import { bytesText, durationText, groupText } from "./dom.js";
import { readerText, type Reader, type SegmentStatus } from "./status.js";
import type { Leaf } from "./tree.js";

/** A segment as the list shows it. */
export interface Listed extends Leaf {
  readonly info: SegmentInfo;
  readonly more: SegmentStatus | undefined;
}

export interface Column {
  readonly id: string;
  readonly name: string;
  readonly isNumber: boolean;
  /** Of a segment. */
  text(listed: Listed): string;
  /** Of a folder: the sums of what is in it. */
  sum(values: Leaf["values"]): string;
  /** More, for a person who points at the cell. */
  title?(listed: Listed): string;
}

const durabilities: Record<number, string> = {
  [Durability.MEMORY]: "memory",
  [Durability.WRITTEN]: "written",
  [Durability.SYNCED]: "synced",
};

/** Zero is nothing to read. */
function numbered(id: string, name: string, text: (value: number) => string): Column {
  const sum = (values: Leaf["values"]) => (values[id] ? text(values[id] as number) : "");
  return { id, name, isNumber: true, sum, text: ({ values }) => sum(values) };
}

/** The writer lock in words: its holder, and the number of clients that wait for it. */
function lockText({ info, more }: Listed): string {
  if (isElsewhere(info)) return "at another server";
  const waiting = info.writers_waiting === 0 ? "" : `, ${info.writers_waiting} waiting`;
  if (!info.writer_locked) return waiting === "" ? "free" : `free${waiting}`;
  const { writer, writer_runs } = more ?? {};
  return (writer ? `held by ${clientText(writer, writer_runs ?? null)}` : "held") + waiting;
}

function behindText(readers: readonly Reader[]): string {
  const have = readers.filter(({ version }) => version !== null);
  if (have.length === 0) return "";
  const most = Math.max(...have.map(({ behind }) => behind ?? 0));
  const longest = Math.max(...have.map(({ stale_ms }) => stale_ms ?? 0));
  if (most === 0) return `${have.length} up to date`;
  const late = have.filter(({ behind }) => behind !== 0).length;
  return `${late} of ${have.length} behind by ${most}, ${durationText(longest / 1000)}`;
}

function savedText({ more }: Listed): string {
  const { sent_bytes: sent = 0, whole_bytes: whole = 0 } = more ?? {};
  if (whole === 0) return "";
  const part = Math.max(0, 100 * (1 - sent / whole));
  const percent = part.toFixed(part > 99 && part < 100 ? 1 : 0);
  return `${bytesText(Math.max(0, whole - sent))} (${percent} %)`;
}

/** Behind the path. */
export const columns: readonly Column[] = [
  { ...numbered("version", "Version", groupText), sum: () => "" },
  numbered("rate", "Updates/s", (value) => (value < 0.05 ? "" : value.toFixed(1))),
  numbered("blocks", "Blocks", groupText),
  numbered("bytes", "Size", bytesText),
  numbered("clients", "Clients", groupText),
  {
    id: "locked",
    name: "Writer lock",
    isNumber: false,
    text: lockText,
    sum: ({ locked }) => (locked ? `${locked} held` : ""),
    title: (of) =>
      isElsewhere(of.info)
        ? aboutText(of)
        : (of.more?.waiting ?? []).map((name) => `${name} waits`).join("\n"),
  },
  {
    id: "behind",
    name: "Copies behind",
    isNumber: false,
    text: ({ more }) => behindText(more?.readers ?? []),
    sum: ({ behind }) => (behind ? `${groupText(behind)} versions in all` : ""),
    title: ({ more }) =>
      (more?.readers ?? [])
        .map((reader) => `${clientText(reader.client, reader.runs)}: ${readerText(reader)}`)
        .join("\n"),
  },
  {
    id: "saved",
    name: "Saved by diffs",
    isNumber: true,
    text: savedText,
    sum: ({ saved }) => (saved ? bytesText(saved) : ""),
  },
];

export function listed(info: SegmentInfo, more: SegmentStatus | undefined, rate: number): Listed {
  const behind = (more?.readers ?? []).map((reader) => reader.behind ?? 0);
  const values = {
    version: Number(info.newest.number),
    rate,
    blocks: Number(info.block_count),
    bytes: Number(info.wire_bytes),
    clients: isElsewhere(info) ? 0 : info.clients,
    locked: Number(info.writer_locked),
    behind: Math.max(0, ...behind),
    saved: Math.max(0, (more?.whole_bytes ?? 0) - (more?.sent_bytes ?? 0)),
  };
  return { path: info.path, values, info, more };
}

/** Whether this server knows only path and version of the segment [SPACE-35]. */
function isElsewhere(info: SegmentInfo): boolean {
  return info.clients === NOT_KNOWN;
}

/** How durable a segment is, and how large it may be. */
export function aboutText({ info }: Listed): string {
  if (isElsewhere(info)) return "this server of the space has not read it: open it to see more";
  return `${durabilities[info.durable] ?? ""}, at most ${bytesText(Number(info.quota_bytes))}`;
}

/** Of all segments, as a table of numbers. A number that is not known is left out. */
export function* exported(list: readonly Listed[]): Generator<readonly unknown[]> {
  const ids = ["version", "rate", "blocks", "bytes", "clients", "locked", "behind", "saved"];
  yield ["path", ...ids];
  for (const { path, values, info } of list) {
    const isKnown = (id: string) => !isElsewhere(info) || id === "version" || id === "rate";
    yield [path, ...ids.map((id) => (isKnown(id) ? values[id] : ""))];
  }
}

/** Versions a second, from two looks. */
export class Rates {
  private last = new Map<string, { version: number; at: number; rate: number }>();

  /** Of all segments that there are. */
  look(list: readonly SegmentInfo[], at: number): void {
    const next: typeof this.last = new Map();
    for (const { path, newest } of list) {
      const version = Number(newest.number);
      const last = this.last.get(path);
      const seconds = last === undefined ? 0 : (at - last.at) / 1000;
      const now =
        last === undefined || seconds <= 0 ? 0 : Math.max(0, version - last.version) / seconds;
      // A mean over the last looks: single ones jump.
      const rate = last === undefined ? 0 : last.rate * 0.4 + now * 0.6;
      next.set(path, { version, at, rate: rate < 0.01 ? 0 : rate });
    }
    this.last = next;
  }

  of(path: string): number {
    return this.last.get(path)?.rate ?? 0;
  }
}
