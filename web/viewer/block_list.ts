/** The blocks of a segment: named ones first, or those that changed last. Any number of them. */
import type { Segment } from "../src/client/segment.js";
import type { CopiedBlock } from "../src/diff/copy.js";
import { groupText, h, setText } from "./dom.js";
import { typeText } from "./spots.js";
import { VirtualRows } from "./virtual_rows.js";

const ROW_HEIGHT = 30;
/** From so many blocks on, people look for one. */
const FILTERED_FROM = 12;
/** More blocks than this are not put in order for every version, but at most so often. */
const [MOST_ORDERED, LEAST_PAUSE_MS] = [500, 250];
const orders = { name: "by name", changed: "changed last" };

export class BlockList {
  readonly element: HTMLElement;
  private readonly body = h("ul", {
    onkeydown: (event: KeyboardEvent) => this.key(event),
    onfocusin: (event: FocusEvent) => this.focused(event.target as HTMLElement),
  });
  private readonly view = h("nav", { "aria-label": "Blocks", class: "view" }, this.body);
  readonly count = h("span", { class: "soft" });
  private readonly filter = h("input", {
    type: "search",
    id: "filter",
    placeholder: "Filter ( / )",
    "aria-label": "Filter blocks",
    oninput: () => this.arrange(),
    onkeydown: (event: KeyboardEvent) => {
      if (event.key !== "ArrowDown" && event.key !== "Enter") return;
      event.preventDefault();
      const first = this.rows.activate(0)?.querySelector("a");
      if (event.key === "Enter") first?.click();
      else first?.focus();
    },
  });
  private readonly order = h(
    "select",
    { "aria-label": "Order of blocks", onchange: () => this.arrange() },
    ...Object.entries(orders).map(([value, name]) => h("option", { value }, name)),
  );
  private readonly rows: VirtualRows<HTMLLIElement>;
  private shown: CopiedBlock[] = [];
  private chosen: number | null = null;
  private listed = "";
  private isDue = false;

  constructor(
    private readonly segment: Segment,
    private readonly addressOf: (serial: number) => string,
  ) {
    this.rows = new VirtualRows(this.view, this.body, () => ROW_HEIGHT, {
      count: () => this.shown.length,
      key: (index) => String(this.shown[index]?.serial),
      make: () => h("li", {}, h("a", { tabIndex: -1 }, h("span"), h("span", { class: "soft" }))),
      update: (element, index) => this.updateRow(element, index),
    });
    const controls = h("div", { class: "controls" }, this.filter, this.order);
    this.element = h("div", { class: "block-list" }, controls, this.view);
  }

  /** A version came, or another block is looked at. */
  update(chosen: number | null): void {
    const isNew = chosen !== this.chosen;
    this.chosen = chosen;
    const { size } = this.segment.copy.blocks;
    this.filter.hidden = size < FILTERED_FROM;
    this.order.hidden = size < 2;
    const listed = this.signature();
    if (listed !== this.listed) this.arrangeSoon();
    else this.rows.show();
    this.listed = listed;
    const index = isNew ? this.shown.findIndex(({ serial }) => serial === chosen) : -1;
    if (index >= 0) this.rows.activate(index);
  }

  /** Differs when another order may be due. Serials only grow, so other blocks have another sum. */
  private signature(): string {
    const { blocks } = this.segment.copy;
    let sum = 0;
    for (const serial of blocks.keys()) sum += serial;
    const version = this.order.value === "changed" ? this.segment.version : "";
    return `${blocks.size} ${sum} ${version}`;
  }

  private arrangeSoon(): void {
    if (this.segment.copy.blocks.size <= MOST_ORDERED || this.shown.length === 0)
      return this.arrange();
    if (this.isDue) return;
    this.isDue = true;
    setTimeout(() => {
      this.isDue = false;
      this.arrange();
    }, LEAST_PAUSE_MS);
  }

  private arrange(): void {
    const text = this.filter.value.toLowerCase();
    const all = [...this.segment.copy.blocks.values()];
    this.shown = all.filter((block) => text === "" || labelOf(block).toLowerCase().includes(text));
    if (this.order.value === "changed") {
      this.shown.sort((a, b) => Number(b.changedIn - a.changedIn) || a.serial - b.serial);
    } else this.shown.sort(byName);
    const isAll = this.shown.length === all.length;
    setText(
      this.count,
      groupText(this.shown.length) + (isAll ? "" : ` of ${groupText(all.length)}`),
    );
    this.rows.show();
  }

  private updateRow(element: HTMLLIElement, index: number): void {
    const block = this.shown[index] as CopiedBlock;
    const link = element.firstElementChild as HTMLAnchorElement;
    const address = this.addressOf(block.serial);
    if (link.getAttribute("href") !== address) link.setAttribute("href", address);
    link.tabIndex = index === this.rows.index ? 0 : -1;
    if (block.serial === this.chosen) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    element.dataset["index"] = String(index);
    const [name, about] = [link.children[0] as Element, link.children[1] as Element];
    setText(name, labelOf(block));
    const count = block.count === 1 ? "" : ` × ${groupText(block.count)}`;
    const type = typeText(block.type, this.segment) + count;
    const changed = block.changedIn === 0n ? "not since opened" : `version ${block.changedIn}`;
    setText(about, this.order.value === "changed" ? changed : type);
    const title = `${labelOf(block)}: ${type}; changed: ${changed}`;
    if (link.title !== title) link.title = title;
  }

  private focused(target: HTMLElement): void {
    const index = Number(target.closest("li")?.dataset["index"] ?? -1);
    if (index < 0 || index === this.rows.index) return;
    this.rows.note(index);
    this.rows.show();
  }

  private key(event: KeyboardEvent): void {
    const to = this.rows.target(event.key);
    if (to === null) return;
    event.preventDefault();
    this.rows.activate(to)?.querySelector("a")?.focus();
  }
}

const names = new Intl.Collator("en", { numeric: true });

/** Those without a name stand behind, by serial. */
function byName(a: CopiedBlock, b: CopiedBlock): number {
  if (a.name === "" || b.name === "")
    return Number(a.name === "") - Number(b.name === "") || a.serial - b.serial;
  return names.compare(a.name, b.name);
}

function labelOf({ name, serial }: CopiedBlock): string {
  return name || `#${serial}`;
}
