/**
 * A 1-D array of numbers as a line; of more values than pixels the least and most of each column.
 */
import { h, numberText, setText } from "./dom.js";
import { Controls, type Figure } from "./figure.js";
import type { Frame } from "./history.js";

const MARGIN = 4;

export function plot(length: number): Figure {
  const canvas = h("canvas", { class: "plot" });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `plot of ${length} values`);
  const caption = h("figcaption");
  const ends = [h("span", {}, "0"), h("span", {}, String(length - 1))];
  const draw = (frame: Frame, low: number, high: number): void => {
    const scale = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(canvas.clientWidth * scale));
    const height = Math.max(1, Math.round(canvas.clientHeight * scale));
    if (canvas.width !== width || canvas.height !== height)
      Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    context.clearRect(0, 0, width, height);
    context.strokeStyle = getComputedStyle(canvas).getPropertyValue("--accent");
    context.lineWidth = 1.5 * scale;
    const y = (value: number) => {
      const part = high > low ? (value - low) / (high - low) : 0.5;
      return height - MARGIN * scale - part * (height - 2 * MARGIN * scale);
    };
    context.beginPath();
    line(frame.values, width, (x, value, isFirst) => {
      if (isFirst) context.moveTo(x, y(value));
      else context.lineTo(x, y(value));
    });
    context.stroke();
  };
  const controls = new Controls(length, draw);
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const index = Math.min(
      length - 1,
      Math.max(0, Math.round(((event.clientX - box.left) / box.width) * (length - 1))),
    );
    const value = controls.frame?.values[index];
    setText(caption, value === undefined ? "" : `[${index}] = ${numberText(value)}`);
  });
  const element = h(
    "figure",
    {},
    canvas,
    h("div", { class: "ends" }, ...ends),
    caption,
    controls.element,
  );
  return {
    element,
    update: (version, values) => controls.update(version, values),
    toggle: () => controls.toggle(),
  };
}

/** The points of the line over so many pixels; what is not finite has no point. */
export function line(
  values: Float32Array,
  width: number,
  to: (x: number, value: number, isFirst: boolean) => void,
): void {
  let isFirst = true;
  const point = (x: number, value: number) => {
    if (!Number.isFinite(value)) return;
    to(x, value, isFirst);
    isFirst = false;
  };
  const last = Math.max(1, values.length - 1);
  if (values.length <= 2 * width) {
    values.forEach((value, index) => point((index / last) * width, value));
    return;
  }
  for (let x = 0; x < width; ++x) {
    const end = Math.floor(((x + 1) / width) * values.length);
    let [low, high] = [Infinity, -Infinity];
    for (let i = Math.floor((x / width) * values.length); i < end; ++i) {
      const value = values[i] as number;
      if (!Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    point(x, low);
    point(x, high);
  }
}
