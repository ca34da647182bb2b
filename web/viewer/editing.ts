/** Steering: a value is edited under the writer lock, as a program would do it. */
import type { Segment } from "../src/client/segment.js";
import { within } from "../src/client/misfit.js";
import { read, write } from "../src/client/values.js";
import { InterweaveError } from "../src/wire/error.js";
import { Primitive, TypeKind } from "../src/wire/protocol/descriptor.js";
import type { Type } from "../src/types/type.js";
import { h, notice } from "./dom.js";
import { Slider } from "./slider.js";
import { kindOf, pathText, resolve, type Spot, type Step } from "./spots.js";
import { numberTyped, typedValue } from "./typed.js";

const EDITABLE = [TypeKind.PRIMITIVE, TypeKind.ENUM, TypeKind.STRING, TypeKind.TEXT] as number[];

export function isEditable(type: Type): boolean {
  return EDITABLE.includes(kindOf(type));
}

/** A number that a slider can steer. */
export function isNumber(type: Type): boolean {
  return kindOf(type) === TypeKind.PRIMITIVE && type.serial !== Primitive.BOOL;
}

export function isWhole(type: Type): boolean {
  return type.serial !== Primitive.FLOAT && type.serial !== Primitive.DOUBLE;
}

function memberNames(type: Type): string[] | null {
  const { body } = type.descriptor;
  return "members" in body ? body.members.map(({ name }) => name) : null;
}

/** What the value can be, if that is a short list. */
export function choicesOf(type: Type): string[] | null {
  return type.serial === Primitive.BOOL ? ["false", "true"] : memberNames(type);
}

/** The exact text of a value that is to be edited. */
export function editedText({ place }: Spot): string {
  const value = read(place);
  const { body } = place.type.descriptor;
  const member = "members" in body ? body.members.find((each) => each.value === value) : undefined;
  if (typeof value === "number" || typeof value === "bigint")
    return member?.name ?? numberTyped(value);
  return String(value);
}

/** A lock that was not had in time is had with the next version. */
export function passing(error: unknown): void {
  if (!(error instanceof InterweaveError)) throw error;
}

/** People are told why a lock was not had. */
export function told(error: unknown): void {
  passing(error);
  notice((error as Error).message, true);
}

/** Applies the value for all programs; false, and people are told why, if it was not possible. */
async function share(
  segment: Segment,
  serial: number | null,
  steps: readonly Step[],
  text: string,
): Promise<boolean> {
  try {
    await segment.write(
      () => {
        const spot = serial === null ? null : resolve(segment, serial, steps);
        if (spot === null || spot.isArray) throw new Error("the value is not there any more");
        const { place } = spot;
        const name = place.block.name || `#${place.block.serial}`;
        within(
          () => pathText([name, ...steps]),
          () => write(place, typedValue(place.type, text)),
        );
      },
      { timeoutMs: 5000 },
    );
    return true;
  } catch (error) {
    notice((error as Error).message, true);
    return false;
  }
}

/**
 * Shares what is steered as it moves: one value at a time, then the newest; those
 * between are left out.
 */
export class Sharing {
  isBusy = false;
  private next: string | null = null;

  constructor(
    private readonly segment: Segment,
    private readonly serial: () => number | null,
    private readonly steps: readonly Step[],
    /** Nothing more is on its way: what is shared is now to be seen, also if it was refused. */
    private readonly settled: () => void,
  ) {}

  give(text: string): void {
    this.next = text;
    if (!this.isBusy) void this.shareAll();
  }

  private async shareAll(): Promise<void> {
    this.isBusy = true;
    for (let text = this.next; text !== null; text = this.next) {
      this.next = null;
      await share(this.segment, this.serial(), this.steps, text);
    }
    this.isBusy = false;
    this.settled();
  }
}

function control(type: Type, text: string): HTMLInputElement | HTMLSelectElement {
  const choices = choicesOf(type);
  if (choices === null) return h("input", { type: "text", value: text, "aria-label": "New value" });
  return h(
    "select",
    { "aria-label": "New value" },
    ...choices.map((choice) => h("option", { selected: choice === text }, choice)),
  );
}

/** What an editor is for. */
export interface Edited {
  readonly segment: Segment;
  readonly serial: number;
  readonly steps: readonly Step[];
  readonly type: Type;
  readonly text: string;
}

function sliderBeside(input: HTMLInputElement | HTMLSelectElement, edited: Edited): Slider {
  const { segment, serial, steps, type, text } = edited;
  const sharing = new Sharing(
    segment,
    () => serial,
    steps,
    () => undefined,
  );
  const moved = (to: string) => {
    input.value = to;
    sharing.give(to);
  };
  const slider = new Slider(
    pathText(steps) || "value",
    isWhole(type),
    null,
    moved,
    () => undefined,
  );
  slider.update(Number(text), false);
  return slider;
}

/**
 * Takes the place of a value until it is shared or given up, or `pin` keeps it;
 * `done` is called then.
 */
export function editor(edited: Edited, pin: () => void, done: () => void): HTMLFormElement {
  const { segment, serial, steps, type, text } = edited;
  const input = control(type, text);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await share(segment, serial, steps, input.value)) {
      const name = segment.copy.blocks.get(serial)?.name || `#${serial}`;
      notice(`${pathText([name, ...steps])} is ${input.value}`);
      done();
    } else input.focus();
  };
  const keep = () => {
    pin();
    done();
  };
  const form = h(
    "form",
    { class: "edit", onsubmit: submit },
    input,
    isNumber(type) ? sliderBeside(input, edited).element : null,
    h("button", { type: "submit" }, "Apply"),
    h("button", { type: "button", onclick: done }, "Cancel"),
    h("button", { type: "button", title: "Keep it in sight, to steer it", onclick: keep }, "Pin"),
  );
  form.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") done();
  });
  queueMicrotask(() => {
    input.focus();
    if (input instanceof HTMLInputElement) input.select(); // what is typed replaces the value
  });
  return form;
}
