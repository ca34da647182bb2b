/** One value in a table: what it is in a line, where it leads, and how it is edited in place. */
import { follow, mipOfPointer, ownedBlock } from "../src/client/pointers.js";
import { read } from "../src/client/values.js";
import type { Segment } from "../src/client/segment.js";
import { TypeKind } from "../src/wire/protocol/descriptor.js";
import { groupText, h, numberText, setText } from "./dom.js";
import { editedText, editor, isEditable, passing, told } from "./editing.js";
import { elementOf, fieldsOf, kindOf, resolve, type Spot, type Step } from "./spots.js";
import type { Sample } from "./trends.js";

/** The actions on a shown value. A block and a path in the block name the value. */
export interface Ways {
  go(serial: number, steps: readonly Step[]): void;
  /** Keeps it in sight. */
  pin(serial: number, steps: readonly Step[]): void;
  /** The address of one of its views. */
  address(serial: number, steps: readonly Step[], view: string): string;
  /** The number's history up to now; null if it is not a number. */
  samples(serial: number, steps: readonly Step[], spot: Spot): readonly Sample[] | null;
}

/** A cell: its text, and where it leads if it leads anywhere. */
interface Shown {
  readonly text: string;
  readonly to?: { serial: number; steps: readonly Step[] };
}

/** The path of the value at a unit of a block, for a pointer that leads inside. */
export function stepsTo(spot: Spot | null, unit: number): Step[] {
  if (spot === null) return [];
  const { place, count, isArray } = spot;
  if (isArray) {
    const index = Math.floor((unit - place.unit) / place.type.units);
    const element = index < count ? elementOf(spot, index) : null;
    return element === null ? [] : [index, ...stepsTo(element, unit)];
  }
  if (place.unit >= unit) return [];
  const field = fieldsOf(place).findLast(({ spot: inner }) => inner.place.unit <= unit);
  return field === undefined ? [] : [field.name, ...stepsTo(field.spot, unit)];
}

function pointerShown(segment: Segment, place: Spot["place"]): Shown {
  const mip = mipOfPointer(place);
  if (mip === null) return { text: "NULL" };
  try {
    const target = follow(place);
    if (target === null || target.heap !== segment) return { text: `→ ${mip}` };
    const steps = stepsTo(resolve(segment, target.block.serial, []), target.unit);
    const name = target.block.name || `#${target.block.serial}`;
    return {
      text: `→ ${name}${target.unit > 0 ? ` unit ${target.unit}` : ""}`,
      to: { serial: target.block.serial, steps },
    };
  } catch {
    return { text: `→ ${mip} (not here)` };
  }
}

/** A value in one line. */
export function shownOf(
  segment: Segment,
  spot: Spot,
  serial: number,
  steps: readonly Step[],
): Shown {
  const { place, count, isArray } = spot;
  if (isArray) return { text: `${groupText(count)} values`, to: { serial, steps } };
  const { type } = place;
  switch (kindOf(type)) {
    case TypeKind.RECORD:
    case TypeKind.UNION:
      return { text: `${fieldsOf(place).length} fields`, to: { serial, steps } };
    case TypeKind.POINTER:
      return pointerShown(segment, place);
    case TypeKind.SEQUENCE: {
      const owned = ownedBlock(place);
      return owned === null
        ? { text: "empty" }
        : { text: `${groupText(owned.count)} values`, to: { serial: owned.serial, steps: [] } };
    }
    case TypeKind.ENUM:
      return { text: editedText(spot) };
    default: {
      const value = read(place);
      return {
        text:
          typeof value === "number" || typeof value === "bigint"
            ? numberText(value)
            : String(value),
      };
    }
  }
}

/** One value of a table: a link, or text that can be edited. */
export class Cell {
  readonly element: HTMLTableCellElement;
  private readonly text = h("span");
  private to: Shown["to"];
  private isEdited = false;

  constructor(
    private readonly segment: Segment,
    private readonly serial: number,
    private readonly steps: readonly Step[],
    private readonly ways: Ways,
    label: string | null = null,
  ) {
    this.element = h("td", { class: "value", "data-head": label }, this.text);
    this.element.addEventListener("click", (event) => {
      if (this.to === undefined || !(event.target instanceof HTMLButtonElement)) return;
      if (event.target.className === "link") ways.go(this.to.serial, this.to.steps);
    });
  }

  update(spot: Spot): void {
    if (this.isEdited) return;
    const { text, to } = shownOf(this.segment, spot, this.serial, this.steps);
    const isLink = to !== undefined;
    const canEdit = !isLink && !spot.isArray && isEditable(spot.place.type);
    this.to = to;
    if (this.element.dataset["kind"] !== `${isLink}${canEdit}`) {
      this.element.dataset["kind"] = `${isLink}${canEdit}`;
      const tag = isLink
        ? h("button", { class: "link", type: "button" })
        : canEdit
          ? h("button", {
              class: "edit",
              type: "button",
              title: "Edit",
              onclick: () => this.edit(),
            })
          : this.text;
      this.element.replaceChildren(tag);
    }
    setText(this.element.firstElementChild as Element, text === "" ? "“”" : text);
  }

  private async edit(): Promise<void> {
    const found = await this.segment
      .read(
        () => {
          const spot = resolve(this.segment, this.serial, this.steps) as Spot;
          return [spot.place.type, editedText(spot)] as const;
        },
        { timeoutMs: 2000 },
      )
      .catch(told);
    if (found === undefined) return;
    const [type, text] = found;
    this.isEdited = true;
    const done = () => {
      this.isEdited = false;
      delete this.element.dataset["kind"];
      void this.segment
        .read(() => {
          const spot = resolve(this.segment, this.serial, this.steps);
          if (spot !== null) this.update(spot);
        })
        .then(() => this.element.querySelector("button")?.focus())
        .catch(passing);
    };
    const { segment, serial, steps } = this;
    const pin = () => this.ways.pin(serial, steps);
    this.element.replaceChildren(editor({ segment, serial, steps, type, text }, pin, done));
  }
}

/** For a file: a value that could be edited exactly, anything else as it is shown. */
export function exactText(
  segment: Segment,
  spot: Spot,
  serial: number,
  steps: readonly Step[],
): string {
  if (!spot.isArray && isEditable(spot.place.type)) return editedText(spot);
  return shownOf(segment, spot, serial, steps).text;
}
