/**
 * A 2-D array of numbers as a picture that takes what the window has: row 0 at the bottom, as in a
 * plot, unless turned round. The part in sight is chosen by wheel, keys, buttons, or by drawing a
 * frame. Cells are square where that leaves no window empty.
 */
import {
  drawBelow,
  drawBeside,
  drawColours,
  inkOf,
  marksBetween,
  prepare,
  TICK_HEIGHT,
  widthOf,
  type Box,
  type Mark,
} from "./axes.js";
import { colourTable, mapNames, paint } from "./colours.js";
import { h, numberText, setText } from "./dom.js";
import { Controls, followSize, heightLeft, type Figure, type Source } from "./figure.js";
import type { Frame } from "./history.js";
import { placed, showing, tickText, wholeTicks, zoomed, type Span } from "./scale.js";

type Cell = readonly [row: number, column: number];

const BAR = 14;
const LEAST_HEIGHT = 200;
/** Of cells whose sides differ by more, a picture would be a line. */
const MOST_ASPECT = 6;
const LEAST_CELLS = 4;
/** Pixels that a pointer moves before it draws a frame. */
const DRAG = 5;

/** `picked` is called with the row and column of a cell that is to be opened. */
export function heatMap(
  rows: number,
  columns: number,
  picked: (row: number, column: number) => void,
  source: Source,
): Figure {
  return new HeatMap(rows, columns, picked, source);
}

class HeatMap implements Figure {
  readonly element: HTMLElement;
  private readonly axes = h("canvas", { class: "axes" });
  private readonly canvas = h("canvas", { class: "map", tabIndex: 0 });
  private readonly marker = h("div", { class: "marker", hidden: true });
  private readonly frame = h("div", { class: "marker frame", hidden: true });
  private readonly stage = h("div", { class: "stage" });
  private readonly pointedText = h("button", { class: "link mono", type: "button" });
  private readonly tip = h("div", { class: "tip mono", hidden: true });
  private readonly colours = h(
    "select",
    { "aria-label": "Colours", onchange: () => this.controls.redraw() },
    ...mapNames.map((name) => h("option", {}, name)),
  );
  private readonly isUp = h("input", {
    type: "checkbox",
    checked: true,
    onchange: () => this.controls.redraw(),
  });
  private readonly isSquare = h("input", {
    type: "checkbox",
    onchange: () => this.controls.redraw(),
  });
  private readonly controls: Controls;
  private down: Span;
  private across: Span;
  private box: Box = { left: 0, top: 0, width: 1, height: 1 };
  private pointed: Cell | null = null;
  private pressed: { x: number; y: number; isShift: boolean; down: Span; across: Span } | null =
    null;

  constructor(
    private readonly rows: number,
    private readonly columns: number,
    private readonly picked: (row: number, column: number) => void,
    source: Source,
  ) {
    this.down = { from: 0, to: rows };
    this.across = { from: 0, to: columns };
    this.isSquare.checked = Math.max(rows / columns, columns / rows) <= MOST_ASPECT;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `heat map of ${rows} × ${columns} values`);
    const caption = h("figcaption", {}, this.pointedText);
    this.controls = new Controls(
      rows * columns,
      {
        draw: (frame, low, high) => this.draw(frame, low, high),
        zoom: (factor) => this.zoom(factor),
        image: () => this.image(),
        rows: (values) => rowsOf(values, columns),
      },
      source,
      caption,
      this.colours,
      h("label", {}, this.isUp, "row 0 at the bottom"),
      h("label", {}, this.isSquare, "square cells"),
    );
    this.stage.append(this.axes, this.canvas, this.marker, this.frame, this.tip);
    this.element = h("figure", { class: "live" }, this.stage, this.controls.element);
    this.pointedText.onclick = () => this.pointed !== null && picked(...this.pointed);
    this.listen();
    followSize(this.stage, () => this.controls.redraw());
  }

  update(version: number, values: ArrayLike<number | bigint>): void {
    this.controls.update(version, values);
  }

  toggle(): void {
    this.controls.toggle();
  }

  // ---- drawing ----

  private draw(frame: Frame, low: number, high: number): void {
    const colours = colourTable(this.colours.value);
    this.drawAxes(low, high, colours);
    const [width, height] = [this.across.to - this.across.from, this.down.to - this.down.from];
    const { canvas, columns } = this;
    if (canvas.width !== width || canvas.height !== height)
      Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    for (let y = 0; y < height; ++y) {
      const row = this.rowAt(y);
      const begin = row * columns + this.across.from;
      const line = pixels.subarray(y * width, (y + 1) * width);
      paint(frame.values.subarray(begin, begin + width), line, low, high, colours);
    }
    context.putImageData(image, 0, 0);
    this.showPointed();
  }

  /** The row of the array that is `y` cells below the top of the picture. */
  private rowAt(y: number): number {
    return this.isUp.checked ? this.down.to - 1 - y : this.down.from + y;
  }

  /** Where the picture lies, and what is written around it. */
  private drawAxes(low: number, high: number, colours: Uint32Array): void {
    const { stage, axes, across, down } = this;
    const [width, most] = [stage.clientWidth, heightLeft(stage, LEAST_HEIGHT)];
    let context = prepare(axes, width, most);
    const rowTicks = wholeTicks(down, Math.max(2, Math.floor(most / 60)));
    const rowTexts = rowTicks.map((value) => ({ at: 0, text: tickText(value, rowTicks) }));
    const left = Math.ceil(widthOf(context, rowTexts)) + 10;
    const height = most - TICK_HEIGHT - 8;
    const scale = marksBetween(low, high, height, 50);
    const right = BAR + 12 + Math.max(28, Math.ceil(widthOf(context, scale)) + 10);
    const room = { width: Math.max(40, width - left - right), height };
    this.box = { left, top: 7, ...this.sizeIn(room) };
    const { box } = this;
    const total = box.top + box.height + TICK_HEIGHT + 2;
    stage.style.height = `${total}px`;
    context = prepare(axes, width, total);
    Object.assign(axes.style, { width: `${width}px`, height: `${total}px` });
    const [dx, dy] = [box.width / (across.to - across.from), box.height / (down.to - down.from)];
    const columnTicks = wholeTicks(across, Math.max(2, Math.floor(box.width / 70)));
    const columnMarks = columnTicks.map((value) => ({
      at: (value - across.from + 0.5) * dx,
      text: tickText(value, columnTicks),
    }));
    const rowMarks: Mark[] = rowTicks.map((value) => {
      const from = this.isUp.checked ? value - down.from : down.to - 1 - value;
      return { at: (from + 0.5) * dy, text: tickText(value, rowTicks) };
    });
    const ink = inkOf(axes);
    drawBelow(context, box, columnMarks, ink);
    drawBeside(context, box, "left", rowMarks, ink);
    const bar = { left: box.left + box.width + 12, top: box.top, width: BAR, height: box.height };
    drawColours(context, bar, colours, ink);
    drawBeside(context, bar, "right", marksBetween(low, high, box.height, 50), ink);
    const at = { left: box.left, top: box.top, width: box.width, height: box.height };
    for (const [name, value] of Object.entries(at)) {
      this.canvas.style.setProperty(name, `${value}px`);
    }
  }

  private sizeIn(room: { width: number; height: number }): { width: number; height: number } {
    if (!this.isSquare.checked) return room;
    const [across, down] = [this.across.to - this.across.from, this.down.to - this.down.from];
    const side = Math.min(room.width / across, room.height / down);
    return { width: Math.round(side * across), height: Math.round(side * down) };
  }

  private image(): HTMLCanvasElement {
    const scale = window.devicePixelRatio || 1;
    const { width, height } = this.axes;
    const whole = h("canvas", { width, height });
    const context = whole.getContext("2d") as CanvasRenderingContext2D;
    context.fillStyle = inkOf(this.axes).ground;
    context.fillRect(0, 0, width, height);
    context.drawImage(this.axes, 0, 0);
    context.imageSmoothingEnabled = false;
    const { left, top, width: w, height: d } = this.box;
    context.drawImage(this.canvas, left * scale, top * scale, w * scale, d * scale);
    return whole;
  }

  // ---- looking ----

  private zoom(factor: number | "fit", at?: Cell): void {
    const { rows, columns, down, across } = this;
    if (factor === "fit") {
      this.down = { from: 0, to: rows };
      this.across = { from: 0, to: columns };
    } else {
      const [row, column] = at ?? this.pointed ?? [(down.from + down.to) / 2, NaN];
      const part = (span: Span, cell: number) =>
        Number.isNaN(cell) ? 0.5 : (cell + 0.5 - span.from) / (span.to - span.from);
      this.down = zoomed(down, part(down, row), factor, LEAST_CELLS, rows);
      this.across = zoomed(across, part(across, column), factor, LEAST_CELLS, columns);
    }
    this.controls.redraw();
  }

  private cellAt(event: MouseEvent): Cell {
    const edge = this.canvas.getBoundingClientRect();
    const { down, across } = this;
    const within = (part: number, span: Span) =>
      Math.max(0, Math.min(span.to - span.from - 1, Math.floor(part * (span.to - span.from))));
    const column = across.from + within((event.clientX - edge.left) / edge.width, across);
    return [this.rowAt(within((event.clientY - edge.top) / edge.height, down)), column];
  }

  private pointAt(cell: Cell | null, from?: MouseEvent): void {
    this.pointed = cell;
    this.showPointed();
    const { tip, stage, box } = this;
    tip.hidden = cell === null || from === undefined;
    if (from === undefined || cell === null) return;
    const edge = stage.getBoundingClientRect();
    const [x, y] = [from.clientX - edge.left, from.clientY - edge.top];
    const isRight = x > box.left + box.width / 2;
    tip.style.left = isRight ? "" : `${x + 14}px`;
    tip.style.right = isRight ? `${edge.width - x + 14}px` : "";
    tip.style.top = `${Math.max(0, y - 30)}px`;
  }

  private showPointed(): void {
    const { pointed, marker, box, down, across } = this;
    const value =
      pointed === null
        ? undefined
        : this.controls.frame?.values[pointed[0] * this.columns + pointed[1]];
    const text =
      pointed === null || value === undefined
        ? "point at a cell to read it"
        : `[${pointed[0]}][${pointed[1]}] = ${numberText(value)}`;
    setText(this.pointedText, text);
    this.pointedText.disabled = pointed === null;
    setText(this.tip, text);
    marker.hidden = pointed === null;
    if (pointed === null) return;
    const [dx, dy] = [box.width / (across.to - across.from), box.height / (down.to - down.from)];
    const y = this.isUp.checked ? down.to - 1 - pointed[0] : pointed[0] - down.from;
    const x = pointed[1] - across.from;
    const isIn = x >= 0 && y >= 0 && x < across.to - across.from && y < down.to - down.from;
    marker.hidden = !isIn;
    // A cell smaller than this could not be seen.
    const [w, d] = [Math.max(dx, 6), Math.max(dy, 6)];
    place(marker, box.left + (x + 0.5) * dx - w / 2, box.top + (y + 0.5) * dy - d / 2, w, d);
  }

  // ---- hands ----

  private listen(): void {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const { clientX: x, clientY: y, shiftKey: isShift } = event;
      this.pressed = { x, y, isShift, down: this.down, across: this.across };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => this.moved(event));
    canvas.addEventListener("pointerleave", () => this.pressed === null && this.pointAt(null));
    canvas.addEventListener("pointercancel", () => this.letGo());
    canvas.addEventListener("pointerup", (event) => this.released(event));
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.cellAt(event));
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  private moved(event: PointerEvent): void {
    const { pressed } = this;
    if (pressed === null) return this.pointAt(this.cellAt(event), event);
    const [dx, dy] = [event.clientX - pressed.x, event.clientY - pressed.y];
    if (Math.abs(dx) + Math.abs(dy) < DRAG && this.frame.hidden) return;
    if (pressed.isShift) return this.drag(dx, dy);
    const edge = this.stage.getBoundingClientRect();
    const { left, top, width, height } = this.box;
    const limit = (value: number, from: number, size: number) =>
      Math.max(from, Math.min(from + size, value));
    const [x1, x2] = [pressed.x, event.clientX].map((x) => limit(x - edge.left, left, width));
    const [y1, y2] = [pressed.y, event.clientY].map((y) => limit(y - edge.top, top, height));
    this.frame.hidden = false;
    this.tip.hidden = true;
    const [x, y] = [Math.min(x1!, x2!), Math.min(y1!, y2!)];
    place(this.frame, x, y, Math.abs(x2! - x1!), Math.abs(y2! - y1!));
  }

  /** The picture goes with the pointer. */
  private drag(dx: number, dy: number): void {
    const { down, across } = this.pressed!;
    const [wide, high] = [across.to - across.from, down.to - down.from];
    const up = this.isUp.checked ? dy : -dy;
    this.across = placed(across.from - (dx / this.box.width) * wide, wide, this.columns);
    this.down = placed(down.from + (up / this.box.height) * high, high, this.rows);
    this.controls.redraw();
  }

  private released(event: PointerEvent): void {
    const { pressed, frame } = this;
    const isFramed = !frame.hidden;
    this.letGo();
    if (pressed === null) return;
    if (isFramed) {
      const begin = { clientX: pressed.x, clientY: pressed.y } as MouseEvent;
      const [[row1, column1], [row2, column2]] = [this.cellAt(begin), this.cellAt(event)];
      this.down = framed(row1, row2, this.rows);
      this.across = framed(column1, column2, this.columns);
      this.controls.redraw();
    } else if (Math.abs(event.clientX - pressed.x) + Math.abs(event.clientY - pressed.y) < DRAG) {
      const cell = this.cellAt(event);
      // A finger covers what it points at: it reads first.
      if (event.pointerType === "touch") this.pointAt(cell, event);
      else this.picked(...cell);
    }
  }

  private letGo(): void {
    this.pressed = null;
    this.frame.hidden = true;
  }

  private key(event: KeyboardEvent): void {
    const up = this.isUp.checked ? 1 : -1;
    const steps: Record<string, Cell> = {
      ArrowUp: [up, 0],
      ArrowDown: [-up, 0],
      ArrowRight: [0, 1],
      ArrowLeft: [0, -1],
    };
    const zooms: Record<string, number | "fit"> = { "+": 0.5, "=": 0.5, "-": 2, "0": "fit" };
    const [step, factor] = [steps[event.key], zooms[event.key]];
    if (event.key === "Enter" && this.pointed !== null) this.picked(...this.pointed);
    if (factor !== undefined) this.zoom(factor);
    if (step === undefined) return;
    event.preventDefault();
    const { down, across } = this;
    const [row, column] = this.pointed ?? [down.from, across.from];
    const next = (value: number, by: number, length: number) =>
      Math.min(length - 1, Math.max(0, value + by * (event.shiftKey ? 10 : 1)));
    const to: Cell = [next(row, step[0], this.rows), next(column, step[1], this.columns)];
    this.down = showing(down, to[0], this.rows);
    this.across = showing(across, to[1], this.columns);
    this.pointAt(to);
    if (this.down !== down || this.across !== across) this.controls.redraw();
  }
}

function framed(a: number, b: number, length: number): Span {
  const size = Math.max(Math.abs(a - b) + 1, Math.min(LEAST_CELLS, length));
  return placed(Math.min(a, b), size, length);
}

function place(element: HTMLElement, left: number, top: number, width: number, height: number) {
  for (const [name, value] of Object.entries({ left, top, width, height })) {
    element.style.setProperty(name, `${value}px`);
  }
}

function* rowsOf(values: ArrayLike<number | bigint>, columns: number) {
  for (let begin = 0; begin < values.length; begin += columns) {
    yield Array.from({ length: columns }, (_, i) => values[begin + i]);
  }
}
