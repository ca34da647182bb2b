/** The numbers' history while the page is open: as a small line at each, and as a chart. */
import { svg } from "./dom.js";

const MOST_SAMPLES = 600;
/** Together with the above it bounds the memory: 20 MB at most. */
const MOST_NUMBERS = 500;
const [WIDTH, HEIGHT] = [96, 20];
/** More could not be told apart in the width of a small line. */
const MOST_POINTS = 2 * WIDTH;

export interface Sample {
  /** Of performance.now(), in milliseconds. */
  readonly at: number;
  readonly version: number;
  readonly value: number;
}

export class Trends {
  private readonly known = new Map<string, Sample[]>();

  /** A number as it is in a version; once a version. */
  add(key: string, version: number, value: number, at: number): readonly Sample[] {
    let samples = this.known.get(key);
    if (samples === undefined) {
      if (this.known.size >= MOST_NUMBERS) {
        const [oldest] = this.known.keys();
        this.known.delete(oldest as string);
      }
      this.known.set(key, (samples = []));
    }
    if (samples[samples.length - 1]?.version !== version) samples.push({ at, version, value });
    if (samples.length > MOST_SAMPLES) samples.shift();
    return samples;
  }

  of(key: string): readonly Sample[] {
    return this.known.get(key) ?? [];
  }
}

/** A line through the samples, evenly spaced; a new number is a line to one point. */
export class Sparkline {
  private readonly path = svg("path", {});
  readonly element = svg(
    "svg",
    { class: "spark", width: WIDTH, height: HEIGHT, "aria-hidden": "true" },
    this.path,
  );
  private drawn = -1;

  update(samples: readonly Sample[]): void {
    const last = samples[samples.length - 1];
    if (last === undefined || last.version === this.drawn) return;
    this.drawn = last.version;
    this.path.setAttribute("d", sparkPath(samples.slice(-MOST_POINTS), WIDTH, HEIGHT));
  }
}

export function sparkPath(samples: readonly Sample[], width: number, height: number): string {
  const finite = samples.filter(({ value }) => Number.isFinite(value));
  const values = finite.map(({ value }) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const step = width / Math.max(1, finite.length - 1);
  const y = (value: number) =>
    high > low ? 2 + (1 - (value - low) / (high - low)) * (height - 4) : height / 2;
  const points = values.map((value, i) => `${(i * step).toFixed(1)},${y(value).toFixed(1)}`);
  if (points.length === 1) return `M0,${height / 2}H${width}`;
  return points.length === 0 ? "" : `M${points.join("L")}`;
}
