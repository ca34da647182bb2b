/** The pinned values: each with its name, and a slider, a text field or a choice that steers it. */
import { read } from "../src/client/values.js";
import type { Segment } from "../src/client/segment.js";
import { h } from "./dom.js";
import {
  choicesOf,
  editedText,
  isEditable,
  isNumber,
  isWhole,
  passing,
  Sharing,
} from "./editing.js";
import { pinLabel, pinName, type Pin } from "./address.js";
import { Slider, type Ends } from "./slider.js";
import { findBlock, resolve, spotTypeText, type Spot } from "./spots.js";

/** What the panel asks of the page. */
export interface Pinning {
  addressOf(pin: Pin): string;
  unpin(pin: Pin): void;
  setEnds(pin: Pin, ends: Ends): void;
}

class Steered {
  readonly element = h("div", { class: "steered", role: "group" });
  private readonly link: HTMLAnchorElement;
  private readonly place = h("span");
  private readonly sharing: Sharing;
  private slider: Slider | null = null;
  private field: HTMLInputElement | HTMLSelectElement | null = null;
  private built = "";
  /** What people are typing is theirs. */
  private isTyped = false;

  constructor(
    private readonly segment: Segment,
    readonly pin: Pin,
    private readonly pinning: Pinning,
  ) {
    const label = pinLabel(pin);
    this.sharing = new Sharing(
      segment,
      () => this.serial,
      pin.steps,
      () => void segment.read(() => this.update()).catch(passing),
    );
    this.element.setAttribute("aria-label", label);
    const unpin = {
      class: "copy",
      type: "button",
      title: "Do not keep it here",
      "aria-label": `Unpin ${label}`,
      onclick: () => pinning.unpin(pin),
    };
    this.link = h("a", {}, label);
    this.element.append(this.link, this.place, h("button", unpin, "×"));
  }

  private get serial(): number | null {
    return findBlock(this.segment, this.pin.block)?.serial ?? null;
  }

  update(): void {
    const { serial, link } = this;
    const address = this.pinning.addressOf(this.pin);
    if (link.getAttribute("href") !== address) link.href = address;
    const spot = serial === null ? null : resolve(this.segment, serial, this.pin.steps);
    const canSteer = spot !== null && !spot.isArray && isEditable(spot.place.type);
    const wanted = canSteer ? spotTypeText(spot) : "";
    if (wanted !== this.built || this.place.childElementCount === 0)
      this.build(canSteer ? spot : null, wanted);
    if (!canSteer || this.field === null) return;
    const text = editedText(spot);
    this.slider?.update(Number(read(spot.place)), this.sharing.isBusy);
    if (!this.isTyped && !this.sharing.isBusy && this.field.value !== text) this.field.value = text;
  }

  private build(spot: Spot | null, wanted: string): void {
    this.built = wanted;
    this.slider = null;
    this.field = null;
    if (spot === null) {
      this.place.replaceChildren(h("span", { class: "soft" }, "not there to be steered"));
      return;
    }
    const { type } = spot.place;
    const label = pinLabel(this.pin);
    const choices = choicesOf(type);
    const typing = (isTyped: boolean) => () => (this.isTyped = isTyped);
    const onchange = () => {
      this.isTyped = false;
      this.sharing.give(this.field?.value ?? "");
    };
    const how = { "aria-label": `Value of ${label}`, onchange };
    this.field =
      choices === null
        ? h("input", { type: "text", ...how, oninput: typing(true), onblur: typing(false) })
        : h("select", how, ...choices.map((choice) => h("option", {}, choice)));
    if (isNumber(type)) this.slider = this.sliderFor(label, isWhole(type));
    this.element.classList.toggle("long", this.slider !== null);
    this.place.replaceChildren(...(this.slider === null ? [] : [this.slider.element]), this.field);
  }

  private sliderFor(label: string, whole: boolean): Slider {
    const moved = (text: string) => {
      if (this.field !== null) this.field.value = text;
      this.sharing.give(text);
    };
    return new Slider(label, whole, this.pin.ends, moved, (ends) =>
      this.pinning.setEnds(this.pin, ends),
    );
  }
}

export class SteeringPanel {
  readonly element = h("section", { id: "steering", "aria-label": "Steering", hidden: true });
  private steered: Steered[] = [];
  private shown = "";

  constructor(
    private readonly segment: Segment,
    private readonly pinning: Pinning,
  ) {}

  /** Under a lock. */
  update(pins: readonly Pin[]): void {
    const names = pins.map(pinName).join();
    if (names !== this.shown) {
      this.shown = names;
      this.steered = pins.map((pin) => new Steered(this.segment, pin, this.pinning));
      this.element.replaceChildren(...this.steered.map(({ element }) => element));
      this.element.hidden = pins.length === 0;
    }
    for (const each of this.steered) each.update();
  }
}
