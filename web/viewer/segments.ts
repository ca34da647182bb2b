/**
 * The server's segments, asked for once a second: what they are, how quickly
 * they change, who reads.
 */
import type { Client } from "../src/client/client.js";
import { Durability, type SegmentInfo } from "../src/wire/protocol/segment.js";
import { segmentAddress } from "./address.js";
import { bytesText, copyButton, durationText, h, setText } from "./dom.js";
import { readerText, type Reader, type SegmentStatus, type Status } from "./status.js";

const columns = [
  "Segment",
  "Version",
  "Updates/s",
  "Blocks",
  "Size",
  "Clients",
  "Writer lock",
  "Copies behind",
  "Saved by diffs",
  "",
];
const [LOCK_COLUMN, READERS_COLUMN] = [6, 7];
const durabilities: Record<number, string> = {
  [Durability.MEMORY]: "memory",
  [Durability.WRITTEN]: "written",
  [Durability.SYNCED]: "synced",
};

/** Versions a second, from two looks. */
class Rates {
  private readonly last = new Map<string, { version: number; at: number; rate: number }>();

  of(path: string, version: number, at: number): number {
    const last = this.last.get(path);
    const seconds = last === undefined ? 0 : (at - last.at) / 1000;
    const now =
      last === undefined || seconds <= 0 ? 0 : Math.max(0, version - last.version) / seconds;
    // A mean over the last looks: single ones jump.
    const rate = last === undefined ? 0 : last.rate * 0.4 + now * 0.6;
    this.last.set(path, { version, at, rate });
    return rate;
  }
}

/** Who has the writer lock, and who waits for it. */
function lockText(info: SegmentInfo, more: SegmentStatus | undefined): string {
  const waiting = info.writers_waiting === 0 ? "" : `, ${info.writers_waiting} waiting`;
  if (!info.writer_locked) return `free${waiting}`;
  const { writer } = more ?? {};
  return (writer ? `held by ${writer}` : "held") + waiting;
}

function behindText(readers: readonly Reader[]): string {
  const have = readers.filter(({ version }) => version !== null);
  if (have.length === 0) return "–";
  const most = Math.max(...have.map(({ behind }) => behind ?? 0));
  const longest = Math.max(...have.map(({ stale_ms }) => stale_ms ?? 0));
  const current = have.filter(({ behind }) => behind === 0).length;
  if (most === 0) return `${have.length} up to date`;
  const time = durationText(longest / 1000);
  return `${current} of ${have.length} up to date, most ${most} behind, ${time} at most`;
}

/** Each reader by name. It is shown to a person who points at the cell. */
function readersText(readers: readonly Reader[]): string {
  return readers.map((reader) => `${reader.client}: ${readerText(reader)}`).join("\n");
}

function savedText(sent: number, whole: number): string {
  if (whole === 0) return "–";
  const part = Math.max(0, 100 * (1 - sent / whole));
  const percent = part.toFixed(part > 99 && part < 100 ? 1 : 0);
  return `${bytesText(Math.max(0, whole - sent))} (${percent} %)`;
}

export function segmentsPage(
  client: Client,
  status: () => Status | null,
): { element: HTMLElement; update: () => Promise<void> } {
  const rates = new Rates();
  const body = h("tbody");
  const filter = h("input", {
    type: "search",
    placeholder: "Filter ( / )",
    "aria-label": "Filter segments",
    id: "filter",
    oninput: () => show(),
  });
  const table = h(
    "table",
    { class: "wide" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ...columns.map((name, i) => h("th", { class: i > 0 && i < 6 ? "number" : "" }, name)),
      ),
    ),
    body,
  );
  const empty = h(
    "p",
    { class: "empty", hidden: true },
    "There is no segment yet. A program makes one by opening it: " +
      'IW_open_segment("127.0.0.1/first").',
  );
  let list: SegmentInfo[] = [];
  let rows = new Map<string, HTMLTableCellElement[]>();
  const show = (): void => {
    const shown = list.filter(({ path }) => path.includes(filter.value));
    if (shown.length !== rows.size || shown.some(({ path }) => !rows.has(path))) {
      rows = new Map(shown.map((info) => [info.path, rowOf(client, info)]));
      body.replaceChildren(...[...rows.values()].map((cells) => h("tr", {}, ...cells)));
    }
    empty.hidden = list.length > 0;
    table.hidden = list.length === 0;
    const at = performance.now();
    for (const info of shown) {
      const more = status()?.segments.find(({ path }) => path === info.path);
      const texts = [
        null,
        String(info.newest.number),
        rates.of(info.path, Number(info.newest.number), at).toFixed(1),
        String(info.block_count),
        bytesText(Number(info.wire_bytes)),
        `${info.clients} (${info.subscribers} watch)`,
        lockText(info, more),
        more === undefined ? "–" : behindText(more.readers),
        more === undefined ? "–" : savedText(more.sent_bytes, more.whole_bytes),
      ];
      texts.forEach((text, i) => {
        const cell = rows.get(info.path)?.[i];
        if (text !== null && cell !== undefined) setText(cell, text);
        if (cell !== undefined && i === READERS_COLUMN && more !== undefined) {
          cell.title = readersText(more.readers);
        } else if (cell !== undefined && i === LOCK_COLUMN && more !== undefined) {
          cell.title = more.waiting.map((name) => `${name} waits`).join("\n");
        }
      });
    }
  };
  const update = async (): Promise<void> => {
    list = await client.list();
    show();
  };
  const element = h(
    "section",
    {},
    h("h2", {}, "Segments"),
    h("div", { class: "controls" }, filter),
    h("div", { class: "scroll" }, table),
    empty,
  );
  return { element, update };
}

function rowOf(client: Client, info: SegmentInfo): HTMLTableCellElement[] {
  const { path, durable, quota_bytes } = info;
  const link = h(
    "a",
    {
      href: segmentAddress(path),
      title: `${durabilities[durable] ?? ""}, at most ${bytesText(Number(quota_bytes))}`,
    },
    path,
  );
  const cells = columns
    .slice(1, -1)
    .map((name, i) => h("td", { class: i < 5 ? "number" : "", "data-head": name }));
  return [
    h("td", {}, link),
    ...cells,
    h(
      "td",
      {},
      copyButton(() => client.serverUrl + path, "Copy URL"),
    ),
  ];
}
