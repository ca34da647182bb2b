/**
 * The page's address behind `#`: the segment, what is looked at, and the pins, which are values
 * that stay in sight beside whatever is looked at, to be steered:
 *
 *     /astroflow?block=density&steer=header.want_cfl:0.05:0.8,header.want_pause
 *
 * Segments, blocks and fields are called anything: what has a meaning in an address is escaped in
 * names. People also type addresses, so text that is not a valid escape is taken as it is.
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

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * `field.sub[3]` of any names, and back: dots, brackets, and what stands between pins are escaped.
 */
function placeText(steps: readonly Step[]): string {
  const escape = (char: string) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
  const legible = (step: Step) =>
    typeof step === "number" ? step : step.replace(/[%.,:[\]]/g, escape);
  return pathText(steps.map(legible));
}

function parsePlace(text: string): Step[] {
  return parsePath(text).map((step) => (typeof step === "number" ? step : unescaped(step)));
}

/** In addresses, where each place has another one. */
export function pinName({ block, steps }: Pin): string {
  return placeText([block, ...steps]);
}

/** For people. */
export function pinLabel({ block, steps }: Pin): string {
  return pathText([block, ...steps]);
}

export function isSamePin(a: Pin, b: Pin): boolean {
  return pinName(a) === pinName(b);
}

function parsePins(text: string): Pin[] {
  return text.split(",").flatMap((one) => {
    const [path = "", low = NaN, high = NaN] = one.split(":");
    const [block, ...steps] = parsePlace(path);
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

/** Of a segment's page. */
export function segmentAddress(path: string): string {
  return `#${path.split("/").map(encodeURIComponent).join("/")}`;
}

export function addressOf({ path, block, steps, view, pins }: Target): string {
  const parameters: [string, string][] = [
    ["block", block ?? ""],
    ["at", placeText(steps)],
    ["view", view ?? ""],
    ["steer", pinsText(pins)],
  ];
  const given = parameters.filter(([, value]) => value !== "");
  const query = given.map(([name, value]) => `${name}=${escaped(value)}`).join("&");
  return `${segmentAddress(path)}${query === "" ? "" : `?${query}`}`;
}

/** null: the list of segments. */
export function parseAddress(text: string): Target | null {
  const [path = ""] = text.split("?", 1);
  if (!path.startsWith("/")) return null;
  const parameters = new URLSearchParams(text.slice(path.length));
  return {
    path: unescaped(path),
    block: parameters.get("block"),
    steps: parsePlace(parameters.get("at") ?? ""),
    view: parameters.get("view"),
    pins: parsePins(parameters.get("steer") ?? ""),
  };
}
