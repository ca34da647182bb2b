/** Draws a line over scales, on one canvas: what a plot and a history share. */
import {
  drawBelow,
  drawBeside,
  drawGrid,
  inkOf,
  marksBetween,
  prepare,
  TICK_HEIGHT,
  widthOf,
  type Box,
  type Mark,
} from "./axes.js";

export interface Chart {
  readonly low: number;
  readonly high: number;
  /** The numbers under the line, for a box so many pixels wide. */
  below(width: number): Mark[];
  /** Calls with points, at pixels from the left. */
  line(width: number, to: (x: number, value: number, isFirst: boolean) => void): void;
  /** A vertical line at so many pixels, and the value there. */
  pointed?: { x: number; value: number } | undefined;
}

/** Returns where the line lies. */
export function drawChart(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  chart: Chart,
): Box {
  const context = prepare(canvas, width, height);
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  // A line that is flat lies in the middle.
  const isFlat = !(chart.high > chart.low);
  const around = isFlat ? Math.abs(chart.low) / 10 || 1 : (chart.high - chart.low) * 0.04;
  const [low, high] = [chart.low - around, chart.high + around];
  const inner = height - TICK_HEIGHT - 14;
  const beside = marksBetween(low, high, inner, 48);
  const left = Math.ceil(widthOf(context, beside)) + 12;
  const box = { left, top: 8, width: Math.max(40, width - left - 12), height: inner };
  const below = chart.below(box.width);
  const ink = inkOf(canvas);
  drawGrid(context, box, below, beside, ink);
  drawBelow(context, box, below, ink);
  drawBeside(context, box, "left", beside, ink);
  const y = (value: number) =>
    box.top + box.height - ((value - low) / (high - low || 1)) * box.height;
  context.save();
  context.beginPath();
  context.rect(box.left, box.top, box.width, box.height);
  context.clip();
  context.strokeStyle = ink.accent;
  context.lineWidth = 1.75;
  context.lineJoin = "round";
  context.beginPath();
  chart.line(box.width, (x, value, isFirst) => {
    if (isFirst) context.moveTo(box.left + x, y(value));
    else context.lineTo(box.left + x, y(value));
  });
  context.stroke();
  if (chart.pointed !== undefined) {
    const x = Math.round(box.left + chart.pointed.x) + 0.5;
    context.strokeStyle = ink.text;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, box.top);
    context.lineTo(x, box.top + box.height);
    context.stroke();
    context.fillStyle = ink.accent;
    context.beginPath();
    context.arc(x, y(chart.pointed.value), 4, 0, 2 * Math.PI);
    context.fill();
  }
  context.restore();
  return box;
}

/** A copy of the canvas on the ground of the page, for a file. */
export function onGround(canvas: HTMLCanvasElement): HTMLCanvasElement {
  const copy = document.createElement("canvas");
  Object.assign(copy, { width: canvas.width, height: canvas.height });
  const context = copy.getContext("2d") as CanvasRenderingContext2D;
  context.fillStyle = inkOf(canvas).ground;
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(canvas, 0, 0);
  return copy;
}
