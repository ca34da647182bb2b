/**
 * One segment: its blocks and types, and the value that is looked at, live. Versions are taken in
 * as the browser paints: however many come, one is shown a frame, and none wait.
 */
import type { Client } from "../src/client/client.js";
import { mipOfPlace } from "../src/client/place.js";
import type { Segment } from "../src/client/segment.js";
import { TypeKind } from "../src/wire/protocol/descriptor.js";
import { addressOf, isSamePin, pinsText, type Pin, type Target } from "./address.js";
import { copyButton, h, setText } from "./dom.js";
import { passing } from "./editing.js";
import type { Figure } from "./figure.js";
import { graph } from "./graph.js";
import { heatMap } from "./heat_map.js";
import { plot } from "./plot.js";
import {
  findBlock,
  kindOf,
  numbersOf,
  resolve,
  shapeOf,
  spotTypeText,
  typeText,
  type Spot,
  type Step,
} from "./spots.js";
import { readerText, type Status } from "./status.js";
import { SteeringPanel } from "./steering.js";
import { arrayTable, recordTable, type Table, type Ways } from "./tables.js";

export interface Page {
  readonly element: HTMLElement;
  readonly segment: Segment;
  /** Follows the segment until the page is closed; fails when that is not possible any more. */
  run(): Promise<void>;
  show(target: Target): void;
  toggle(): void;
  /** What the server says beside the protocol. */
  tell(status: Status | null): void;
  close(): void;
}

const MOST_MAP_CELLS = 4 << 20;
const MOST_LISTED = 2000;
/** As viewer.css has it: there the list of blocks is folded away. */
const NARROW_PIXELS = 760;

/** Until the browser is about to paint; hidden pages are not painted, and look once a second. */
function nextFrame(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, 1000);
    const frame = requestAnimationFrame(done);
    function done() {
      clearTimeout(timer);
      cancelAnimationFrame(frame);
      resolve();
    }
  });
}

function viewsOf(spot: Spot): string[] {
  const shape = shapeOf(spot);
  const isMap =
    shape !== null && shape.length >= 2 && shape.reduce((a, b) => a * b) <= MOST_MAP_CELLS;
  return [
    ...(isMap && shape.length === 2 ? ["map"] : []),
    ...(shape?.length === 1 && spot.count > 1 ? ["plot"] : []),
    "table",
    "graph",
  ];
}

const viewNames: Record<string, string> = {
  map: "Heat map",
  plot: "Plot",
  table: "Table",
  graph: "Graph",
};

export async function segmentPage(client: Client, first: Target): Promise<Page> {
  return new LivePage(await client.open(first.path, { create: false }), first);
}

class LivePage implements Page {
  readonly element: HTMLElement;
  private readonly list = h("ul");
  private readonly figures = h("p", { class: "figures" });
  private readonly types = h("div");
  private readonly readers = h("ul", { class: "readers" });
  private readonly value = h("section", { id: "value" });
  private readonly panel: SteeringPanel;
  private isClosed = false;
  private target: Target;
  private listed = "";
  private typesShown = 0;
  private updated: (spot: Spot) => void = () => undefined;
  private figure: Figure | null = null;
  private readonly head = h("div", { class: "head" });
  private headed = "";
  private built = "";

  constructor(
    readonly segment: Segment,
    first: Target,
  ) {
    this.target = first;
    const mip = copyButton(() => segment.url, "Copy URL");
    this.panel = new SteeringPanel(segment, {
      addressOf: ({ block, steps }) => this.address(block, steps, null),
      unpin: (pin) => this.setPins(this.pinsBut(pin)),
      setEnds: (pin, ends) =>
        this.setPins(
          this.target.pins.map((each) => (isSamePin(each, pin) ? { ...each, ends } : each)),
        ),
    });
    const blocks = h(
      "details",
      { class: "blocks", open: innerWidth > NARROW_PIXELS },
      h("summary", {}, "Blocks"),
      h("nav", { "aria-label": "Blocks" }, this.list),
      h("details", {}, h("summary", {}, "Types"), this.types),
      h("h3", {}, "Readers"),
      this.readers,
      this.figures,
    );
    this.element = h(
      "section",
      {},
      h("h2", {}, first.path, " ", mip),
      h("div", { class: "layout" }, blocks, h("div", {}, this.panel.element, this.value)),
    );
    this.list.addEventListener("keydown", (event) => moveBetween(event, this.list));
  }

  async run(): Promise<void> {
    for await (const version of this.segment) {
      await nextFrame();
      if (this.isClosed) return;
      await this.segment
        .read(() => this.update(this.segment.version || version), { timeoutMs: 2000 })
        .catch(passing);
    }
  }

  show(target: Target): void {
    this.target = target;
    void this.segment
      .read(() => this.update(this.segment.version), { timeoutMs: 2000 })
      .catch(passing);
  }

  toggle(): void {
    this.figure?.toggle();
  }

  tell(status: Status | null): void {
    const readers = status?.segments.find(({ path }) => path === this.target.path)?.readers ?? [];
    this.readers.replaceChildren(
      ...readers.map((reader) =>
        h(
          "li",
          {},
          h("span", {}, reader.client || "(no name)"),
          h("span", { class: "soft" }, readerText(reader)),
        ),
      ),
    );
  }

  close(): void {
    this.isClosed = true;
    void this.segment.close();
  }

  /** The address of another value of the segment, with the same pins. */
  private address(block: string | number, steps: readonly Step[], view: string | null): string {
    return addressOf({ ...this.target, block: String(block), steps, view });
  }

  private readonly ways: Ways = {
    go: (serial, steps) => {
      location.hash = this.address(serial, steps, null);
    },
    pin: (serial, steps) => {
      const name = this.segment.copy.blocks.get(serial)?.name ?? "";
      const pin = { block: name || String(serial), steps, ends: null };
      this.setPins([...this.pinsBut(pin), pin]);
    },
  };

  private pinsBut(pin: Pin): Pin[] {
    return this.target.pins.filter((each) => !isSamePin(each, pin));
  }

  private setPins(pins: readonly Pin[]): void {
    // No new place to come back to: what is looked at is the same.
    history.replaceState(null, "", addressOf({ ...this.target, pins }));
    this.show({ ...this.target, pins });
  }

  /** The serial of the block that is looked at. */
  private get chosen(): number | null {
    const { block } = this.target;
    if (block !== null) return findBlock(this.segment, block)?.serial ?? null;
    return firstBlock(this.segment);
  }

  private update(version: number): void {
    this.showFigures(version);
    this.listBlocks();
    this.listTypes();
    this.panel.update(this.target.pins);
    const { chosen } = this;
    const spot = chosen === null ? null : resolve(this.segment, chosen, this.target.steps);
    if (chosen === null || spot === null) {
      const { block } = this.target;
      const why =
        chosen !== null
          ? "There is no such value in the block."
          : block === null
            ? "The segment has no block yet."
            : `Block ${block} is not there (any more).`;
      this.value.replaceChildren(h("p", { class: "empty" }, why));
      this.built = "";
      return;
    }
    const views = viewsOf(spot);
    const view = views.includes(this.target.view ?? "")
      ? (this.target.view as string)
      : (views[0] as string);
    this.buildHead(chosen, spot, views, view);
    const wanted = JSON.stringify([chosen, this.target.steps, view, spotTypeText(spot)]);
    if (wanted !== this.built)
      this.value.replaceChildren(this.head, this.content(chosen, spot, view));
    this.built = wanted;
    this.updated(spot);
  }

  private showFigures(version: number): void {
    const { copy, stats } = this.segment;
    const texts: [string, string][] = [
      ["version", String(version)],
      ["blocks", String(copy.blocks.size)],
      ["types", String(copy.types.all.length)],
      ["updates received", String(stats.diffs)],
    ];
    if (this.figures.childElementCount === 0)
      this.figures.append(...texts.map(([name]) => h("span", {}, `${name} `, h("b"))));
    texts.forEach(([, text], i) =>
      setText(this.figures.children[i]?.lastElementChild as Element, text),
    );
  }

  private listBlocks(): void {
    const { blocks } = this.segment.copy;
    const { chosen } = this;
    const shown = [...blocks.values()]
      .filter(({ name }, i) => name !== "" || i < MOST_LISTED)
      .sort((a, b) => Number(a.name === "") - Number(b.name === ""));
    const names = shown.map(({ serial, name }) => `${serial}${name}`).join();
    const listed = `${chosen}:${pinsText(this.target.pins)}:${names}`;
    if (listed === this.listed) return;
    this.listed = listed;
    this.list.replaceChildren(
      ...shown.map((block) => {
        const href = this.address(block.serial, [], null);
        const count = block.count === 1 ? "" : ` × ${block.count}`;
        return h(
          "li",
          {},
          h(
            "a",
            { href, "aria-current": block.serial === chosen ? "true" : null },
            h("span", {}, block.name || `#${block.serial}`),
            h("span", { class: "soft" }, typeText(block.type, this.segment) + count),
          ),
        );
      }),
    );
  }

  private listTypes(): void {
    const { all } = this.segment.copy.types;
    if (all.length === this.typesShown) return;
    this.typesShown = all.length;
    this.types.replaceChildren(
      ...all
        .filter(({ name }) => name !== "")
        .map((type) => {
          const { body } = type.descriptor;
          const lines = type.fields.map(
            ({ name, type: field }) => `  ${typeText(field, this.segment)} ${name};`,
          );
          if ("members" in body)
            lines.push(...body.members.map(({ name, value }) => `  ${name} = ${value},`));
          for (const arm of new Set(type.union?.arms.values() ?? []))
            if (arm !== null) lines.push(`  ${typeText(arm.type, this.segment)} ${arm.name};`);
          const kind =
            { [TypeKind.ENUM]: "enum", [TypeKind.RECORD]: "struct", [TypeKind.UNION]: "union" }[
              kindOf(type) as number
            ] ?? "typedef";
          const text =
            lines.length === 0
              ? `${kind} ${type.name}`
              : `${kind} ${type.name} {\n${lines.join("\n")}\n}`;
          return h("pre", { class: "mono" }, text);
        }),
    );
  }

  /** The trail from the block to the value, and the ways to look at it. */
  private buildHead(serial: number, spot: Spot, views: string[], view: string): void {
    const wanted = `${this.address(serial, this.target.steps, view)} ${spotTypeText(spot)}`;
    if (wanted === this.headed) return;
    this.headed = wanted;
    const { steps } = this.target;
    const block = this.segment.copy.blocks.get(serial);
    const at = (length: number) => this.address(serial, steps.slice(0, length), null);
    const trail = h("h2", {}, h("a", { href: at(0) }, block?.name || `#${serial}`));
    steps.forEach((step, i) =>
      trail.append(
        " ",
        h("a", { href: at(i + 1) }, typeof step === "number" ? `[${step}]` : `.${step}`),
      ),
    );
    const mip = copyButton(() => {
      const now = resolve(this.segment, serial, steps);
      return mipOfPlace((now ?? spot).place);
    });
    const tabs = h(
      "div",
      { class: "tabs" },
      ...views.map((name) =>
        h(
          "a",
          {
            href: this.address(serial, steps, name),
            "aria-current": name === view ? "true" : null,
          },
          viewNames[name] as string,
        ),
      ),
    );
    const about = h("span", { class: "soft mono" }, spotTypeText(spot), " ", mip);
    this.head.replaceChildren(trail, about, tabs);
  }

  private content(serial: number, spot: Spot, view: string): HTMLElement {
    const { steps } = this.target;
    this.figure = null;
    if (view === "graph") {
      const holder = h("div", { class: "scroll" });
      let drawn = -1;
      this.updated = () => {
        if (drawn === this.segment.version) return;
        drawn = this.segment.version;
        holder.replaceChildren(graph(this.segment, serial, this.ways.go));
      };
      return holder;
    }
    if (view === "table") {
      const table: Table = spot.isArray
        ? arrayTable(this.segment, serial, steps, this.ways)
        : recordTable(this.segment, serial, steps, this.ways);
      this.updated = (now) => table.update(now);
      return table.element;
    }
    const [rows = 1, columns = 1] = shapeOf(spot) ?? [];
    const figure =
      view === "map"
        ? heatMap(rows, columns, (row, column) => this.ways.go(serial, [...steps, row, column]))
        : plot(rows);
    this.figure = figure;
    this.updated = (now) => figure.update(this.segment.version, numbersOf(now));
    return figure.element;
  }
}

function firstBlock(segment: Segment): number | null {
  const [named] = segment.copy.names.values();
  const [any] = segment.copy.blocks.keys();
  return named?.serial ?? any ?? null;
}

function moveBetween(event: KeyboardEvent, list: HTMLElement): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const links = [...list.querySelectorAll("a")];
  const next = links[links.indexOf(document.activeElement as HTMLAnchorElement) + step];
  event.preventDefault();
  next?.focus();
}
