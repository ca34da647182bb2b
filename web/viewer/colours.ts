/** Colour maps as tables of 256 colours, in the memory order of ImageData. */

/** Where each map passes, evenly spaced. */
const stops: Record<string, string[]> = {
  viridis: [
    "440154",
    "482878",
    "3e4989",
    "31688e",
    "26828e",
    "1f9e89",
    "35b779",
    "6ece58",
    "b5de2b",
    "fde725",
  ],
  inferno: [
    "000004",
    "1b0c41",
    "4a0c6b",
    "781c6d",
    "a52c60",
    "cf4446",
    "ed6925",
    "fb9b06",
    "f7d13d",
    "fcffa4",
  ],
  "blue–red": [
    "2166ac",
    "4393c3",
    "92c5de",
    "d1e5f0",
    "f7f7f7",
    "fddbc7",
    "f4a582",
    "d6604d",
    "b2182b",
  ],
  grey: ["000000", "ffffff"],
};

export const mapNames = Object.keys(stops);

function table(hex: string[]): Uint32Array {
  const colours = hex.map((text) => [0, 2, 4].map((at) => parseInt(text.slice(at, at + 2), 16)));
  const bytes = new Uint8Array(1024);
  for (let i = 0; i < 256; ++i) {
    const position = (i / 255) * (colours.length - 1);
    const index = Math.min(Math.floor(position), colours.length - 2);
    const [low, high] = [colours[index] as number[], colours[index + 1] as number[]];
    for (let c = 0; c < 3; ++c) {
      bytes[4 * i + c] = Math.round(
        (low[c] as number) + ((high[c] as number) - (low[c] as number)) * (position - index),
      );
    }
    bytes[4 * i + 3] = 255;
  }
  return new Uint32Array(bytes.buffer);
}

const tables = new Map<string, Uint32Array>();

export function colourTable(name: string): Uint32Array {
  let found = tables.get(name);
  if (found === undefined)
    tables.set(name, (found = table(stops[name] ?? (stops["viridis"] as string[]))));
  return found;
}

/** The colour of NaN. */
const NOTHING = 0xff8080ff;

/**
 * Puts values into pixels, low to high over the table; what is beyond has the colour of its end.
 */
export function paint(
  values: ArrayLike<number>,
  pixels: Uint32Array,
  low: number,
  high: number,
  colours: Uint32Array,
): void {
  const scale = high > low ? 255 / (high - low) : 0;
  for (let i = 0; i < pixels.length; ++i) {
    const value = values[i] as number;
    // Values beyond the ends are not scaled, because infinity times zero is not an index.
    const index = value <= low ? 0 : value >= high ? 255 : Math.round((value - low) * scale);
    pixels[i] = Number.isNaN(value) ? NOTHING : (colours[index] as number);
  }
}

/** The least and the largest finite number: an infinite range shows nothing. */
export function rangeOf(values: ArrayLike<number>): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; ++i) {
    const value = values[i] as number;
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 0];
}
