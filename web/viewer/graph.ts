/**
 * Blocks and the pointers between them, as far as some steps from one block: walked by choosing
 * another. Columns are distances; at most so many blocks are drawn.
 */
import type { Segment } from "../src/client/segment.js";
import { follow, mipOfPointer, ownedBlock } from "../src/client/pointers.js";
import type { CopiedBlock } from "../src/diff/copy.js";
import { TypeKind } from "../src/wire/protocol/descriptor.js";
import { svg } from "./dom.js";
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
import type { Ways } from "./tables.js";

const MOST_BLOCKS = 40;
const MOST_STEPS = 5;
/** Of the elements of one array. */
const MOST_ELEMENTS = 16;
const [WIDTH, HEIGHT, GAP_X, GAP_Y] = [150, 40, 90, 18];

interface Edge {
  readonly from: number;
  readonly to: number | string;
  readonly label: string;
}

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

/** Everything within some steps, by columns. */
function around(
  segment: Segment,
  start: number,
): { columns: (number | string)[][]; edges: Edge[] } {
  const columns: (number | string)[][] = [[start]];
  const seen = new Set<number | string>([start]);
  const edges: Edge[] = [];
  for (let step = 0; step < MOST_STEPS; ++step) {
    const next: (number | string)[] = [];
    for (const from of columns[step] as (number | string)[]) {
      for (const edge of typeof from === "number" ? edgesOf(segment, from) : []) {
        if (!seen.has(edge.to) && seen.size >= MOST_BLOCKS) continue;
        edges.push(edge);
        if (seen.has(edge.to)) continue;
        seen.add(edge.to);
        next.push(edge.to);
      }
    }
    if (next.length === 0) break;
    columns.push(next);
  }
  return { columns, edges: edges.filter(({ to }) => seen.has(to)) };
}

function clipped(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

function box(
  segment: Segment,
  id: number | string,
  isHere: boolean,
  x: number,
  y: number,
  go: Ways["go"],
): SVGElement {
  const block: CopiedBlock | undefined =
    typeof id === "number" ? segment.copy.blocks.get(id) : undefined;
  const title = block === undefined ? String(id) : block.name || `#${block.serial}`;
  const type =
    block === undefined
      ? "another segment"
      : typeText(block.type, segment) + (block.count > 1 ? ` × ${block.count}` : "");
  const link = svg(
    "a",
    { href: "#", class: isHere ? "here" : "", "aria-label": `${title}, ${type}` },
    svg("rect", { x, y, width: WIDTH, height: HEIGHT }),
    svg("text", { x: x + 8, y: y + 17 }, clipped(title, 19)),
    svg("text", { x: x + 8, y: y + 32, class: "edge" }, clipped(type, 20)),
  );
  link.addEventListener("click", (event) => {
    event.preventDefault();
    if (typeof id === "number") go(id, []);
  });
  return link;
}

/** Drawn anew for each version; small, and seldom looked at while it changes quickly. */
export function graph(segment: Segment, start: number, go: Ways["go"]): SVGElement {
  const { columns, edges } = around(segment, start);
  const places = new Map<number | string, [number, number]>();
  columns.forEach((column, c) =>
    column.forEach((id, row) =>
      places.set(id, [10 + c * (WIDTH + GAP_X), 10 + row * (HEIGHT + GAP_Y)]),
    ),
  );
  const width = 20 + columns.length * (WIDTH + GAP_X) - GAP_X;
  const height = 40 + Math.max(...columns.map((column) => column.length)) * (HEIGHT + GAP_Y);
  const head = svg(
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
  const lines = edges.flatMap(({ from, to, label }) => {
    const [[x1, y1], [x2, y2]] = [
      places.get(from) as [number, number],
      places.get(to) as [number, number],
    ];
    const isForward = x2 > x1;
    const [ax, ay] = [x1 + WIDTH, y1 + HEIGHT / 2];
    const [bx, by] = [isForward ? x2 : x2 + WIDTH / 2, isForward ? y2 + HEIGHT / 2 : y2 + HEIGHT];
    const bend = isForward ? GAP_X / 2 : 40;
    const path = isForward
      ? `M${ax},${ay} C${ax + bend},${ay} ${bx - bend},${by} ${bx},${by}`
      : `M${ax},${ay} C${ax + bend},${ay + bend} ${bx},${by + bend} ${bx},${by}`;
    return [
      svg("path", { d: path, "marker-end": "url(#head)" }),
      svg(
        "text",
        { x: ax + 6, y: (isForward ? (ay + by) / 2 : ay + 14) - 4, class: "edge" },
        clipped(label, 12),
      ),
    ];
  });
  const boxes = [...places].map(([id, [x, y]]) => box(segment, id, id === start, x, y, go));
  return svg(
    "svg",
    { class: "graph", width, height, role: "group", "aria-label": "Blocks and pointers" },
    svg("defs", {}, head),
    ...lines,
    ...boxes,
  );
}
