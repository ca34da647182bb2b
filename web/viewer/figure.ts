/**
 * The common part of the live pictures of arrays: pausing, looking back through the received
 * versions, a range that follows the data or is given, zooming, and saving the picture or numbers.
 */
import { rangeOf } from "./colours.js";
import { groupText, h, notice, numberText, setText } from "./dom.js";
import { saveCsv, savePng } from "./export.js";
import { History, type Frame } from "./history.js";

export interface Figure {
  readonly element: HTMLElement;
  /** A version came, or the first. */
  update(version: number, values: ArrayLike<number | bigint>): void;
  toggle(): void;
}

/** Where the values of a picture come from. */
export interface Source {
  /** Of the segment and the value, for files. */
  readonly names: readonly string[];
  /** The newest values, exactly; null: they are gone. */
  exact(): Promise<ArrayLike<number | bigint> | null>;
}

/** The part that the heat map and the plot do in different ways. */
export interface Picture {
  /** Draws a frame between low and high. */
  draw(frame: Frame, low: number, high: number): void;
  /** Half or twice as near, or everything. */
  zoom(factor: number | "fit"): void;
  /** As it is now, with its scales. */
  image(): HTMLCanvasElement;
  rows(values: ArrayLike<number | bigint>): Iterable<readonly unknown[]>;
}

/** The room from the top of an element down to the end of the window. */
export function heightLeft(element: HTMLElement, least: number): number {
  const top = element.getBoundingClientRect().top + scrollY;
  return Math.max(least, innerHeight - top - 16);
}

function button(text: string, title: string, onclick: () => void): HTMLButtonElement {
  return h("button", { type: "button", title, onclick }, text);
}

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
  private readonly shown = h("span", { class: "shown soft mono" });
  private readonly facts = h("dl", { class: "facts" });
  private isPaused = false;
  private index = 0;
  private current: [number, number] = [0, 0];

  /** `first` stands on top, `more` among the ways to draw. */
  constructor(
    length: number,
    private readonly picture: Picture,
    private readonly source: Source,
    first: HTMLElement,
    ...more: HTMLElement[]
  ) {
    this.history = new History(length);
    const range = h("label", {}, this.isAuto, "auto range");
    const row = (...children: HTMLElement[]) => h("div", { class: "controls" }, ...children);
    this.element = h(
      "div",
      { class: "panel" },
      first,
      row(this.pause, this.scrub),
      this.shown,
      row(
        button("−", "Zoom out ( - )", () => picture.zoom(2)),
        button("+", "Zoom in ( + )", () => picture.zoom(0.5)),
        button("Fit", "Show everything ( 0 )", () => picture.zoom("fit")),
        button("PNG", "Save the picture", () => savePng(source.names, picture.image())),
        button("CSV", "Save the numbers", () => void this.saveNumbers()),
      ),
      row(range, h("span", { class: "range" }, this.low, "to", this.high)),
      ...(more.length === 0 ? [] : [row(...more)]),
      this.facts,
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

  /** Of the frame that is shown. The newest is exact; those before are kept as floats. */
  private async saveNumbers(): Promise<void> {
    const isNewest = !this.isPaused && this.index === this.history.count - 1;
    try {
      const values = (isNewest ? await this.source.exact() : null) ?? this.frame?.values;
      if (values !== undefined) saveCsv(this.source.names, this.picture.rows(values));
    } catch (error) {
      notice((error as Error).message, true);
    }
  }

  redraw(): void {
    const { frame } = this;
    if (frame === undefined) return;
    const range = rangeOf(frame.values);
    if (this.isAuto.checked) {
      this.current = range;
      [this.low.value, this.high.value] = [numberText(range[0]), numberText(range[1])];
    } else {
      const given = [Number(this.low.value), Number(this.high.value)] as [number, number];
      if (given.every(Number.isFinite)) this.current = given;
    }
    this.scrub.max = String(this.history.count - 1);
    this.scrub.value = String(this.index);
    const back = this.history.count - 1 - this.index;
    setText(this.shown, `version ${frame.version}${back > 0 ? ` (${back} back)` : ""}`);
    this.showFacts(frame, range);
    this.picture.draw(frame, ...this.current);
  }

  private showFacts({ values }: Frame, [low, high]: [number, number]): void {
    let [sum, count] = [0, 0];
    for (let i = 0; i < values.length; ++i) {
      const value = values[i] as number;
      if (!Number.isFinite(value)) continue;
      sum += value;
      count += 1;
    }
    const facts: [string, string][] = [
      ["least", numberText(low)],
      ["mean", count === 0 ? "–" : numberText(sum / count)],
      ["most", numberText(high)],
      ["values", groupText(values.length)],
    ];
    if (count < values.length) facts.push(["not finite", groupText(values.length - count)]);
    if (this.facts.childElementCount !== facts.length) {
      this.facts.replaceChildren(
        ...facts.map(([name]) => h("div", {}, h("dt", {}, name), h("dd"))),
      );
    }
    facts.forEach(([, text], i) =>
      setText(this.facts.children[i]?.lastElementChild as Element, text),
    );
  }
}

/** Draws anew when the room of an element changes: its width, or the window's height. */
export function followSize(element: HTMLElement, redraw: () => void): void {
  const resized = () => {
    if (element.isConnected) redraw();
    else removeEventListener("resize", resized);
  };
  let width = -1;
  const watch = new ResizeObserver(() => {
    if (!element.isConnected) return watch.disconnect();
    if (element.clientWidth === width) return;
    width = element.clientWidth;
    redraw();
  });
  watch.observe(element);
  addEventListener("resize", resized);
}
