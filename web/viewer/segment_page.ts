/**
 * One segment: its blocks and types, and the value that is looked at, live. Versions are taken in
 * as the browser paints: however many come, one is shown a frame, and none wait.
 */
import { Coherence, type Client } from "../src/client/client.js";
import { mipOfPlace } from "../src/client/place.js";
import type { Segment } from "../src/client/segment.js";
import { read } from "../src/client/values.js";
import { addressOf, isSamePin, type Pin, type Target } from "./address.js";
import { BlockList } from "./block_list.js";
import type { Ways } from "./cells.js";
import { waysAlong } from "./chain.js";
import { ClientList } from "./clients.js";
import { showDialog } from "./dialog.js";
import { copyButton, groupText, h, segmentTitle, setText } from "./dom.js";
import { isNumber, passing } from "./editing.js";
import type { Figure, Source } from "./figure.js";
import { graph } from "./graph.js";
import { heatMap } from "./heat_map.js";
import { listTable } from "./list_table.js";
import { plot } from "./plot.js";
import { confirmRemoval } from "./removal.js";
import {
  findBlock,
  numbersOf,
  pathText,
  resolve,
  shapeOf,
  spotTypeText,
  type Spot,
  type Step,
} from "./spots.js";
import type { Status } from "./status.js";
import { SteeringPanel } from "./steering.js";
import { arrayTable, recordTable } from "./tables.js";
import { trendView } from "./trend_view.js";
import { Trends } from "./trends.js";
import { declarationOf } from "./type_text.js";

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

function isOneNumber({ place, isArray }: Spot): boolean {
  return !isArray && isNumber(place.type);
}

function viewsOf(spot: Spot): string[] {
  const shape = shapeOf(spot);
  const isMap =
    shape !== null && shape.length >= 2 && shape.reduce((a, b) => a * b) <= MOST_MAP_CELLS;
  return [
    ...(isMap && shape.length === 2 ? ["map"] : []),
    ...(shape?.length === 1 && spot.count > 1 ? ["plot"] : []),
    "table",
    ...(isOneNumber(spot) ? ["history"] : []),
    ...(waysAlong(spot).length > 0 ? ["list"] : []),
    "graph",
  ];
}

const viewNames: Record<string, string> = {
  map: "Heat map",
  plot: "Plot",
  table: "Table",
  history: "History",
  list: "List",
  graph: "Graph",
};

export async function segmentPage(client: Client, first: Target): Promise<Page> {
  return new LivePage(client, await client.open(first.path, { create: false }), first);
}

class LivePage implements Page {
  readonly element: HTMLElement;
  private readonly blocks: BlockList;
  private readonly trends = new Trends();
  private readonly figures = h("p", { class: "figures" });
  private readonly clients = new ClientList();
  private readonly value = h("section", { id: "value" });
  private readonly panel: SteeringPanel;
  private isClosed = false;
  private target: Target;
  private updated: (spot: Spot) => void = () => undefined;
  private figure: Figure | null = null;
  private readonly head = h("div", { class: "head" });
  private headed = "";
  private built = "";

  constructor(
    private readonly client: Client,
    readonly segment: Segment,
    first: Target,
  ) {
    this.target = first;
    this.blocks = new BlockList(segment, (serial) => this.address(serial, [], null));
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
      h("summary", {}, "Blocks ", this.blocks.count),
      this.blocks.element,
      h("h3", {}, "Clients"),
      this.clients.element,
      this.figures,
    );
    const remove = () => confirmRemoval(client, first.path, () => (location.hash = ""));
    const title = segmentTitle(
      first.path,
      copyButton(() => segment.url, "Copy URL", "Copy the URL"),
      h("button", { class: "copy", type: "button", onclick: () => this.showTypes() }, "Types"),
      h("button", { class: "copy", type: "button", onclick: remove }, "Remove…"),
    );
    this.element = h(
      "section",
      {},
      title,
      h("div", { class: "layout" }, blocks, h("div", {}, this.panel.element, this.value)),
    );
  }

  async run(): Promise<void> {
    for await (const version of this.segment) {
      await nextFrame();
      if (this.isClosed) return;
      await this.look(version);
    }
  }

  show(target: Target): void {
    this.target = target;
    void this.look(0);
  }

  /** Shows the newest version that can be had. `version` is one that the segment has had. */
  private async look(version: number): Promise<void> {
    const { segment } = this;
    const isConnected = () => this.client.isConnected && segment.isConnected;
    const read = () =>
      segment.read(() => this.update(segment.version || version), { timeoutMs: 2000 });
    if (isConnected()) {
      try {
        return await read();
      } catch (error) {
        passing(error);
        if (isConnected() || this.isClosed) return;
      }
    }
    // There is only this copy, and the header says how old it is.
    const bound = segment.coherence;
    segment.coherence = Coherence.none;
    const shown = read();
    segment.coherence = bound;
    await shown.catch(passing);
  }

  toggle(): void {
    this.figure?.toggle();
  }

  tell(status: Status | null): void {
    const told = status?.segments.find(({ path }) => path === this.target.path);
    this.clients.update(told, performance.now());
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
    address: (serial, steps, view) => this.address(serial, steps, view),
    samples: (serial, steps, spot) => {
      if (!isOneNumber(spot)) return null;
      const { version } = this.segment;
      const key = pathText([`#${serial}`, ...steps]);
      return this.trends.add(key, version, Number(read(spot.place)), performance.now());
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
    this.blocks.update(this.chosen);
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
    // A list's view may say which pointer it follows.
    const [asked = ""] = (this.target.view ?? "").split(":", 1);
    const view = views.includes(asked) ? asked : (views[0] as string);
    this.buildHead(chosen, spot, views, view);
    const wanted = JSON.stringify([
      chosen,
      this.target.steps,
      view === "list" ? this.target.view : view,
      spotTypeText(spot),
    ]);
    if (wanted !== this.built)
      this.value.replaceChildren(this.head, this.content(chosen, spot, view));
    this.built = wanted;
    this.updated(spot);
  }

  private showFigures(version: number): void {
    const { copy, stats } = this.segment;
    const texts: [string, string][] = [
      ["version", String(version)],
      ["blocks", groupText(copy.blocks.size)],
      ["types", String(copy.types.all.length)],
      ["updates received", groupText(stats.diffs)],
    ];
    if (this.figures.childElementCount === 0)
      this.figures.append(...texts.map(([name]) => h("span", {}, `${name} `, h("b"))));
    texts.forEach(([, text], i) =>
      setText(this.figures.children[i]?.lastElementChild as Element, text),
    );
  }

  private showTypes(): void {
    const named = this.segment.copy.types.all.filter(({ name }) => name !== "");
    const texts = named.map((type) =>
      h("pre", { class: "mono" }, declarationOf(type, this.segment)),
    );
    const none = named.length === 0 ? [h("p", {}, "No type of this segment has a name.")] : [];
    const dialog = showDialog("Types", ...none, h("div", { class: "types" }, ...texts));
    const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
    dialog.append(h("div", { class: "controls" }, close));
    close.focus();
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

  /** The names and the newest values of what a picture shows. */
  private sourceOf(serial: number, steps: readonly Step[]): Source {
    const { segment } = this;
    const block = segment.copy.blocks.get(serial)?.name || `#${serial}`;
    const exact = () =>
      segment.read(() => {
        const spot = resolve(segment, serial, steps);
        return spot === null ? null : numbersOf(spot).slice();
      });
    return { names: [segment.path, block, pathText(steps)], exact };
  }

  private content(serial: number, spot: Spot, view: string): HTMLElement {
    const { steps } = this.target;
    this.figure = null;
    if (view === "graph") {
      const { names } = this.sourceOf(serial, []);
      const drawn = graph(this.segment, serial, this.ways.go, names);
      this.updated = () => drawn.update();
      return drawn.element;
    }
    if (view === "history") {
      const { names } = this.sourceOf(serial, steps);
      const shown = trendView(names);
      this.updated = (now) => shown.update(this.ways.samples(serial, steps, now) ?? []);
      return shown.element;
    }
    if (view === "table" || view === "list") {
      const along = (this.target.view ?? "").slice("list:".length);
      const table =
        view === "list"
          ? listTable(this.segment, { serial, steps }, this.ways, along)
          : spot.isArray
            ? arrayTable(this.segment, serial, steps, this.ways)
            : recordTable(this.segment, serial, steps, this.ways);
      this.updated = (now) => table.update(now);
      return table.element;
    }
    const [rows = 1, columns = 1] = shapeOf(spot) ?? [];
    const figure =
      view === "map"
        ? heatMap(
            rows,
            columns,
            (row, column) => this.ways.go(serial, [...steps, row, column]),
            this.sourceOf(serial, steps),
          )
        : plot(rows, this.sourceOf(serial, steps));
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
