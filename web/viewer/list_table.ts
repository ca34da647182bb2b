/** A linked list as a table: a row a node, a column a field. */
import type { Segment } from "../src/client/segment.js";
import { Cell, exactText, type Ways } from "./cells.js";
import { chainFrom, waysAlong, wayText, type Chain, type Node, type Way } from "./chain.js";
import { groupText, h, setText } from "./dom.js";
import { saveCsv } from "./export.js";
import { fieldsOf, pathText, resolve, type Spot } from "./spots.js";
import type { Table } from "./tables.js";

const PAGE_ROWS = 50;
const MOST_NODES = 20_000;

/** `along` is a way's text; another is chosen in the table. */
export function listTable(segment: Segment, start: Node, ways: Ways, along: string): Table {
  return new ListTable(segment, start, ways, along);
}

class ListTable implements Table {
  readonly element: HTMLElement;
  private readonly table = h("table", { class: "array" });
  private readonly shown = h("span", { class: "soft" });
  private readonly choice = h("select", {
    "aria-label": "Pointer to follow",
    onchange: () => this.choose(),
  });
  private chain: Chain = { nodes: [], end: "NULL" };
  private cells: { cell: Cell; node: Node; field: string }[] = [];
  private first = 0;
  private built = "";

  constructor(
    private readonly segment: Segment,
    private readonly start: Node,
    private readonly ways: Ways,
    private readonly along: string,
  ) {
    const turn = (by: number) => () => {
      this.first = Math.max(0, Math.min(this.first + by, this.chain.nodes.length - 1));
      this.refresh();
    };
    const pages = h(
      "div",
      { class: "controls" },
      h("label", {}, "follows", this.choice),
      h("button", { type: "button", title: "Rows before", onclick: turn(-PAGE_ROWS) }, "Previous"),
      h("button", { type: "button", title: "Rows behind", onclick: turn(PAGE_ROWS) }, "Next"),
      this.shown,
      h(
        "button",
        { type: "button", title: "Save all nodes", onclick: () => void this.save() },
        "CSV",
      ),
    );
    this.element = h("div", {}, pages, h("div", { class: "scroll" }, this.table));
  }

  private choose(): void {
    const { serial, steps } = this.start;
    location.hash = this.ways.address(serial, steps, `list:${this.choice.value}`);
  }

  private refresh(): void {
    void this.segment.read(() => {
      const spot = resolve(this.segment, this.start.serial, this.start.steps);
      if (spot !== null) this.update(spot);
    });
  }

  private way(spot: Spot): Way | null {
    const all = waysAlong(spot);
    const texts = all.map(wayText);
    if (texts.join() !== [...this.choice.options].map(({ value }) => value).join())
      this.choice.replaceChildren(...texts.map((text) => h("option", {}, text)));
    const way = all.find((each) => wayText(each) === this.along) ?? all[0] ?? null;
    if (way !== null) this.choice.value = wayText(way);
    return way;
  }

  update(spot: Spot): void {
    const way = this.way(spot);
    if (way === null) return;
    this.chain = chainFrom(this.segment, this.start, way, MOST_NODES);
    const { nodes, end } = this.chain;
    this.first = Math.min(this.first, Math.max(0, nodes.length - 1));
    const page = nodes.slice(this.first, this.first + PAGE_ROWS);
    const wanted = JSON.stringify([this.first, page]);
    if (wanted !== this.built) this.build(page);
    this.built = wanted;
    for (const { cell, node, field } of this.cells) {
      const inner = resolve(this.segment, node.serial, [...node.steps, field]);
      if (inner !== null) cell.update(inner);
    }
    const count = `${groupText(nodes.length)} node${nodes.length === 1 ? "" : "s"}`;
    const range =
      nodes.length <= PAGE_ROWS ? "" : `${this.first}–${this.first + page.length - 1} of `;
    const how = end === "more" ? "and more" : `ends at ${end}`;
    setText(this.shown, `${range}${count}, ${how}`);
  }

  private fieldsOfNode({ serial, steps }: Node): string[] {
    const spot = resolve(this.segment, serial, steps);
    return spot === null ? [] : fieldsOf(spot.place).map(({ name }) => name);
  }

  private build(page: readonly Node[]): void {
    const { segment, ways } = this;
    const fields = page[0] === undefined ? [] : this.fieldsOfNode(page[0]);
    this.cells = [];
    const rows = page.map((node, i) => {
      const go = () => ways.go(node.serial, node.steps);
      const open = h("button", { class: "link", type: "button", onclick: go }, this.nameOf(node));
      const row = h(
        "tr",
        {},
        h("td", { class: "number soft" }, String(this.first + i)),
        h("th", { scope: "row" }, open),
      );
      for (const field of fields) {
        const cell = new Cell(segment, node.serial, [...node.steps, field], ways, field);
        this.cells.push({ cell, node, field });
        row.append(cell.element);
      }
      return row;
    });
    const heads = ["#", "Node", ...fields].map((name, i) =>
      h("th", { scope: "col", class: i === 0 ? "number" : "" }, name),
    );
    this.table.replaceChildren(h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows));
  }

  private nameOf({ serial, steps }: Node): string {
    const name = this.segment.copy.blocks.get(serial)?.name || `#${serial}`;
    return pathText([name, ...steps]);
  }

  private async save(): Promise<void> {
    const { segment, chain, start } = this;
    const first = chain.nodes[0];
    const fields = first === undefined ? [] : this.fieldsOfNode(first);
    const rows = await segment.read(() =>
      chain.nodes.map((node, i) => [
        i,
        this.nameOf(node),
        ...fields.map((field) => {
          const spot = resolve(segment, node.serial, [...node.steps, field]);
          return spot === null ? "" : exactText(segment, spot, node.serial, node.steps);
        }),
      ]),
    );
    const block = segment.copy.blocks.get(start.serial)?.name || String(start.serial);
    saveCsv([segment.path, block, "list"], [["#", "node", ...fields], ...rows]);
  }
}
