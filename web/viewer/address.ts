/**
 * The page's address behind `#`: the segment, what is looked at, and the pins, which are values that stay
 * in sight beside whatever is looked at, to be steered:
 *
 *     /astroflow?block=density&steer=header.want_cfl:0.05:0.8,header.want_pause
 */
import { parsePath, pathText, type Step } from "./spots.js";
import type { Ends } from "./slider.js";

export interface Pin {
  /** A block's name or serial. */
  readonly block: string;
  readonly steps: readonly Step[];
  /** The slider's; null: as suits the value. */
  readonly ends: Ends | null;
}

export interface Target {
  readonly path: string;
  /** A name or a serial; null: the first. */
  readonly block: string | null;
  readonly steps: readonly Step[];
  /** null: the best for the value. */
  readonly view: string | null;
  readonly pins: readonly Pin[];
}

export function pinName({ block, steps }: Pin): string {
  return pathText([block, ...steps]);
}

export function isSamePin(a: Pin, b: Pin): boolean {
  return pinName(a) === pinName(b);
}

function parsePins(text: string): Pin[] {
  return text.split(",").flatMap((one) => {
    const [path = "", low = NaN, high = NaN] = one.split(":");
    const [block, ...steps] = parsePath(path);
    if (block === undefined) return [];
    const ends = { low: Number(low), high: Number(high) };
    return [{ block: String(block), steps, ends: ends.low < ends.high ? ends : null }];
  });
}

export function pinsText(pins: readonly Pin[]): string {
  return pins
    .map((pin) => pinName(pin) + (pin.ends === null ? "" : `:${pin.ends.low}:${pin.ends.high}`))
    .join();
}

/** As in a query, but legible: addresses are for people, too. */
function escaped(text: string): string {
  return encodeURIComponent(text).replace(/%(3A|5B|5D|2C)/g, decodeURIComponent);
}

export function addressOf({ path, block, steps, view, pins }: Target): string {
  const parameters: [string, string][] = [
    ["block", block ?? ""],
    ["at", pathText(steps)],
    ["view", view ?? ""],
    ["steer", pinsText(pins)],
  ];
  const given = parameters.filter(([, value]) => value !== "");
  const query = given.map(([name, value]) => `${name}=${escaped(value)}`).join("&");
  return `#${encodeURI(path)}${query === "" ? "" : `?${query}`}`;
}

/** null: the list of segments. */
export function parseAddress(text: string): Target | null {
  const [path = "", query = ""] = text.split("?");
  if (!path.startsWith("/")) return null;
  const parameters = new URLSearchParams(query);
  return {
    path: decodeURI(path),
    block: parameters.get("block"),
    steps: parsePath(parameters.get("at") ?? ""),
    view: parameters.get("view"),
    pins: parsePins(parameters.get("steer") ?? ""),
  };
}
