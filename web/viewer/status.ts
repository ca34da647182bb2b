/** What the server says beside the protocol: /status. */
import { durationText, setText } from "./dom.js";

/** Where a client runs, as far as it told. Nobody checks it. */
export interface Runs {
  program: string | null;
  host: string | null;
  pid: number | null;
}

/** A client that has the segment open; null: it has no copy. */
export interface Reader {
  client: string;
  runs: Runs;
  /** Of its copy. */
  version: number | null;
  /** Versions behind the newest, and for how long. */
  behind: number | null;
  stale_ms: number | null;
}

export interface SegmentStatus {
  path: string;
  /** By the labels that clients give themselves. */
  writer: string | null;
  writer_runs: Runs | null;
  waiting: string[];
  readers: Reader[];
  sent_bytes: number;
  whole_bytes: number;
  damaged: boolean;
}

export interface Status {
  /** Whom the server takes this browser for; not there: everybody may do everything. */
  identity?: string;
  /** It logged in with a token. */
  has_token?: boolean;
  /** Not there: the rules do not show this browser the server as a whole. */
  listening?: string[];
  connections?: number;
  segments: SegmentStatus[];
}

/** How far and how long its copy is behind. */
export function readerText({ version, behind, stale_ms }: Reader): string {
  if (version === null) return "no copy";
  if (behind === 0) return "up to date";
  const versions = `${behind} version${behind === 1 ? "" : "s"}`;
  return `${versions} behind for ${durationText((stale_ms ?? 0) / 1000)}`;
}

/**
 * Of the first segments, or of the one with that path: the server tells of 1,000 at most. null: it
 * does not answer.
 */
export async function askStatus(path?: string): Promise<Status | null> {
  const one = path === undefined ? "" : `?${new URLSearchParams({ from: path, limit: "1" })}`;
  try {
    const answer = await fetch(`status${one}`, { cache: "no-store" });
    // The login has ended.
    if (answer.status === 401) location.replace("login");
    return answer.ok ? ((await answer.json()) as Status) : null;
  } catch {
    return null;
  }
}

/** Whom the server takes this browser for, and the way in or out. */
export function showIdentity({ identity, has_token }: Status): void {
  const who = document.getElementById("who") as HTMLFormElement;
  who.hidden = identity === undefined;
  setText(document.getElementById("identity") as HTMLElement, identity ?? "");
  (who.querySelector("button") as HTMLElement).hidden = has_token !== true;
  (who.querySelector("a") as HTMLElement).hidden = identity !== "anyone";
}

/** What MIPs call the server: the first address for programs over TCP. */
export function serverUrlOf(status: Status | null): string | undefined {
  const address = status?.listening?.find((text) => !text.startsWith("unix:"));
  const scheme = location.protocol === "https:" ? "iws" : "iw";
  return address === undefined ? undefined : `${scheme}://${address}`;
}
