/**
 * Tells listeners about a segment's connection [CONN-3]. A listener is called after the library has
 * taken in the message at hand, so that it may call the library. After several changes it is told
 * the last one.
 */
import type { Connection } from "../wire/interface.js";

/**
 * `connected`: the segment is open at its server (again); `disconnected`: the connection is lost,
 * and another is being made; `lost`: the server came back without the segment, and locks fail.
 */
export type ConnectionState = Lowercase<keyof typeof Connection>;

export class ConnectionNews {
  private readonly listeners = new Set<(state: ConnectionState) => void>();
  private latest: ConnectionState | null = null;
  private isDue = false;

  /** Adds a listener. Returns a function that ends its calls. */
  listen(listener: (state: ConnectionState) => void): () => void {
    // The same function may listen twice.
    const own = (state: ConnectionState) => listener(state);
    this.listeners.add(own);
    return () => this.listeners.delete(own);
  }

  /** The newest state, which listeners may not have been told yet. */
  get isConnected(): boolean {
    return this.latest === "connected";
  }

  is(state: ConnectionState): void {
    if (this.latest === state) return;
    this.latest = state;
    if (this.isDue) return;
    this.isDue = true;
    queueMicrotask(() => this.tell());
  }

  private tell(): void {
    this.isDue = false;
    const { latest } = this;
    if (latest === null) return;
    for (const listener of [...this.listeners]) if (this.listeners.has(listener)) listener(latest);
  }
}
