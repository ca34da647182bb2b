/**
 * Blocks with their values and the pointers between them, from one block on: walked by choosing
 * another, zoomed and moved as a map. At most so many blocks are drawn.
 */
import { follow, mipOfPointer, ownedBlock } from "../src/client/pointers.js";
import type { Segment } from "../src/client/segment.js";
import { TypeKind } from "../src/wire/protocol/descriptor.js";
import { inkOf } from "./axes.js";
import { shownOf, type Ways } from "./cells.js";
import { h, setText, svg } from "./dom.js";
import { pictureOf } from "./drawing_picture.js";
import { passing } from "./editing.js";
import { savePng } from "./export.js";
import { heightLeft } from "./figure.js";
import { BOX_WIDTH, columnsIn, layOut, type Edge, type Id, type Sized } from "./graph_layout.js";
import {
  blockSpot,
  elementOf,
  fieldsOf,
  kindOf,
  pathText,
  typeText,
  type Spot,
  type Step,
} from "./spots.js";

const MOST_BLOCKS = 200;
/** Of the elements of one array. */
const MOST_ELEMENTS = 16;
const MOST_VALUES = 5;
const [HEAD_HEIGHT, LINE_HEIGHT, LEAST_HEIGHT] = [42, 16, 260];
/** More often than this a large graph is not drawn. */
const LEAST_PAUSE_MS = 200;

/** The pointers in a value, with the paths of their fields. */
function pointersIn(
  spot: Spot,
  steps: Step[],
): { place: Spot["place"]; label: string; isOwned: boolean }[] {
  const { place, count, isArray } = spot;
  if (isArray) {
    const found = [];
    const kind = kindOf(place.type);
    if (kind === TypeKind.PRIMITIVE || kind === TypeKind.STRING || kind === TypeKind.ENUM)
      return [];
    for (let i = 0; i < Math.min(count, MOST_ELEMENTS); ++i) {
      found.push(...pointersIn(elementOf(spot, i) as Spot, [...steps, i]));
    }
    return found;
  }
  const kind = kindOf(place.type);
  if (kind === TypeKind.POINTER) return [{ place, label: pathText(steps), isOwned: false }];
  if (kind === TypeKind.SEQUENCE) return [{ place, label: pathText(steps), isOwned: true }];
  if (kind !== TypeKind.RECORD && kind !== TypeKind.UNION) return [];
  return fieldsOf(place).flatMap(({ name, spot: inner }) => pointersIn(inner, [...steps, name]));
}

function edgesOf(segment: Segment, serial: number): Edge[] {
  const spot = blockSpot(segment, serial);
  if (spot === null) return [];
  const edges: Edge[] = [];
  for (const { place, label, isOwned } of pointersIn(spot, [])) {
    try {
      const target = isOwned ? ownedBlock(place) : (follow(place)?.block ?? null);
      const other = isOwned || target === null ? null : follow(place)?.heap;
      if (target !== null && (isOwned || other === segment))
        edges.push({ from: serial, to: target.serial, label });
      else if (target !== null)
        edges.push({ from: serial, to: mipOfPointer(place) as string, label });
    } catch {
      // It leads to a segment that is not open here, or nowhere: shown by its MIP.
      edges.push({ from: serial, to: mipOfPointer(place) ?? "", label });
    }
  }
  return edges;
}

/** Everything that can be reached, nearest first: a column a step. */
function around(segment: Segment, start: number) {
  const columns: Id[][] = [[start]];
  const seen = new Set<Id>([start]);
  const edges: Edge[] = [];
  let isAll = true;
  for (let column = columns[0]; column !== undefined && column.length > 0;) {
    const next: Id[] = [];
    for (const edge of column.flatMap((id) =>
      typeof id === "number" ? edgesOf(segment, id) : [],
    )) {
      if (!seen.has(edge.to) && seen.size >= MOST_BLOCKS) {
        isAll = false;
        continue;
      }
      edges.push(edge);
      if (!seen.has(edge.to)) next.push(edge.to);
      seen.add(edge.to);
    }
    if (next.length > 0) columns.push(next);
    column = next;
  }
  return { columns, edges, isAll };
}

function clipped(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** The text in a block's box: its values but for the pointers, which are lines. */
function valuesOf(segment: Segment, id: Id): string[] {
  const spot = typeof id === "number" ? blockSpot(segment, id) : null;
  if (spot === null) return [];
  const text = (inner: Spot) => shownOf(segment, inner, id as number, []).text;
  const kinds: number[] = [TypeKind.POINTER, TypeKind.SEQUENCE];
  if (spot.isArray) {
    if (spot.place.type.element !== null || spot.place.type.fields.length > 0) return [];
    const count = Math.min(spot.count, MOST_VALUES - 1);
    const shown = Array.from({ length: count }, (_, i) => `[${i}] ${text(elementOf(spot, i)!)}`);
    return spot.count > count ? [...shown, "…"] : shown;
  }
  const isRecord = spot.place.type.fields.length > 0 || spot.place.type.union !== null;
  if (!isRecord) return kinds.includes(kindOf(spot.place.type)) ? [] : [text(spot)];
  const fields = fieldsOf(spot.place).filter(
    ({ spot: inner }) => inner.isArray || !kinds.includes(kindOf(inner.place.type)),
  );
  const shown = fields
    .slice(0, MOST_VALUES)
    .map(({ name, spot: inner }) => `${name} ${text(inner)}`);
  return fields.length > MOST_VALUES ? [...shown.slice(0, -1), "…"] : shown;
}

interface Box extends Sized {
  readonly title: string;
  readonly type: string;
  readonly values: readonly string[];
}

function boxOf(segment: Segment, id: Id): Box {
  const block = typeof id === "number" ? segment.copy.blocks.get(id) : undefined;
  const values = valuesOf(segment, id);
  const height = HEAD_HEIGHT + (values.length === 0 ? 0 : values.length * LINE_HEIGHT + 6);
  if (block === undefined) {
    return { id, height, values, title: String(id), type: "another segment" };
  }
  const type = typeText(block.type, segment) + (block.count > 1 ? ` × ${block.count}` : "");
  return { id, height, values, title: block.name || `#${block.serial}`, type };
}

export interface GraphView {
  readonly element: HTMLElement;
  /** Under a lock, for each version. */
  update(): void;
}

/** `names` are of the segment and the block, for files. */
export function graph(
  segment: Segment,
  start: number,
  go: Ways["go"],
  names: readonly string[],
): GraphView {
  return new Graph(segment, start, go, names);
}

class Graph implements GraphView {
  readonly element: HTMLElement;
  private readonly stage = h("div", { class: "stage graph" });
  private readonly about = h("span", { class: "soft" });
  private drawing: SVGElement | null = null;
  private size = { width: 1, height: 1 };
  /** The part of the drawing in sight; null: all of it. */
  private view: { x: number; y: number; scale: number } | null = null;
  private drawn = { version: -1, at: -Infinity, width: 0 };
  private isDue = false;
  private pressed: { x: number; y: number; moved: boolean } | null = null;

  constructor(
    private readonly segment: Segment,
    private readonly start: number,
    private readonly go: Ways["go"],
    private readonly names: readonly string[],
  ) {
    const button = (text: string, title: string, onclick: () => void) =>
      h("button", { type: "button", title, onclick }, text);
    const controls = h(
      "div",
      { class: "controls" },
      button("−", "Zoom out ( - )", () => this.zoom(0.8)),
      button("+", "Zoom in ( + )", () => this.zoom(1.25)),
      button("Fit", "Show everything ( 0 )", () => this.fit()),
      button("PNG", "Save the picture: all that is drawn", () => this.save()),
      this.about,
    );
    this.element = h("div", {}, controls, this.stage);
    this.listen();
  }

  update(): void {
    const { version } = this.segment;
    const width = this.stage.clientWidth;
    if (version === this.drawn.version && width === this.drawn.width) return;
    const now = performance.now();
    const wait = this.drawn.at + LEAST_PAUSE_MS - now;
    if (wait > 0) {
      if (!this.isDue) setTimeout(() => this.late(), wait);
      this.isDue = true;
      return;
    }
    this.drawn = { version, at: now, width };
    this.draw();
  }

  private late(): void {
    this.isDue = false;
    if (this.element.isConnected) void this.segment.read(() => this.update()).catch(passing);
  }

  private draw(): void {
    const { segment, stage, start } = this;
    const { columns, edges, isAll } = around(segment, start);
    const boxes = columns.map((column) => column.map((id) => boxOf(segment, id)));
    const laid = layOut(boxes, edges, columnsIn(stage.clientWidth || 800));
    this.size = { width: laid.width, height: laid.height };
    const lines = laid.lines.flatMap(({ edge, path, x, y }) => [
      svg("path", { d: path, "marker-end": "url(#head)" }),
      svg("text", { x, y, class: "edge" }, clipped(edge.label, 10)),
    ]);
    const drawn = boxes.flat().map((box) => this.drawBox(box, laid.places.get(box.id)!));
    const focused = (document.activeElement as Element | null)?.getAttribute("data-id");
    const isFocused = stage.contains(document.activeElement);
    this.drawing = svg(
      "svg",
      { class: "graph", role: "group", "aria-label": "Blocks and pointers" },
      svg("defs", {}, arrowHead()),
      ...lines,
      ...drawn,
    );
    stage.replaceChildren(this.drawing);
    if (isFocused && focused != null)
      stage.querySelector<SVGElement>(`[data-id="${CSS.escape(focused)}"]`)?.focus();
    const count = laid.places.size;
    const blocks = `${count} block${count === 1 ? "" : "s"}`;
    setText(this.about, isAll ? blocks : `the nearest ${blocks}; choose one to see what follows`);
    this.place();
  }

  private drawBox(box: Box, { x, y }: { x: number; y: number }): SVGElement {
    const { id, title, type, values, height } = box;
    const isHere = id === this.start;
    const href = typeof id === "number" ? "#" : "";
    const link = svg(
      "a",
      { ...(href && { href }), class: isHere ? "here" : "", "data-id": id },
      svg("rect", { x, y, width: BOX_WIDTH, height }),
      // The blanks part the words of the link's name.
      svg("text", { x: x + 10, y: y + 17, class: "title" }, `${clipped(title, 23)} `),
      svg("text", { x: x + 10, y: y + 33, class: "edge" }, `${clipped(type, 25)} `),
      ...values.map((text, i) =>
        svg(
          "text",
          { x: x + 10, y: y + HEAD_HEIGHT + 8 + i * LINE_HEIGHT, class: "number" },
          `${clipped(text, 23)} `,
        ),
      ),
    );
    link.addEventListener("click", (event) => {
      event.preventDefault();
      if (typeof id === "number" && this.pressed?.moved !== true) this.go(id, []);
    });
    return link;
  }

  // ---- looking ----

  /** Everything; a small drawing is not made larger. */
  private fitting(): { x: number; y: number; scale: number } {
    const [width, height] = [this.stage.clientWidth, this.stage.clientHeight];
    const scale = Math.min(1, width / this.size.width, height / this.size.height);
    return { x: 0, y: 0, scale };
  }

  private place(): void {
    const { stage, drawing } = this;
    if (drawing === null) return;
    stage.style.height = `${heightLeft(stage, LEAST_HEIGHT)}px`;
    // At first what begins the drawing can be read, even if not everything is in sight.
    const first = { ...this.fitting() };
    if (first.scale < 0.7) first.scale = Math.min(1, stage.clientWidth / this.size.width);
    const { x, y, scale } = this.view ?? first;
    const [width, height] = [stage.clientWidth / scale, stage.clientHeight / scale];
    drawing.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
    drawing.setAttribute("width", String(stage.clientWidth));
    drawing.setAttribute("height", String(stage.clientHeight));
  }

  private shownView(): { x: number; y: number; scale: number } {
    const [x = 0, y = 0, width = 1] = (this.drawing?.getAttribute("viewBox") ?? "")
      .split(" ")
      .map(Number);
    return { x, y, scale: this.stage.clientWidth / width };
  }

  private fit(): void {
    this.view = this.fitting();
    this.place();
  }

  /** The point at that place of the stage stays there. */
  private zoom(factor: number, at?: { x: number; y: number }): void {
    const { x, y, scale } = this.shownView();
    const to = Math.max(0.05, Math.min(4, scale * factor));
    const point = at ?? { x: this.stage.clientWidth / 2, y: this.stage.clientHeight / 2 };
    this.view = {
      x: x + point.x / scale - point.x / to,
      y: y + point.y / scale - point.y / to,
      scale: to,
    };
    this.place();
  }

  private move(dx: number, dy: number): void {
    const { x, y, scale } = this.shownView();
    this.view = { x: x - dx / scale, y: y - dy / scale, scale };
    this.place();
  }

  private save(): void {
    const { drawing, size, stage } = this;
    if (drawing === null) return;
    savePng([...this.names, "graph"], pictureOf(drawing, size, inkOf(stage).ground));
  }

  private listen(): void {
    const { stage } = this;
    stage.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const edge = stage.getBoundingClientRect();
        const at = { x: event.clientX - edge.left, y: event.clientY - edge.top };
        this.zoom(event.deltaY > 0 ? 0.85 : 1.18, at);
      },
      { passive: false },
    );
    stage.addEventListener("pointerdown", (event) => {
      if (event.button === 0) this.pressed = { x: event.clientX, y: event.clientY, moved: false };
    });
    stage.addEventListener("pointermove", (event) => {
      const { pressed } = this;
      if (pressed === null || event.buttons === 0) return;
      const [dx, dy] = [event.clientX - pressed.x, event.clientY - pressed.y];
      if (!pressed.moved && Math.abs(dx) + Math.abs(dy) < 5) return;
      this.pressed = { x: event.clientX, y: event.clientY, moved: true };
      this.move(dx, dy);
    });
    this.element.addEventListener("keydown", (event) => {
      const moves: Record<string, [number, number]> = {
        ArrowLeft: [60, 0],
        ArrowRight: [-60, 0],
        ArrowUp: [0, 60],
        ArrowDown: [0, -60],
      };
      const move = moves[event.key];
      if (move !== undefined) this.move(...move);
      else if (event.key === "+" || event.key === "=") this.zoom(1.25);
      else if (event.key === "-") this.zoom(0.8);
      else if (event.key === "0") this.fit();
      else return;
      event.preventDefault();
    });
  }
}

function arrowHead(): SVGElement {
  return svg(
    "marker",
    {
      id: "head",
      viewBox: "0 0 8 8",
      refX: 7,
      refY: 4,
      markerWidth: 7,
      markerHeight: 7,
      orient: "auto",
    },
    svg("path", { d: "M0,0 L8,4 L0,8 z" }),
  );
}
