/**
 * The server's segments, asked for once a second: folded by path, sorted by any column. Only the
 * rows in view are in the document.
 */
import type { Client } from "../src/client/client.js";
import { segmentAddress } from "./address.js";
import { copyText, groupText, h, setText } from "./dom.js";
import { saveCsv } from "./export.js";
import { heightLeft } from "./figure.js";
import { confirmRemoval } from "./removal.js";
import { aboutText, columns, exported, listed, Rates, type Listed } from "./segment_columns.js";
import type { Status } from "./status.js";
import { depthFor, filtered, flatRows, parentOf, treeRows, type Order, type Row } from "./tree.js";
import { VirtualRows } from "./virtual_rows.js";

/** Folders are open at first as far as there are no more rows than this. */
const MOST_OPEN = 60;
const LEAST_HEIGHT = 240;
/** As viewer.css has it. */
const [ROW_HEIGHT, TALL_ROW_HEIGHT, NARROW_PIXELS] = [34, 58, 760];

export interface ListPage {
  readonly element: HTMLElement;
  update(): Promise<void>;
  /** The keys work on the row that they worked on last. */
  focus(): void;
}

export function segmentsPage(client: Client, status: () => Status | null): ListPage {
  return new SegmentList(client, status);
}

class SegmentList implements ListPage {
  readonly element: HTMLElement;
  private readonly rates = new Rates();
  private readonly head = h("div", { role: "row", class: "row" });
  private readonly body = h("div", { role: "rowgroup", class: "rows" });
  private readonly view = h("div", { class: "view", role: "none" }, this.body);
  private readonly count = h("span", { class: "soft", role: "status" });
  private readonly filter = h("input", {
    type: "search",
    placeholder: "Filter ( / )",
    "aria-label": "Filter segments",
    id: "filter",
    oninput: () => this.arrange(),
    onkeydown: (event: KeyboardEvent) => this.filterKey(event),
  });
  private readonly isTree = h("input", {
    type: "checkbox",
    checked: true,
    onchange: () => this.arrange(),
  });
  private readonly grid = h("div", {
    role: "treegrid",
    class: "grid",
    "aria-label": "Segments",
    onkeydown: (event: KeyboardEvent) => this.key(event),
    onfocusin: (event: FocusEvent) => this.focused(event.target as HTMLElement),
  });
  private readonly empty = h("p", { class: "empty", hidden: true });
  private readonly rows: VirtualRows<HTMLElement>;
  private all: Listed[] = [];
  private shown: Row<Listed>[] = [];
  /** Folders above are open, unless people closed them. */
  private depth = 0;
  private order: Order = { column: "", isDown: false };
  /** Folders that people opened or closed. */
  private readonly opened = new Map<string, boolean>();

  constructor(
    private readonly client: Client,
    private readonly status: () => Status | null,
  ) {
    const height = () => (innerWidth > NARROW_PIXELS ? ROW_HEIGHT : TALL_ROW_HEIGHT);
    this.rows = new VirtualRows(this.view, this.body, height, {
      count: () => this.shown.length,
      key: (index) => `${this.shown[index]?.kind}${this.shown[index]?.path}`,
      make: (index) => this.makeRow(this.shown[index] as Row<Listed>),
      update: (element, index) => this.updateRow(element, index),
    });
    const csv = () => saveCsv(["segments"], exported(this.all));
    const controls = h(
      "div",
      { class: "controls" },
      this.filter,
      h("label", {}, this.isTree, "folders"),
      h("button", { type: "button", title: "Save the list", onclick: csv }, "CSV"),
      this.count,
    );
    this.makeHead();
    this.grid.append(h("div", { role: "rowgroup", class: "head-rows" }, this.head), this.view);
    this.element = h("section", {}, h("h2", {}, "Segments"), controls, this.grid, this.empty);
    addEventListener("resize", () => this.show());
  }

  focus(): void {
    this.rows.activate(this.rows.index)?.focus();
  }

  async update(): Promise<void> {
    const list = await this.client.list();
    const isOther = list.length !== this.all.length;
    this.rates.look(list, performance.now());
    const told = new Map(this.status()?.segments.map((each) => [each.path, each]));
    this.all = list.map((info) => listed(info, told.get(info.path), this.rates.of(info.path)));
    if (isOther) this.depth = depthFor(this.all, MOST_OPEN);
    this.arrange();
  }

  /** Which rows there are, and in which order. */
  private arrange(): void {
    const found = filtered(this.all, this.filter.value);
    const isOpen = (path: string, depth: number) =>
      this.filter.value !== "" || (this.opened.get(path) ?? depth < this.depth);
    this.shown = this.isTree.checked
      ? treeRows(found, this.order, isOpen)
      : flatRows(found, this.order);
    const all = `${groupText(this.all.length)} segment${this.all.length === 1 ? "" : "s"}`;
    const part = `${groupText(found.length)} of ${all}`;
    setText(this.count, found.length === this.all.length ? all : part);
    const isEmpty = found.length === 0;
    this.grid.hidden = isEmpty;
    this.empty.hidden = !isEmpty;
    if (isEmpty) setText(this.empty, emptyText(this.all.length, this.filter.value));
    this.grid.classList.toggle(
      "has-folders",
      this.shown.some(({ kind }) => kind === "folder"),
    );
    this.grid.setAttribute("aria-rowcount", String(this.shown.length + 1));
    this.show();
  }

  private show(): void {
    if (this.grid.hidden || !this.element.isConnected) return;
    this.view.style.maxHeight = `${heightLeft(this.view, LEAST_HEIGHT)}px`;
    this.rows.show();
    // The head leaves room for a scroll bar only where there is one.
    this.grid.classList.toggle("scrolls", this.view.scrollHeight > this.view.clientHeight);
  }

  // ---- the head ----

  private makeHead(): void {
    const names = [{ id: "", name: "Segment", isNumber: false }, ...columns];
    this.head.replaceChildren(
      ...names.map(({ id, name, isNumber }) => {
        const onclick = () => this.sort(id, isNumber);
        const kind = `${isNumber ? "number" : ""} ${id || "path"}`;
        return h(
          "div",
          { role: "columnheader", class: kind, "data-column": id },
          h("button", { type: "button", title: `Sort by ${name}`, onclick }, name),
        );
      }),
      h("div", { role: "columnheader", class: "acts" }, h("span", { class: "unseen" }, "Actions")),
    );
    this.showOrder();
  }

  /** Numbers begin with the largest; the same column again turns the order round. */
  private sort(column: string, isNumber: boolean): void {
    const isDown = this.order.column === column ? !this.order.isDown : isNumber;
    this.order = { column, isDown };
    this.showOrder();
    this.arrange();
  }

  private showOrder(): void {
    for (const head of this.head.children) {
      const isIt = (head as HTMLElement).dataset["column"] === this.order.column;
      const direction = this.order.isDown ? "descending" : "ascending";
      if (isIt) head.setAttribute("aria-sort", direction);
      else head.removeAttribute("aria-sort");
    }
  }

  // ---- rows ----

  private makeRow(row: Row<Listed>): HTMLElement {
    const isFolder = row.kind === "folder";
    const name = isFolder
      ? h("button", { class: "fold", type: "button", tabIndex: -1 })
      : h("a", { href: segmentAddress(row.path), tabIndex: -1, title: aboutText(row.leaf) });
    if (isFolder) name.onclick = () => this.fold(row.path);
    const cells = columns.map(({ id, name: head, isNumber }) =>
      h("div", { role: "gridcell", class: `${isNumber ? "number" : ""} ${id}`, "data-head": head }),
    );
    const acts = h("div", { role: "gridcell", class: "acts" });
    if (!isFolder) acts.append(...this.actions(row.path));
    return h(
      "div",
      { role: "row", class: `row ${row.kind}`, tabIndex: -1 },
      h("div", { role: "gridcell", class: "path" }, name),
      ...cells,
      acts,
    );
  }

  private actions(path: string): HTMLElement[] {
    const act = (text: string, title: string, onclick: () => void) =>
      h("button", { class: "copy", type: "button", tabIndex: -1, title, onclick }, text);
    return [
      act("Copy URL", "Copy the URL ( c )", () => void copyText(this.client.serverUrl + path)),
      act("Remove…", "Remove the segment ( Delete )", () => this.remove(path)),
    ];
  }

  private updateRow(element: HTMLElement, index: number): void {
    const row = this.shown[index] as Row<Listed>;
    element.tabIndex = index === this.rows.index ? 0 : -1;
    element.setAttribute("aria-rowindex", String(index + 2));
    element.setAttribute("aria-level", String(row.depth + 1));
    element.style.setProperty("--depth", String(row.depth));
    const name = element.firstElementChild?.firstElementChild as HTMLElement;
    if (row.kind === "folder") element.setAttribute("aria-expanded", String(row.isOpen));
    setText(name, row.kind === "folder" ? `${row.name} (${groupText(row.count)})` : row.name);
    columns.forEach((column, i) => {
      const cell = element.children[i + 1] as HTMLElement;
      const isLeaf = row.kind === "leaf";
      const text = isLeaf ? column.text(row.leaf) : column.sum(row.values);
      setText(cell, text);
      const title =
        (isLeaf ? column.title?.(row.leaf) : undefined) ?? (text.length > 18 ? text : "");
      if (cell.title !== title) cell.title = title;
    });
  }

  private fold(path: string): void {
    const row = this.shown.find((each) => each.kind === "folder" && each.path === path);
    if (row?.kind !== "folder") return;
    this.opened.set(path, !row.isOpen);
    this.arrange();
  }

  private remove(path: string): void {
    confirmRemoval(this.client, path, () => void this.update());
  }

  // ---- keys ----

  private focused(target: HTMLElement): void {
    const element = target.closest<HTMLElement>(".rows > .row");
    const index = Number(element?.getAttribute("aria-rowindex") ?? 0) - 2;
    if (index < 0 || index === this.rows.index) return;
    this.rows.note(index);
    this.rows.show();
  }

  private filterKey(event: KeyboardEvent): void {
    const first = this.shown.findIndex(({ kind }) => kind === "leaf");
    if (event.key === "ArrowDown") this.rows.activate(0)?.focus();
    else if (event.key === "Enter" && first >= 0) this.open(this.shown[first] as Row<Listed>);
    else if (event.key === "Escape" && this.filter.value !== "") {
      this.filter.value = "";
      this.arrange();
    } else return;
    event.preventDefault();
  }

  private open(row: Row<Listed>): void {
    if (row.kind === "folder") this.fold(row.path);
    else location.hash = segmentAddress(row.path);
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (!target.classList.contains("row") || event.ctrlKey || event.metaKey || event.altKey) return;
    const { index } = this.rows;
    const row = this.shown[index];
    if (row === undefined) return;
    const to = this.rows.target(event.key) ?? this.across(event.key, index, row);
    if (to !== null) this.rows.activate(to)?.focus();
    else if (event.key === "Enter" || (event.key === " " && row.kind === "folder")) this.open(row);
    else if (event.key === "Delete" && row.kind === "leaf") this.remove(row.path);
    else if (event.key === "c" && row.kind === "leaf")
      void copyText(this.client.serverUrl + row.path);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Right opens a folder, then leads into it; left closes it, then leads out. */
  private across(key: string, index: number, row: Row<Listed>): number | null {
    const isFolder = row.kind === "folder";
    if (key === "ArrowRight" && isFolder) {
      if (row.isOpen) return index + 1;
      this.fold(row.path);
      return index;
    }
    if (key !== "ArrowLeft") return null;
    if (isFolder && row.isOpen) {
      this.fold(row.path);
      return index;
    }
    return parentOf(this.shown, index);
  }
}

function emptyText(all: number, filter: string): string {
  return all > 0
    ? `No segment's path has “${filter}” in it.`
    : "There is no segment yet. A program makes one by opening it: " +
        'IW_open_segment("127.0.0.1/first").';
}
