/** Clocks and timers of this process that move only when a test says so. */
const real = {
  now: performance.now,
  date: Date.now,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
};

/** Times are sums of fractions. A timer that is due now is due by then. */
export const ROUNDING_MS = 0.001;

interface Timer {
  due: number;
  call: () => void;
}

/** Everything that promises have started is done. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export class VirtualTime {
  private time = 0;
  private readonly timers = new Map<number, Timer>();
  private last = 0;

  /** Takes the place of the real clocks and timers, until `end`. Intervals never come. */
  begin(): void {
    performance.now = () => this.time;
    Date.now = () => this.time;
    const set = (call: () => void, ms = 0) => {
      this.timers.set(++this.last, { due: this.time + ms, call });
      return this.last;
    };
    const clear = (timer: unknown) => void this.timers.delete(timer as number);
    Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
    Object.assign(globalThis, { setInterval: () => 0, clearInterval: () => undefined });
  }

  end(): void {
    performance.now = real.now;
    Date.now = real.date;
    const { setTimeout, clearTimeout, setInterval, clearInterval } = real;
    Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
  }

  /** Timers come in their order. */
  async advance(to: number): Promise<void> {
    for (;;) {
      const due = [...this.timers].filter(([, timer]) => timer.due <= to + ROUNDING_MS);
      due.sort(([a, { due: x }], [b, { due: y }]) => x - y || a - b);
      const [first] = due;
      if (first === undefined) break;
      const [number, { due: at, call }] = first;
      this.timers.delete(number);
      this.time = Math.max(this.time, Math.min(at, to));
      call();
      await settled();
    }
    this.time = Math.max(this.time, to);
  }
}
