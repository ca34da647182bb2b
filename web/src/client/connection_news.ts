/**
 * What whoever listens to a segment's connection is told [CONN-3]. It is told after what is being
 * taken in has been taken in, so that it may ask anything of the library; of several changes since
 * then it is told the last.
 */

/**
 * `connected`: the segment is open at its server (again); `disconnected`: the connection is lost, and
 * another is being made; `lost`: the server came back without the segment, and locks fail.
 */
export type ConnectionState = "connected" | "disconnected" | "lost";

export class ConnectionNews {
  private readonly listeners = new Set<(state: ConnectionState) => void>();
  private latest: ConnectionState | null = null;
  private isDue = false;

  /** Returns how to stop. */
  listen(listener: (state: ConnectionState) => void): () => void {
    // The same function may listen twice.
    const own = (state: ConnectionState) => listener(state);
    this.listeners.add(own);
    return () => this.listeners.delete(own);
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
