/**
 * The scales of pictures: which round numbers stand on an axis, and which part of it is in sight.
 * No function here draws.
 */

/** Cells from `from` to before `to`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** 1, 2 or 5 times a power of ten: the least that is `size` or more. */
export function roundUp(size: number): number {
  const power = 10 ** Math.floor(Math.log10(size));
  return ([1, 2, 5].find((digit) => digit * power >= size * (1 - 1e-9)) ?? 10) * power;
}

/** Round numbers from low to high, evenly spaced, at most `most` of them. */
export function ticksBetween(low: number, high: number, most: number): number[] {
  if (!(high > low) || !Number.isFinite(high - low)) return Number.isFinite(low) ? [low] : [];
  const step = roundUp((high - low) / Math.max(1, most));
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step);
}

/** As ticksBetween, of whole numbers: the elements of an array. */
export function wholeTicks({ from, to }: Span, most: number): number[] {
  const step = Math.max(1, roundUp((to - from) / Math.max(1, most)));
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.ceil(to / step) - first }, (_, i) => (first + i) * step);
}

function exponent(value: number): number {
  return Math.floor(Math.log10(Math.abs(value)) + 1e-9);
}

const suffixes = ["", "k", "M", "G", "T"];

/** A number of an axis, with as many digits as tell it from its neighbours. */
export function tickText(value: number, ticks: readonly number[]): string {
  const [a = 0, b = a] = ticks;
  const most = Math.max(...ticks.map(Math.abs));
  const step = Math.abs(b - a) || Math.abs(a);
  if (value === 0 || step === 0) return "0";
  if (most < 1e-3 || most >= 1e15) {
    const digits = Math.max(0, exponent(value) - exponent(step));
    return value.toExponential(Math.min(digits, 6)).replace("e+", "e");
  }
  const group = step >= 1000 ? Math.min(4, Math.floor(Math.log10(most) / 3 + 1e-9)) : 0;
  const unit = 1000 ** group;
  const digits = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));
  return (value / unit).toFixed(Math.min(digits, 12)) + suffixes[group];
}

/**
 * Another part of 0 to `length`: `factor` times as long, with the place `at` (0 to 1) staying
 * where it is; never less than `least` cells.
 */
export function zoomed(span: Span, at: number, factor: number, least: number, length: number) {
  const size = span.to - span.from;
  const wanted = Math.min(length, Math.max(Math.min(least, length), Math.round(size * factor)));
  return placed(span.from + at * size - at * wanted, wanted, length);
}

/** The part of that size that begins at `from`, or as near to it as there are cells. */
export function placed(from: number, size: number, length: number): Span {
  const begin = Math.min(Math.max(0, Math.round(from)), length - size);
  return { from: begin, to: begin + size };
}

/** The same part, or the next one of its size that has the cell. */
export function showing(span: Span, cell: number, length: number): Span {
  const { from, to } = span;
  if (cell >= from && cell < to) return span;
  return placed(cell < from ? cell : cell - (to - from) + 1, to - from, length);
}
