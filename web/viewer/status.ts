/** What the server says beside the protocol: /status. */

export interface SegmentStatus {
  path: string;
  /** By the labels that clients give themselves. */
  writer: string | null;
  waiting: string[];
  /** Versions; null: it has no copy. */
  readers: { client: string; behind: number | null }[];
  sent_bytes: number;
  whole_bytes: number;
  damaged: boolean;
}

export interface Status {
  listening: string[];
  connections: number;
  segments: SegmentStatus[];
}

/** null: the server does not answer. */
export async function askStatus(): Promise<Status | null> {
  try {
    const answer = await fetch("status", { cache: "no-store" });
    return answer.ok ? ((await answer.json()) as Status) : null;
  } catch {
    return null;
  }
}

/** What MIPs call the server: the first address for programs over TCP. */
export function serverUrlOf(status: Status | null): string | undefined {
  const address = status?.listening.find((text) => !text.startsWith("unix:"));
  return address === undefined ? undefined : `iw://${address}`;
}
