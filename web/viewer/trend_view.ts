/** The history of one number, as long as the page was open, over seconds. */
import type { Box } from "./axes.js";
import { marksBetween } from "./axes.js";
import { drawChart, onGround } from "./chart.js";
import { durationText, groupText, h, numberText, setText } from "./dom.js";
import { saveCsv, savePng } from "./export.js";
import { followSize, heightLeft } from "./figure.js";
import type { Sample } from "./trends.js";

const [LEAST_HEIGHT, MOST_HEIGHT] = [200, 460];

export interface TrendView {
  readonly element: HTMLElement;
  update(samples: readonly Sample[]): void;
}

export function trendView(names: readonly string[]): TrendView {
  return new Trend(names);
}

class Trend implements TrendView {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { class: "plot", tabIndex: 0 });
  private readonly stage = h("div", { class: "stage" }, this.canvas);
  private readonly caption = h("figcaption", { class: "mono" });
  private readonly about = h("p", { class: "soft" });
  private samples: readonly Sample[] = [];
  private box: Box = { left: 0, top: 0, width: 1, height: 1 };
  private pointed: number | null = null;

  constructor(names: readonly string[]) {
    const png = () => savePng(names, onGround(this.canvas));
    const csv = () => saveCsv(names, this.rows());
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "history of the value");
    const panel = h(
      "div",
      { class: "panel" },
      this.caption,
      h(
        "div",
        { class: "controls" },
        h("button", { type: "button", title: "Save the picture", onclick: png }, "PNG"),
        h("button", { type: "button", title: "Save the numbers", onclick: csv }, "CSV"),
      ),
      this.about,
    );
    this.element = h("figure", { class: "live" }, this.stage, panel);
    this.canvas.addEventListener("pointermove", (event) => {
      const edge = this.canvas.getBoundingClientRect();
      this.point(this.nearest((event.clientX - edge.left - this.box.left) / this.box.width));
    });
    this.canvas.addEventListener("pointerleave", () => this.point(null));
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const last = this.samples.length - 1;
      this.point(Math.max(0, Math.min(last, (this.pointed ?? last + 1) + step)));
    });
    followSize(this.stage, () => this.draw());
  }

  update(samples: readonly Sample[]): void {
    this.samples = samples;
    this.draw();
  }

  private *rows(): Generator<readonly unknown[]> {
    yield ["seconds", "version", "value"];
    const began = this.samples[0]?.at ?? 0;
    for (const { at, version, value } of this.samples) {
      yield [((at - began) / 1000).toFixed(3), version, value];
    }
  }

  private point(index: number | null): void {
    this.pointed = index;
    this.draw();
  }

  private ends(): [number, number] {
    const [first, last] = [this.samples[0], this.samples[this.samples.length - 1]];
    return first === undefined || last === undefined ? [0, 1] : [first.at, last.at];
  }

  private nearest(part: number): number | null {
    const [from, to] = this.ends();
    const at = from + part * (to - from);
    const far = this.samples.map((sample) => Math.abs(sample.at - at));
    return far.length === 0 ? null : far.indexOf(Math.min(...far));
  }

  private draw(): void {
    const { samples, pointed } = this;
    const [from, to] = this.ends();
    const seconds = Math.max(0.001, (to - from) / 1000);
    const finite = samples.filter(({ value }) => Number.isFinite(value));
    const values = finite.map(({ value }) => value);
    const at = (width: number, time: number) => ((time - from) / 1000 / seconds) * width;
    const sample = pointed === null ? undefined : samples[pointed];
    const most = Math.min(MOST_HEIGHT, innerWidth * 0.9);
    const height = Math.min(most, heightLeft(this.stage, LEAST_HEIGHT));
    this.box = drawChart(this.canvas, this.stage.clientWidth, height, {
      low: values.length === 0 ? 0 : Math.min(...values),
      high: values.length === 0 ? 0 : Math.max(...values),
      below: (width) =>
        marksBetween(-seconds, 0, width, 90).map(({ at: x, text }) => ({
          at: x,
          text: text === "0" ? "now" : `${text.replace("-", "−")} s`,
        })),
      line: (width, put) =>
        finite.forEach((each, i) => put(at(width, each.at), each.value, i === 0)),
      pointed:
        sample !== undefined && Number.isFinite(sample.value)
          ? { x: at(this.box.width, sample.at), value: sample.value }
          : undefined,
    });
    const shown = sample ?? samples[samples.length - 1];
    const what =
      shown === undefined ? "" : `${numberText(shown.value)} in version ${shown.version}`;
    setText(this.caption, what);
    const count = `${groupText(samples.length)} version${samples.length === 1 ? "" : "s"}`;
    setText(this.about, `${count} in ${durationText(seconds)}, since this page shows the value`);
  }
}
