/** Records and arrays as tables, updated in place: what people selected or edit stays as it is. */
import { mipOfPlace } from "../src/client/place.js";
import type { Segment } from "../src/client/segment.js";
import { TypeKind } from "../src/wire/protocol/descriptor.js";
import { Cell, exactText, type Ways } from "./cells.js";
import { copyButton, groupText, h, setText } from "./dom.js";
import { MOST_EXPORTED_CELLS, saveCsv } from "./export.js";
import {
  elementOf,
  fieldsOf,
  kindOf,
  pathText,
  resolve,
  spotTypeText,
  type Spot,
  type Step,
} from "./spots.js";
import { Sparkline } from "./trends.js";

const PAGE_ROWS = 50;
const MOST_COLUMNS = 12;

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
  return new RecordTable(segment, serial, steps, ways);
}

/** A field's cell, and the line of its history. */
interface Row {
  readonly cell: Cell;
  readonly trend: HTMLAnchorElement;
  readonly line: Sparkline;
  readonly at: readonly Step[];
}

class RecordTable implements Table {
  readonly element: HTMLElement;
  private readonly body = h("tbody");
  private rows = new Map<string, Row>();
  private shape = "";

  constructor(
    private readonly segment: Segment,
    private readonly serial: number,
    private readonly steps: readonly Step[],
    private readonly ways: Ways,
  ) {
    const names = ["Field", "Value", "History", "Type", "MIP"];
    const head = h("thead", {}, h("tr", {}, ...names.map((name) => h("th", {}, name))));
    const table = h("table", { class: "wide record" }, head, this.body);
    this.element = h("div", { class: "scroll" }, table);
  }

  update({ place, count, isArray }: Spot): void {
    const isRecord = !isArray && (place.type.fields.length > 0 || place.type.union !== null);
    const { steps } = this;
    const rows = isRecord
      ? fieldsOf(place).map(({ name, spot }) => ({ name, spot, at: [...steps, name] as Step[] }))
      : [{ name: "value", spot: { place, count, isArray }, at: [...steps] }];
    const shape = rows.map(({ name, spot }) => `${name}:${spotTypeText(spot)}`).join();
    if (shape !== this.shape) {
      this.shape = shape;
      this.rows.clear();
      this.body.replaceChildren(...rows.map(({ name, spot, at }) => this.make(name, spot, at)));
    }
    for (const { name, spot, at } of rows) {
      const row = this.rows.get(name) as Row;
      row.cell.update(spot);
      const samples = this.ways.samples(this.serial, at, spot);
      row.trend.hidden = samples === null;
      if (samples === null) continue;
      const address = this.ways.address(this.serial, at, "history");
      if (row.trend.getAttribute("href") !== address) row.trend.href = address;
      row.line.update(samples);
    }
  }

  private make(name: string, spot: Spot, at: readonly Step[]): HTMLElement {
    const { segment, serial, ways } = this;
    const cell = new Cell(segment, serial, at, ways);
    const line = new Sparkline();
    const label = `History of ${pathText(at) || name}`;
    const trend = h("a", { "aria-label": label, title: "History" });
    trend.append(line.element);
    this.rows.set(name, { cell, trend, line, at });
    const mip = () => mipOfPlace(resolve(segment, serial, at)?.place ?? spot.place);
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, name),
      cell.element,
      h("td", { class: "trend" }, trend),
      h("td", { class: "soft mono" }, spotTypeText(spot)),
      h("td", {}, copyButton(mip)),
    );
  }
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
  return new ArrayTable(segment, serial, steps, ways);
}

/** The columns of an array: elements of nested arrays, fields, or the value alone. */
export function columnsOf(spot: Spot): (Step | null)[] {
  const element = elementOf(spot, 0);
  if (element === null) return [null];
  if (element.isArray) return Array.from({ length: element.count }, (_, i) => i);
  if (kindOf(element.place.type) === TypeKind.RECORD)
    return fieldsOf(element.place).map(({ name }) => name);
  return [null];
}

class ArrayTable implements Table {
  readonly element: HTMLElement;
  private readonly table = h("table", { class: "array" });
  private readonly shown = h("span", { class: "soft" });
  private readonly shownColumns = h("span", { class: "soft" });
  private readonly jump = h("input", {
    type: "number",
    min: "0",
    "aria-label": "Go to element",
    title: "Go to element",
    placeholder: "element",
    onchange: () => this.turn(Number(this.jump.value)),
  });
  private readonly across: HTMLElement;
  private first = 0;
  private column = 0;
  private latest: Spot | null = null;
  private cells: { cell: Cell; at: Step[] }[] = [];
  private built = "";

  constructor(
    private readonly segment: Segment,
    private readonly serial: number,
    private readonly steps: readonly Step[],
    private readonly ways: Ways,
  ) {
    const button = (text: string, title: string, onclick: () => void) =>
      h("button", { type: "button", title, onclick }, text);
    this.across = h(
      "span",
      { class: "controls" },
      button("◂", "Columns before", () => this.turnColumns(-MOST_COLUMNS)),
      button("▸", "Columns behind", () => this.turnColumns(MOST_COLUMNS)),
      this.shownColumns,
    );
    const pages = h(
      "div",
      { class: "controls" },
      button("Previous", "Rows before", () => this.turn(this.first - PAGE_ROWS)),
      button("Next", "Rows behind", () => this.turn(this.first + PAGE_ROWS)),
      this.jump,
      this.shown,
      this.across,
      button("CSV", "Save all values", () => void this.save()),
    );
    this.element = h("div", {}, pages, h("div", { class: "scroll" }, this.table));
  }

  private turn(to: number): void {
    this.first = Math.max(0, Math.min(to, (this.latest?.count ?? 0) - 1));
    this.refresh();
  }

  private turnColumns(by: number): void {
    const last = this.latest === null ? 0 : columnsOf(this.latest).length - 1;
    if (this.column + by <= last) this.column = Math.max(0, this.column + by);
    this.refresh();
  }

  private refresh(): void {
    void this.segment.read(() => {
      const spot = resolve(this.segment, this.serial, this.steps);
      if (spot !== null) this.update(spot);
    });
  }

  update(spot: Spot): void {
    this.latest = spot;
    const wanted = `${this.first}/${this.column}/${spot.count}/${spotTypeText(spot)}`;
    if (wanted !== this.built) this.build(spot);
    this.built = wanted;
    for (const { cell, at } of this.cells) {
      const inner = resolve(this.segment, this.serial, at);
      if (inner !== null) cell.update(inner);
    }
  }

  private build(spot: Spot): void {
    const all = columnsOf(spot);
    this.column = Math.min(this.column, Math.max(0, all.length - 1));
    const columns = all.slice(this.column, this.column + MOST_COLUMNS);
    const end = Math.min(this.first + PAGE_ROWS, spot.count);
    this.cells = [];
    const rows = [];
    for (let index = this.first; index < end; ++index) rows.push(this.makeRow(index, columns));
    const heads = columns.map((column) =>
      h("th", { scope: "col" }, column === null ? "Value" : String(column)),
    );
    this.table.replaceChildren(
      h("thead", {}, h("tr", {}, h("th", { class: "number", scope: "col" }, "#"), ...heads)),
      h("tbody", {}, ...rows),
    );
    setText(this.shown, `${this.first}–${end - 1} of ${groupText(spot.count)}`);
    this.across.hidden = all.length <= MOST_COLUMNS;
    const lastColumn = this.column + columns.length - 1;
    setText(this.shownColumns, `columns ${this.column}–${lastColumn} of ${groupText(all.length)}`);
  }

  private makeRow(index: number, columns: readonly (Step | null)[]): HTMLElement {
    const { segment, serial, steps, ways } = this;
    const go = () => ways.go(serial, [...steps, index]);
    const open = h("button", { class: "link", type: "button", onclick: go }, String(index));
    const row = h("tr", {}, h("th", { class: "number", scope: "row" }, open));
    for (const column of columns) {
      const at = column === null ? [...steps, index] : [...steps, index, column];
      const cell = new Cell(segment, serial, at, ways, column === null ? null : String(column));
      this.cells.push({ cell, at });
      row.append(cell.element);
    }
    return row;
  }

  private async save(): Promise<void> {
    const { segment, serial, steps } = this;
    const rows = await segment.read(() => {
      const spot = resolve(segment, serial, steps);
      return spot === null ? [] : [...exportedRows(segment, serial, steps, spot)];
    });
    const block = segment.copy.blocks.get(serial)?.name || String(serial);
    saveCsv([segment.path, block, pathText(steps)], rows);
  }
}

/** Under a lock: all elements, as far as a spreadsheet takes them. */
function* exportedRows(
  segment: Segment,
  serial: number,
  steps: readonly Step[],
  spot: Spot,
): Generator<readonly unknown[]> {
  const columns = columnsOf(spot);
  yield ["#", ...columns.map((column) => (column === null ? "value" : String(column)))];
  const most = Math.floor(MOST_EXPORTED_CELLS / Math.max(1, columns.length));
  for (let index = 0; index < Math.min(spot.count, most); ++index) {
    const element = elementOf(spot, index) as Spot;
    const fields = element.isArray || columns[0] === null ? [] : fieldsOf(element.place);
    const valueAt = (column: Step | null): Spot | null => {
      if (column === null) return element;
      if (typeof column === "number") return elementOf(element, column);
      return fields.find(({ name }) => name === column)?.spot ?? null;
    };
    const texts = columns.map((column) => {
      const inner = valueAt(column);
      return inner === null ? "" : exactText(segment, inner, serial, steps);
    });
    yield [index, ...texts];
  }
}
