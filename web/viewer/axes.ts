/** Draws scales on canvases: axes with their numbers, and the bar of colours. */
import { ticksBetween, tickText } from "./scale.js";

/** A rectangle, in the pixels of the page. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** The colours and the letters that the page has now: they change with light and dark. */
export interface Ink {
  readonly text: string;
  readonly line: string;
  readonly accent: string;
  readonly ground: string;
}

const FONT = "12px system-ui, sans-serif";
const TICK = 4;
/** Room that a number takes at an axis, across and along. */
export const [TICK_HEIGHT, LETTER] = [18, 7];

export function inkOf(element: HTMLElement): Ink {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  return {
    text: colour("--soft"),
    line: colour("--line"),
    accent: colour("--accent"),
    ground: colour("--panel"),
  };
}

/** Fits a canvas to a size in pixels of the page; drawing is in these pixels, too. */
export function prepare(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D {
  const scale = window.devicePixelRatio || 1;
  const [across, down] = [Math.max(1, Math.round(width * scale)), Math.round(height * scale)];
  if (canvas.width !== across || canvas.height !== down) {
    Object.assign(canvas, { width: across, height: Math.max(1, down) });
  }
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  return context;
}

/** The numbers of a scale, each with its distance in pixels along the axis. */
export interface Mark {
  readonly at: number;
  readonly text: string;
}

/** How many pixels the widest of the texts takes. */
export function widthOf(context: CanvasRenderingContext2D, marks: readonly Mark[]): number {
  return Math.max(0, ...marks.map(({ text }) => context.measureText(text).width));
}

/** Marks of the numbers from low, at 0 pixels, to high, at `length` pixels. */
export function marksBetween(low: number, high: number, length: number, apart: number): Mark[] {
  const ticks = ticksBetween(low, high, Math.floor(length / apart));
  const scale = high > low ? length / (high - low) : 0;
  return ticks.map((value) => ({ at: (value - low) * scale, text: tickText(value, ticks) }));
}

/** Numbers under a box. */
export function drawBelow(
  context: CanvasRenderingContext2D,
  box: Box,
  marks: readonly Mark[],
  ink: Ink,
): void {
  const bottom = box.top + box.height;
  context.strokeStyle = ink.text;
  context.fillStyle = ink.text;
  context.textAlign = "center";
  context.textBaseline = "top";
  context.beginPath();
  for (const { at, text } of marks) {
    const x = Math.round(box.left + at) + 0.5;
    context.moveTo(x, bottom);
    context.lineTo(x, bottom + TICK);
    const half = context.measureText(text).width / 2;
    // The last number stays in sight.
    const right = context.canvas.width / (window.devicePixelRatio || 1) - half;
    context.fillText(text, Math.max(half, Math.min(x, right)), bottom + TICK + 1);
  }
  context.lineWidth = 1;
  context.stroke();
}

/** Numbers at the side of a box; `at` counts from its bottom up. */
export function drawBeside(
  context: CanvasRenderingContext2D,
  box: Box,
  side: "left" | "right",
  marks: readonly Mark[],
  ink: Ink,
): void {
  const [x, out] = side === "left" ? [box.left, -TICK] : [box.left + box.width, TICK];
  context.strokeStyle = ink.text;
  context.fillStyle = ink.text;
  context.textAlign = side === "left" ? "right" : "left";
  context.textBaseline = "middle";
  context.beginPath();
  for (const { at, text } of marks) {
    const y = Math.round(box.top + box.height - at) + 0.5;
    context.moveTo(x, y);
    context.lineTo(x + out, y);
    context.fillText(text, x + out + Math.sign(out) * 2, Math.max(y, 7));
  }
  context.lineWidth = 1;
  context.stroke();
}

/** Lines through a box at the marks of both axes. */
export function drawGrid(
  context: CanvasRenderingContext2D,
  box: Box,
  below: readonly Mark[],
  beside: readonly Mark[],
  ink: Ink,
): void {
  context.strokeStyle = ink.line;
  context.lineWidth = 1;
  context.beginPath();
  for (const { at } of below) {
    const x = Math.round(box.left + at) + 0.5;
    context.moveTo(x, box.top);
    context.lineTo(x, box.top + box.height);
  }
  for (const { at } of beside) {
    const y = Math.round(box.top + box.height - at) + 0.5;
    context.moveTo(box.left, y);
    context.lineTo(box.left + box.width, y);
  }
  context.stroke();
}

/** The colours from the bottom up, which is low, to the top. */
export function drawColours(
  context: CanvasRenderingContext2D,
  box: Box,
  colours: Uint32Array,
  ink: Ink,
): void {
  const strip = document.createElement("canvas");
  Object.assign(strip, { width: 1, height: 256 });
  const pixels = new Uint32Array(colours).reverse();
  const image = new ImageData(new Uint8ClampedArray(pixels.buffer), 1, 256);
  (strip.getContext("2d") as CanvasRenderingContext2D).putImageData(image, 0, 0);
  context.imageSmoothingEnabled = true;
  context.drawImage(strip, box.left, box.top, box.width, box.height);
  context.strokeStyle = ink.line;
  context.strokeRect(box.left + 0.5, box.top + 0.5, box.width - 1, box.height - 1);
}
