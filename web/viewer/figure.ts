/**
 * What the live pictures of arrays share: pausing, looking back through what was received, and a
 * range that follows the data or is given.
 */
import { rangeOf } from "./colours.js";
import { h, numberText, setText } from "./dom.js";
import { History, type Frame } from "./history.js";

export interface Figure {
  readonly element: HTMLElement;
  /** A version came, or the first. */
  update(version: number, values: ArrayLike<number | bigint>): void;
  toggle(): void;
}

/** Draws a frame between low and high; given by the heat map and by the plot. */
export type Draw = (frame: Frame, low: number, high: number) => void;

export class Controls {
  readonly history: History;
  readonly element: HTMLElement;
  private readonly scrub = h("input", {
    type: "range",
    min: "0",
    max: "0",
    value: "0",
    "aria-label": "Look back",
    oninput: () => this.look(),
  });
  private readonly pause = h(
    "button",
    { type: "button", "aria-pressed": "false", title: "Space", onclick: () => this.toggle() },
    "Pause",
  );
  private readonly low = this.limit("Least");
  private readonly high = this.limit("Most");
  private readonly isAuto = h("input", {
    type: "checkbox",
    checked: true,
    onchange: () => this.redraw(),
  });
  private readonly shown = h("span", { class: "soft mono" });
  private isPaused = false;
  private index = 0;
  private current: [number, number] = [0, 0];

  constructor(
    length: number,
    private readonly draw: Draw,
    ...more: HTMLElement[]
  ) {
    this.history = new History(length);
    const range = h("label", {}, this.isAuto, "auto range");
    this.element = h(
      "div",
      {},
      h("div", { class: "controls" }, this.pause, this.scrub, this.shown),
      h("div", { class: "controls" }, range, this.low, this.high, ...more),
    );
  }

  private limit(label: string): HTMLInputElement {
    return h("input", {
      class: "range",
      type: "text",
      inputMode: "decimal",
      "aria-label": label,
      title: label,
      onchange: () => {
        this.isAuto.checked = false;
        this.redraw();
      },
    });
  }

  update(version: number, values: ArrayLike<number | bigint>): void {
    // While people look back nothing may be pushed out from under them.
    if (this.isPaused) return;
    this.history.add(version, values);
    this.index = this.history.count - 1;
    this.redraw();
  }

  toggle(): void {
    this.isPaused = !this.isPaused;
    this.pause.setAttribute("aria-pressed", String(this.isPaused));
    setText(this.pause, this.isPaused ? "Go on" : "Pause");
    if (!this.isPaused) this.index = this.history.count - 1;
    this.redraw();
  }

  private look(): void {
    if (!this.isPaused) this.toggle();
    this.index = Number(this.scrub.value);
    this.redraw();
  }

  get frame(): Frame | undefined {
    return this.history.at(this.index);
  }

  redraw(): void {
    const { frame } = this;
    if (frame === undefined) return;
    if (this.isAuto.checked) {
      this.current = rangeOf(frame.values);
      [this.low.value, this.high.value] = [
        numberText(this.current[0]),
        numberText(this.current[1]),
      ];
    } else {
      const given = [Number(this.low.value), Number(this.high.value)] as [number, number];
      if (given.every(Number.isFinite)) this.current = given;
    }
    this.scrub.max = String(this.history.count - 1);
    this.scrub.value = String(this.index);
    const back = this.history.count - 1 - this.index;
    setText(this.shown, `version ${frame.version}${back > 0 ? ` (${back} back)` : ""}`);
    this.draw(frame, ...this.current);
  }
}
