/** A slider for a number, between two ends that suit the value until people set them. */
import { h, numberText } from "./dom.js";
import { roundUp } from "./scale.js";

export interface Ends {
  readonly low: number;
  readonly high: number;
}

/** From zero to about twice the value, so that it can be moved both ways. */
export function endsAround(value: number, isWhole: boolean): Ends {
  if (value === 0 || !Number.isFinite(value))
    return isWhole ? { low: 0, high: 10 } : { low: -1, high: 1 };
  const far = roundUp(2 * Math.abs(value));
  return value > 0 ? { low: 0, high: far } : { low: -far, high: 0 };
}

/** Round, and about a hundredth of the way: what an arrow key moves. */
export function stepBetween({ low, high }: Ends, isWhole: boolean): number {
  const step = roundUp((high - low) / 200);
  return isWhole ? Math.max(1, Math.round(step)) : step;
}

export class Slider {
  readonly element: HTMLElement;
  private readonly thumb: HTMLInputElement;
  private readonly low: HTMLInputElement;
  private readonly high: HTMLInputElement;
  private ends: Ends = { low: 0, high: 1 };
  /** Between pressing and letting go the thumb is the reader's. */
  private isHeld = false;

  /** `moved` is called with the number's text while it is moved, `set` when people set the ends. */
  constructor(
    name: string,
    private readonly isWhole: boolean,
    private given: Ends | null,
    moved: (text: string) => void,
    private readonly set: (ends: Ends) => void,
  ) {
    const hold = (isHeld: boolean) => () => (this.isHeld = isHeld);
    this.thumb = h("input", {
      type: "range",
      "aria-label": name,
      onpointerdown: hold(true),
      onpointerup: hold(false),
      onpointercancel: hold(false),
      oninput: () => moved(this.thumb.value),
    });
    this.low = this.end(`Least ${name}`);
    this.high = this.end(`Most ${name}`);
    this.element = h("span", { class: "slider" }, this.low, this.thumb, this.high);
  }

  private end(label: string): HTMLInputElement {
    return h("input", {
      type: "text",
      inputMode: "decimal",
      "aria-label": label,
      title: label,
      onchange: () => this.endsSet(),
    });
  }

  private endsSet(): void {
    const [low, high] = [Number(this.low.value), Number(this.high.value)];
    if (Number.isFinite(low) && Number.isFinite(high) && low < high) {
      this.given = { low, high };
      this.set(this.given);
    }
    this.showEnds(this.given ?? this.ends);
  }

  private showEnds(ends: Ends): void {
    this.ends = ends;
    const { low, high, thumb } = this;
    [low.value, high.value] = [numberText(ends.low), numberText(ends.high)];
    [thumb.min, thumb.max] = [String(ends.low), String(ends.high)];
    thumb.step = String(stepBetween(ends, this.isWhole));
  }

  /** The value is another, or the same; `isMoving`: one that was moved to is on its way. */
  update(value: number, isMoving: boolean): void {
    if (this.isHeld || isMoving) return;
    const { low, high } = this.ends;
    const isFirst = this.thumb.max === "";
    if (this.given !== null) {
      if (isFirst) this.showEnds(this.given);
    } else if (isFirst || value < low || value > high) {
      this.showEnds(endsAround(value, this.isWhole));
    }
    this.thumb.value = String(value);
  }
}
