/** Values as tables, updated in place: what people selected or edit stays as it is. */
import { mipOfPlace } from "../src/client/place.js";
import { follow, mipOfPointer, ownedBlock } from "../src/client/pointers.js";
import { read } from "../src/client/values.js";
import type { Segment } from "../src/client/segment.js";
import { TypeKind } from "../src/wire/protocol/descriptor.js";
import { copyButton, h, numberText, setText } from "./dom.js";
import { editedText, editor, isEditable } from "./editing.js";
import {
  elementOf,
  fieldsOf,
  kindOf,
  resolve,
  spotTypeText,
  type Spot,
  type Step,
} from "./spots.js";

const PAGE_ROWS = 50;
const MOST_COLUMNS = 12;

/** What can be done with a value that is shown: of a block, and a path in it. */
export interface Ways {
  go(serial: number, steps: readonly Step[]): void;
  /** Keeps it in sight. */
  pin(serial: number, steps: readonly Step[]): void;
}

/** A cell: its text, and where it leads if it leads anywhere. */
interface Shown {
  readonly text: string;
  readonly to?: { serial: number; steps: readonly Step[] };
}

/** The path of the value at a unit of a block, for a pointer that leads inside. */
function stepsTo(spot: Spot | null, unit: number): Step[] {
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

/** What a value is in one line. */
export function shownOf(
  segment: Segment,
  spot: Spot,
  serial: number,
  steps: readonly Step[],
): Shown {
  const { place, count, isArray } = spot;
  if (isArray) return { text: `${count} values`, to: { serial, steps } };
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
        : { text: `${owned.count} values`, to: { serial: owned.serial, steps: [] } };
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
class Cell {
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
    const [type, text] = await this.segment.read(() => {
      const spot = resolve(this.segment, this.serial, this.steps) as Spot;
      return [spot.place.type, editedText(spot)] as const;
    });
    this.isEdited = true;
    const done = () => {
      this.isEdited = false;
      delete this.element.dataset["kind"];
      void this.segment
        .read(() => {
          const spot = resolve(this.segment, this.serial, this.steps);
          if (spot !== null) this.update(spot);
        })
        .then(() => this.element.querySelector("button")?.focus());
    };
    const { segment, serial, steps } = this;
    const pin = () => this.ways.pin(serial, steps);
    this.element.replaceChildren(editor({ segment, serial, steps, type, text }, pin, done));
  }
}

export interface Table {
  readonly element: HTMLElement;
  update(spot: Spot): void;
}

/** A record or union, a row a field; a single value is a row of its own. */
export function recordTable(
  segment: Segment,
  serial: number,
  steps: readonly Step[],
  ways: Ways,
): Table {
  const body = h("tbody");
  const head = h(
    "thead",
    {},
    h("tr", {}, h("th", {}, "Field"), h("th", {}, "Value"), h("th", {}, "Type"), h("th", {}, "")),
  );
  let cells = new Map<string, Cell>();
  let shape = "";
  return {
    element: h("div", { class: "scroll" }, h("table", { class: "wide record" }, head, body)),
    update({ place, count, isArray }) {
      const isRecord = !isArray && (place.type.fields.length > 0 || place.type.union !== null);
      const rows = isRecord
        ? fieldsOf(place).map(({ name, spot }) => ({ name, spot, at: [...steps, name] }))
        : [{ name: "value", spot: { place, count, isArray }, at: [...steps] }];
      const newShape = rows.map(({ name, spot }) => `${name}:${spotTypeText(spot)}`).join();
      if (newShape !== shape) {
        shape = newShape;
        cells = new Map();
        body.replaceChildren(
          ...rows.map(({ name, spot, at }) => {
            const cell = new Cell(segment, serial, at, ways);
            cells.set(name, cell);
            const mip = () => mipOfPlace(resolve(segment, serial, at)?.place ?? spot.place);
            return h(
              "tr",
              {},
              h("th", {}, name),
              cell.element,
              h("td", { class: "soft mono" }, spotTypeText(spot)),
              h("td", {}, copyButton(mip)),
            );
          }),
        );
      }
      for (const { name, spot } of rows) cells.get(name)?.update(spot);
    },
  };
}

/**
 * An array, a page at a time: a row an element; of nested arrays a column each, of records a field.
 */
export function arrayTable(
  segment: Segment,
  serial: number,
  steps: readonly Step[],
  ways: Ways,
): Table {
  const table = h("table", { class: "array" });
  const shown = h("span", { class: "soft" });
  const jump = h("input", {
    type: "number",
    min: "0",
    "aria-label": "Go to element",
    title: "Go to element",
    placeholder: "element",
    onchange: () => turn(Number(jump.value)),
  });
  let first = 0;
  let latest: Spot | null = null;
  let cells: { cell: Cell; at: Step[] }[] = [];
  let built = "";
  const turn = (to: number) => {
    const { count } = latest ?? { count: 0 };
    first = Math.max(0, Math.min(to, count - 1));
    void segment.read(() => update(resolve(segment, serial, steps)));
  };
  const columnsOf = (spot: Spot): (Step | null)[] => {
    const element = elementOf(spot, 0);
    if (element === null) return [null];
    if (element.isArray)
      return Array.from({ length: Math.min(element.count, MOST_COLUMNS) }, (_, i) => i);
    if (kindOf(element.place.type) === TypeKind.RECORD)
      return fieldsOf(element.place)
        .slice(0, MOST_COLUMNS)
        .map(({ name }) => name);
    return [null];
  };
  const build = (spot: Spot): void => {
    const columns = columnsOf(spot);
    cells = [];
    const rows = [];
    for (let index = first; index < Math.min(first + PAGE_ROWS, spot.count); ++index) {
      const row = h(
        "tr",
        {},
        h(
          "th",
          { class: "number" },
          h(
            "button",
            { class: "link", type: "button", onclick: () => ways.go(serial, [...steps, index]) },
            String(index),
          ),
        ),
      );
      for (const column of columns) {
        const at = column === null ? [...steps, index] : [...steps, index, column];
        const cell = new Cell(segment, serial, at, ways, column === null ? null : String(column));
        cells.push({ cell, at });
        row.append(cell.element);
      }
      rows.push(row);
    }
    const heads = columns.map((column) => h("th", {}, column === null ? "Value" : String(column)));
    table.replaceChildren(
      h("thead", {}, h("tr", {}, h("th", { class: "number" }, "#"), ...heads)),
      h("tbody", {}, ...rows),
    );
    const last = Math.min(first + PAGE_ROWS, spot.count) - 1;
    setText(shown, `${first}–${last} of ${spot.count}`);
  };
  const update = (spot: Spot | null): void => {
    if (spot === null) return;
    latest = spot;
    const wanted = `${first}/${spot.count}/${spotTypeText(spot)}`;
    if (wanted !== built) build(spot);
    built = wanted;
    for (const { cell, at } of cells) {
      const inner = resolve(segment, serial, at);
      if (inner !== null) cell.update(inner);
    }
  };
  const pages = h(
    "div",
    { class: "controls" },
    h("button", { type: "button", onclick: () => turn(first - PAGE_ROWS) }, "Previous"),
    h("button", { type: "button", onclick: () => turn(first + PAGE_ROWS) }, "Next"),
    jump,
    shown,
  );
  return { element: h("div", {}, pages, h("div", { class: "scroll" }, table)), update };
}
