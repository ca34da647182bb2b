/**
 * A 1-D array of numbers as a line over scales; of more values than pixels the least and most of
 * each column. A part of it is chosen as in a heat map.
 */
import type { Box } from "./axes.js";
import { drawChart, onGround } from "./chart.js";
import { h, numberText, setText } from "./dom.js";
import { Controls, followSize, heightLeft, type Figure, type Source } from "./figure.js";
import type { Frame } from "./history.js";
import { placed, showing, tickText, wholeTicks, zoomed, type Span } from "./scale.js";

const [LEAST_HEIGHT, MOST_HEIGHT] = [200, 620];
const LEAST_VALUES = 4;
const DRAG = 5;

export function plot(length: number, source: Source): Figure {
  return new Plot(length, source);
}

class Plot implements Figure {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { class: "plot", tabIndex: 0 });
  private readonly stage = h("div", { class: "stage" }, this.canvas);
  private readonly frame = h("div", { class: "marker frame", hidden: true });
  private readonly caption = h("figcaption", { class: "mono" });
  private readonly controls: Controls;
  private span: Span;
  private box: Box = { left: 0, top: 0, width: 1, height: 1 };
  private pointed: number | null = null;
  private pressed: number | null = null;

  constructor(
    private readonly length: number,
    source: Source,
  ) {
    this.span = { from: 0, to: length };
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `plot of ${length} values`);
    this.controls = new Controls(
      length,
      {
        draw: (frame, low, high) => this.draw(frame, low, high),
        zoom: (factor) => this.zoom(factor),
        image: () => onGround(this.canvas),
        rows: (values) => Array.from({ length }, (_, i) => [i, values[i]]),
      },
      source,
      this.caption,
    );
    this.stage.append(this.frame);
    this.element = h("figure", { class: "live" }, this.stage, this.controls.element);
    this.listen();
    followSize(this.stage, () => this.controls.redraw());
  }

  update(version: number, values: ArrayLike<number | bigint>): void {
    this.controls.update(version, values);
  }

  toggle(): void {
    this.controls.toggle();
  }

  private draw({ values }: Frame, low: number, high: number): void {
    const { stage, span, pointed } = this;
    // On a phone what steers it stays in sight.
    const most = Math.min(MOST_HEIGHT, innerWidth > innerHeight ? MOST_HEIGHT : innerWidth * 0.9);
    const height = Math.min(most, heightLeft(stage, LEAST_HEIGHT));
    const last = Math.max(1, span.to - span.from - 1);
    const value = pointed === null ? undefined : values[pointed];
    const at = (width: number, index: number) => ((index - span.from) / last) * width;
    const isIn = pointed !== null && pointed >= span.from && pointed < span.to;
    this.box = drawChart(this.canvas, stage.clientWidth, height, {
      low,
      high,
      below: (width) => {
        const ticks = wholeTicks(span, Math.max(2, Math.floor(width / 80)));
        return ticks.map((index) => ({ at: at(width, index), text: tickText(index, ticks) }));
      },
      line: (width, to) => line(values.subarray(span.from, span.to), Math.round(width), to),
      pointed:
        isIn && value !== undefined && Number.isFinite(value)
          ? { x: at(this.box.width, pointed), value }
          : undefined,
    });
    const text = value === undefined ? "point at the line to read it" : numberText(value);
    setText(this.caption, value === undefined ? text : `[${pointed}] = ${text}`);
  }

  private zoom(factor: number | "fit", at = this.pointed): void {
    const { span, length } = this;
    const part = at === null ? 0.5 : (at - span.from) / (span.to - span.from);
    this.span =
      factor === "fit" ? { from: 0, to: length } : zoomed(span, part, factor, LEAST_VALUES, length);
    this.controls.redraw();
  }

  private indexAt(x: number): number {
    const { span, box } = this;
    const edge = this.canvas.getBoundingClientRect();
    const part = Math.max(0, Math.min(1, (x - edge.left - box.left) / box.width));
    return Math.round(span.from + part * (span.to - span.from - 1));
  }

  private point(index: number | null): void {
    this.pointed = index;
    this.controls.redraw();
  }

  private listen(): void {
    const { canvas, frame } = this;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.pressed = event.clientX;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      this.point(this.indexAt(event.clientX));
      if (this.pressed === null) return;
      if (Math.abs(event.clientX - this.pressed) < DRAG && frame.hidden) return;
      this.showFrame(this.pressed, event.clientX);
    });
    canvas.addEventListener("pointerup", (event) => {
      const begin = this.pressed;
      const isFramed = !frame.hidden;
      this.pressed = null;
      frame.hidden = true;
      if (begin !== null && isFramed) this.show(this.indexAt(begin), this.indexAt(event.clientX));
    });
    canvas.addEventListener("pointercancel", () => {
      this.pressed = null;
      frame.hidden = true;
    });
    canvas.addEventListener("pointerleave", () => this.point(null));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  private showFrame(a: number, b: number): void {
    const edge = this.canvas.getBoundingClientRect();
    const { left, top, width, height } = this.box;
    const [x1, x2] = [a, b].map((x) => Math.max(left, Math.min(left + width, x - edge.left)));
    this.frame.hidden = false;
    const at = { left: Math.min(x1!, x2!), top, width: Math.abs(x2! - x1!), height };
    for (const [name, value] of Object.entries(at))
      this.frame.style.setProperty(name, `${value}px`);
  }

  private show(a: number, b: number): void {
    const size = Math.max(Math.abs(a - b) + 1, Math.min(LEAST_VALUES, this.length));
    this.span = placed(Math.min(a, b), size, this.length);
    this.controls.redraw();
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.indexAt(event.clientX));
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const zooms: Record<string, number | "fit"> = { "+": 0.5, "=": 0.5, "-": 2, "0": "fit" };
    const factor = zooms[event.key];
    if (factor !== undefined) this.zoom(factor);
    if (step === undefined) return;
    event.preventDefault();
    const { span, length } = this;
    const by = step * (event.shiftKey ? 10 : 1);
    const to = Math.min(length - 1, Math.max(0, (this.pointed ?? span.from - by) + by));
    this.span = showing(span, to, length);
    this.point(to);
  }
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
